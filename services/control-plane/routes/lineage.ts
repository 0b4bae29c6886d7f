/** The lineage: which streams and places outside the account's pipelines connect. */
import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { getLineageContract, type Lineage } from '../../../shared/api/overview.ts'
import { Endpoints } from '../../../shared/api/pipelines.ts'
import { findConnector } from '../../../shared/connectors/catalogue.ts'
import { listLineage } from '../store/lineage.ts'
import { operation } from './operation.ts'

type End = z.infer<typeof Endpoints>['source']

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const PLACE_MAX = 200

/** A place outside; `pipelineId` tells apart what only one pipeline has. */
function placeOf({ connector_id, config }: End, pipelineId: string): Lineage['nodes'][number] {
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
