/** The lineage: which streams and places outside the account's pipelines connect. */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { getLineageContract, type Lineage } from '../../../shared/api/overview.ts'
import { listLineage } from '../store/lineage.ts'
import { operation } from './operation.ts'

const End = z.object({ connector_id: z.string(), config: z.record(z.string(), z.unknown()).default({}) })
const Ends = z.object({ source: End, sink: End })

/** Members of connectors' configs that say where something is, the most telling first. */
const PLACES = ['table', 'topic', 'stream', 'queue', 'key', 'collection', 'prefix', 'bucket', 'path', 'url', 'tables', 'name'] as const
const PLACE_MAX = 200

function placeOf(config: Record<string, unknown>): string | undefined {
  const found = PLACES.map((name) => config[name]).find((each) => typeof each === 'string' && each !== '')
  // An address may carry a password.
  return typeof found === 'string' ? found.replace(/\/\/[^/@]*@/, '//').slice(0, PLACE_MAX) : undefined
}

export const getLineage = operation(getLineageContract, async ({ db }, { accountId }) => {
  const { pipelines, streams } = await listLineage(db, accountId)
  const byId = new Map(streams.map((stream) => [stream.id, stream]))
  const byName = new Map(streams.map((stream) => [stream.name, stream]))
  const nodes = new Map<string, Lineage['nodes'][number]>()

  /** The node at one end of a pipeline; the first one that means it adds it. */
  function nodeOf({ connector_id, config }: z.infer<typeof End>): string {
    const named = typeof config.stream_id === 'string' ? config.stream_id : undefined
    const stream = named === undefined ? undefined : (byId.get(named) ?? byName.get(named))
    if (stream) nodes.set(stream.id, { id: stream.id, kind: 'stream', name: stream.name })
    if (stream) return stream.id
    const name = connector_id.replace(/^conn_/, '')
    const id = `out_${createHash('sha256')
      .update(JSON.stringify([name, config]))
      .digest('hex')
      .slice(0, 24)}`
    const place = placeOf(config)
    nodes.set(id, { id, kind: 'connector', name, ...(place === undefined ? {} : { place }) })
    return id
  }

  const edges = pipelines.map(({ id, name, status, modules, request }) => {
    const { source, sink } = Ends.parse(request)
    return { id, name, status, modules, from: nodeOf(source), to: nodeOf(sink) }
  })
  return { status: 200, body: { nodes: [...nodes.values()], pipelines: edges } }
})
