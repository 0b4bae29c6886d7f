/** The contract of the lineage: what flows where through the account's pipelines. */
import { z } from 'zod'
import { PipelineStatus } from './common.ts'
import { contract, Id } from './contract.ts'

/** Where records come from or go to: a stream, or a place outside that pipelines reach by a connector. */
const LineageNode = z
  .object({
    id: z.string().describe('A stream’s own; for a place outside, one that stays the same as long as its config does'),
    kind: z.enum(['stream', 'connector']),
    name: z.string().describe('Of the stream, or of the connector'),
    place: z.string().optional().describe('Outside: which table, topic, key or address'),
  })
  .meta({ id: 'LineageNode' })
/** A pipeline between two nodes. */
const LineagePipeline = z
  .object({
    id: Id,
    name: z.string(),
    status: PipelineStatus,
    from: z.string(),
    to: z.string(),
    modules: z.array(z.string()).describe('The SmartModules of its steps, in their order'),
  })
  .meta({ id: 'LineagePipeline' })
/** The lineage as a handler returns it. */
export type Lineage = { nodes: z.input<typeof LineageNode>[]; pipelines: z.input<typeof LineagePipeline>[] }

/** `GET /lineage`: returns 200 with all pipelines of the account, and what they read and write. */
export const getLineageContract = contract({
  id: 'getLineage',
  method: 'GET',
  path: '/lineage',
  summary: 'What flows where: every pipeline between what it reads and what it writes',
  tag: 'Operation',
  scope: 'pipelines:read',
  alsoScopes: ['streams:read'],
  isCostly: true,
  request: {},
  responses: { 200: z.object({ nodes: z.array(LineageNode), pipelines: z.array(LineagePipeline) }) },
})
