/** The lineage: which streams and places outside the account's pipelines connect. */
import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { getLineageContract, type Lineage } from '../../../shared/api/overview.ts'
import { Endpoints } from '../../../shared/api/pipelines.ts'
import { findConnector } from '../../../shared/connectors/catalogue.ts'
import { listLineage } from '../store/lineage.ts'
import { operation } from './operation.ts'

type End = z.infer<typeof Endpoints>['source']
type Config = End['config']

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** The host of an address, and nothing else of it: the rest may be secret. */
function hostOf(url: unknown): string {
  return URL.canParse(textOf(url)) ? new URL(textOf(url)).host : ''
}

/**
 * By connector, the members of a config that say which place is meant, and how it is called. Connectors that are not here have no place that
 * two pipelines share.
 */
const PLACES: Readonly<Record<string, { members: readonly string[]; called(config: Config): string }>> = {
  table: { members: ['connection', 'table'], called: ({ table }) => textOf(table) },
  kafka: { members: ['brokers', 'topic'], called: ({ topic }) => textOf(topic) },
  redis: { members: ['url', 'stream'], called: ({ stream }) => textOf(stream) },
  'storage-bucket': {
    members: ['endpoint', 'bucket', 'prefix'],
    called: ({ bucket, prefix }) => [textOf(bucket), textOf(prefix)].filter((part) => part !== '').join('/'),
  },
  http: { members: ['url'], called: ({ url }) => hostOf(url) },
}
const PLACE_MAX = 200

/** A place outside; `pipelineId` tells apart what only one pipeline has. */
function placeOf({ connector_id, config }: End, pipelineId: string): Lineage['nodes'][number] {
  const name = findConnector(connector_id)?.name ?? connector_id
  const known = PLACES[name]
  const identity = known ? known.members.map((member) => config[member] ?? null) : [pipelineId]
  const id = `out_${createHash('sha256')
    .update(JSON.stringify([name, identity]))
    .digest('hex')
    .slice(0, 24)}`
  const place = known?.called(config).slice(0, PLACE_MAX) ?? ''
  return { id, kind: 'connector', name, ...(place === '' ? {} : { place }) }
}

export const getLineage = operation(getLineageContract, async ({ db }, { accountId }) => {
  const { pipelines, streams } = await listLineage(db, accountId)
  const names = new Map(streams.map(({ id, name }) => [id, name]))
  const nodes = new Map<string, Lineage['nodes'][number]>()

  /** The id of the node at one end of a pipeline, which is among the nodes then. */
  function nodeOf(end: End, pipelineId: string): string {
    const streamId = textOf(end.config.stream_id)
    const name = names.get(streamId)
    const node: Lineage['nodes'][number] = name === undefined ? placeOf(end, pipelineId) : { id: streamId, kind: 'stream', name }
    nodes.set(node.id, node)
    return node.id
  }

  const edges = pipelines.map(({ id, name, status, request, definition }) => {
    const { source, sink } = Endpoints.parse(request)
    const modules = definition.steps.map((step) => step.name)
    return { id, name, status, modules, from: nodeOf(source, id), to: nodeOf(sink, id) }
  })
  return { status: 200, body: { nodes: [...nodes.values()], pipelines: edges } }
})
