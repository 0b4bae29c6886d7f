/** What flows where: streams and places outside, and the pipelines between them; as a picture, and as a table with the same links. */
import { useLocation } from 'preact-iso'
import type { GetLineageResponse } from '../../../../clients/typescript/src/generated/types.ts'
import { HOME, withQuery } from '../api.ts'
import { connectedWith, layersOf } from '../layers.ts'
import { Badge } from '../parts/badge.tsx'
import { Loaded } from '../parts/failures.tsx'
import { Table } from '../parts/table.tsx'
import { Title } from '../parts/title.tsx'
import { useQuery } from '../query.ts'

type Node = GetLineageResponse['nodes'][number]
type Edge = GetLineageResponse['pipelines'][number]

const REFRESH_MS = 10_000
/** A picture of more would not be read. */
const NODES_MAX = 150
const [WIDTH, HEIGHT, GAP_X, GAP_Y] = [190, 44, 160, 26]
const TEXT_MAX = 24
/** Characters of a pipeline's name that fit in the gap between two columns. */
const NAME_MAX = 20

const shortened = (text: string, max = TEXT_MAX): string => (text.length <= max ? text : `${text.slice(0, max - 1)}…`)
const titleOf = ({ kind, name, place }: Node): string => (kind === 'stream' ? name : place === undefined ? name : `${name}: ${place}`)
/** How far from the middle the n-th pipeline between the same two is drawn. */
const spread = (n: number): number => Math.min(16, 4 * Math.ceil(n / 2))
const hrefOf = ({ kind, id }: Node): string | undefined => (kind === 'stream' ? `${HOME.pathname}streams/${id}` : undefined)

function NodeLink({ node }: { node: Node }) {
  const href = hrefOf(node)
  return href === undefined ? <>{titleOf(node)}</> : <a href={href}>{titleOf(node)}</a>
}

/** For those who see: the table below says the same. */
function Picture({ nodes, edges }: { nodes: Node[]; edges: Edge[] }) {
  const places = layersOf(
    nodes.map(({ id }) => id),
    edges,
  )
  const columns = [...places.values()].map(({ column }) => column)
  const rowsOf = (column: number): number => columns.filter((each) => each === column).length
  const longest = Math.max(...columns.map(rowsOf))
  const at = (id: string) => {
    const { column, row } = places.get(id)!
    // Shorter columns are in the middle of the longest one.
    const above = (longest - rowsOf(column)) / 2
    return { x: 4 + column * (WIDTH + GAP_X), y: 16 + (above + row) * (HEIGHT + GAP_Y) }
  }
  const all = nodes.map(({ id }) => at(id))
  /** How many pipelines between two nodes are drawn already. */
  const drawn = new Map<string, number>()
  const width = Math.max(...all.map(({ x }) => x)) + WIDTH + 8
  const height = Math.max(...all.map(({ y }) => y)) + HEIGHT + 8
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Picture of the lineage">
      <svg class="lineage" aria-hidden="true" width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="5" markerHeight="5" orient="auto">
            <path d="M0 0L8 4L0 8z" fill="context-stroke" />
          </marker>
        </defs>
        {edges.map(({ id, name, from, to, status }) => {
          const [a, b] = [at(from), at(to)]
          // Pipelines between the same two are drawn beside each other.
          const before = drawn.get(`${from}/${to}`) ?? 0
          drawn.set(`${from}/${to}`, before + 1)
          const between = edges.filter((each) => each.from === from && each.to === to).length
          const y = HEIGHT / 2 + spread(before) * (before % 2 === 0 ? 1 : -1)
          const [x1, y1, x2, y2] = [a.x + WIDTH, a.y + y, b.x, b.y + y]
          const bend = Math.max(40, Math.abs(x2 - x1) / 2)
          return (
            <a key={id} href={`${HOME.pathname}pipelines/${id}`} tabindex={-1}>
              <path class={`edge ${status}`} d={`M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`}>
                <title>{`${name}: ${status}`}</title>
              </path>
              {before === between - 1 && (
                // Above all of them, and over the last.
                <text class="quiet" text-anchor="middle" x={(x1 + x2) / 2} y={(a.y + b.y + HEIGHT) / 2 - 5 - spread(before)}>
                  {between === 1 ? shortened(name, NAME_MAX) : `${between} pipelines`}
                </text>
              )}
            </a>
          )
        })}
        {nodes.map((node) => {
          const { x, y } = at(node.id)
          const shown = (
            <>
              <rect class={`node ${node.kind}`} x={x} y={y} width={WIDTH} height={HEIGHT} rx="6" />
              <text x={x + 10} y={y + (node.kind === 'stream' ? 27 : 19)}>
                {shortened(node.name)}
                <title>{titleOf(node)}</title>
              </text>
              {node.kind === 'connector' && (
                <text class="quiet" x={x + 10} y={y + 35}>
                  {shortened(node.place ?? '')}
                </text>
              )}
            </>
          )
          const href = hrefOf(node)
          return href === undefined ? (
            <g key={node.id}>{shown}</g>
          ) : (
            <a key={node.id} href={href} tabindex={-1}>
              {shown}
            </a>
          )
        })}
      </svg>
    </div>
  )
}

export function Lineage() {
  const { query, path, route } = useLocation()
  const lineage = useQuery<GetLineageResponse>('/lineage', REFRESH_MS)
  const wanted = (query.q ?? '').toLowerCase()
  return (
    <>
      <Title text="Lineage" />
      <label class="line">
        Search{' '}
        <input
          type="search"
          value={query.q ?? ''}
          placeholder="a stream, a place or a pipeline"
          onInput={({ currentTarget }) => route(withQuery(path, { q: currentTarget.value }), true)}
        />
      </label>
      <Loaded query={lineage}>
        {({ nodes: all, pipelines }) => {
          const isMeant = (text: string): boolean => text.toLowerCase().includes(wanted)
          const start = [
            ...all.filter((node) => isMeant(titleOf(node))).map(({ id }) => id),
            ...pipelines.filter(({ name }) => isMeant(name)).map(({ from }) => from),
          ]
          const found = connectedWith(start, pipelines)
          const nodes = all.filter(({ id }) => found.has(id))
          const edges = pipelines.filter(({ from }) => found.has(from))
          const byId = new Map(all.map((node) => [node.id, node]))
          if (all.length === 0) return <p class="quiet">There are no pipelines yet.</p>
          if (nodes.length === 0) return <p class="quiet">Nothing has this in its name.</p>
          return (
            <>
              {nodes.length > NODES_MAX ? (
                <p class="quiet">There are too many to draw ({nodes.length}): narrow the search.</p>
              ) : (
                <Picture nodes={nodes} edges={edges} />
              )}
              <Table label="Pipelines and what they connect" columns={['From', 'Pipeline', 'Status', 'Steps', 'To']}>
                {edges.map(({ id, name, status, modules, from, to }) => (
                  <tr key={id}>
                    <td>
                      <NodeLink node={byId.get(from)!} />
                    </td>
                    <th scope="row">
                      <a href={`${HOME.pathname}pipelines/${id}`}>{name}</a>
                    </th>
                    <td>
                      <Badge text={status} />
                    </td>
                    <td>{modules.join(' → ')}</td>
                    <td>
                      <NodeLink node={byId.get(to)!} />
                    </td>
                  </tr>
                ))}
              </Table>
            </>
          )
        }}
      </Loaded>
    </>
  )
}
