/** The lineage: which streams and places outside the account's pipelines connect. */
import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { getLineageContract, type Lineage } from '../../../shared/api/lineage.ts'
import { Endpoints } from '../../../shared/api/pipeline-requests.ts'
import { findConnector } from '../../../shared/connectors/catalogue.ts'
import type { Database } from '../store/database.ts'
import { findRun, listLineage, type LineageRow } from '../store/lineage.ts'
import { openLruCache } from '../caches/lru-cache.ts'
import { operation } from './operation.ts'

type End = z.infer<typeof Endpoints>['source']

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const PLACE_MAX = 200

/** A place outside; `pipelineId` tells apart what only one pipeline has. */
function outsideOf({ connector_id, config }: End, pipelineId: string): Lineage['nodes'][number] {
  const connector = findConnector(connector_id)
  const name = connector?.name ?? connector_id
  const identity = connector?.place ? connector.place.members.map((member) => config[member] ?? null) : [pipelineId]
  const id = `out_${createHash('sha256')
    .update(JSON.stringify([name, identity]))
    .digest('hex')
    .slice(0, 24)}`
  const place = connector?.place?.called((member) => textOf(config[member])).slice(0, PLACE_MAX) ?? ''
  return { id, kind: 'connector', name, ...(place === '' ? {} : { place }) }
}

/** What a revision connects, as far as it is shown. */
type Connected = { source: ConnectedEnd; sink: ConnectedEnd; modules: string[] }
/** `streamId`: it may be that of a stream; of one that is gone, the place is shown. */
type ConnectedEnd = { streamId: string; outside: Lineage['nodes'][number] }

const KEPT_MAX = 5000
/** By pipeline and revision: requests and definitions are large, and a revision keeps what it connects. */
const kept = openLruCache<string, Connected>(KEPT_MAX)

async function connectedBy(db: Database, { id, revision }: LineageRow): Promise<Connected | undefined> {
  const known = kept.get(`${id}/${revision}`)
  if (known) return known
  const run = await findRun(db, id)
  if (!run) return undefined
  const { source, sink } = Endpoints.parse(run.request)
  const connectedAt = (end: End): ConnectedEnd => ({ streamId: textOf(end.config.stream_id), outside: outsideOf(end, id) })
  const found = { source: connectedAt(source), sink: connectedAt(sink), modules: run.definition.steps.map((step) => step.name) }
  kept.set(`${id}/${run.revision}`, found)
  return found
}

export const getLineageOperation = operation(getLineageContract, async ({ db }, { accountId }) => {
  const { pipelines, streams } = await listLineage(db, accountId)
  const names = new Map(streams.map(({ id, name }) => [id, name]))
  const nodes = new Map<string, Lineage['nodes'][number]>()

  /** The id of the node at one end of a pipeline, which is among the nodes then. */
  function nodeOf({ streamId, outside }: ConnectedEnd): string {
    const name = names.get(streamId)
    const node: Lineage['nodes'][number] = name === undefined ? outside : { id: streamId, kind: 'stream', name }
    nodes.set(node.id, node)
    return node.id
  }

  const edges: Lineage['pipelines'] = []
  for (const row of pipelines) {
    const connected = await connectedBy(db, row)
    if (!connected) continue
    const { source, sink, modules } = connected
    edges.push({ id: row.id, name: row.name, status: row.status, modules, from: nodeOf(source), to: nodeOf(sink) })
  }
  return { status: 200, body: { nodes: [...nodes.values()], pipelines: edges } }
})
