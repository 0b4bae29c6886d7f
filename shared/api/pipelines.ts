/** Pipelines: source → processors (steps of the chain) → sink. The contract's word `processors` stays in this file. */
import { z } from 'zod'
import { ObservedTask } from '../model/definition.ts'
import { LIMITS } from '../model/limits.ts'
import { PIPELINE_ACTIONS, PIPELINE_STATUSES, type PipelineAction } from '../model/pipeline-status.ts'
import { Description, IdParams, ListQuery, listOf, Name, Reference } from './common.ts'
import { contract, Id, Timestamp } from './operation.ts'

const Config = z.record(z.string(), z.unknown())
const Endpoint = z.strictObject({ connector_id: Reference, config: Config.default({}) })
const ProcessorEntry = z.strictObject({
  module_id: Reference,
  config: Config.default({}),
  version: Reference.optional(),
})

export const PipelineRequest = z.strictObject({
  name: Name,
  description: Description.default(''),
  source: Endpoint,
  processors: z.array(ProcessorEntry).max(LIMITS.chain_steps_max, `must have at most ${LIMITS.chain_steps_max} entries`).default([]),
  sink: Endpoint,
  tasks: z.number().int().min(1).max(LIMITS.tasks_max).default(1),
  autostart: z.boolean().default(true),
  start: z.literal('earliest', { error: 'must be "earliest"' }).default('earliest'),
})
export type PipelineRequest = z.output<typeof PipelineRequest>

const Status = z.enum(PIPELINE_STATUSES)
export const PipelineItem = z.object({
  id: Id,
  pipeline_id: Id,
  name: z.string(),
  description: z.string(),
  status: Status,
  status_reason: z.string().nullable(),
  revision: z.number().int(),
  created_at: Timestamp,
  updated_at: Timestamp,
})
export const Pipeline = PipelineItem.extend({
  source: Endpoint,
  processors: z.array(z.object({ module_id: Id, name: z.string(), version: z.string(), config: Config })),
  sink: Endpoint,
  tasks: z.number().int(),
})

export const createPipelineContract = contract({
  id: 'createPipeline',
  method: 'POST',
  path: '/pipelines',
  summary: 'Create a pipeline and, unless autostart is false, start it',
  tag: 'Pipelines',
  scope: 'pipelines:write',
  isIdempotent: true,
  request: { body: PipelineRequest },
  responses: { 201: z.object({ pipeline_id: Id, name: z.string(), status: Status, created_at: Timestamp }) },
})

export const listPipelinesContract = contract({
  id: 'listPipelines',
  method: 'GET',
  path: '/pipelines',
  summary: 'List pipelines',
  tag: 'Pipelines',
  scope: 'pipelines:read',
  request: { query: ListQuery },
  responses: { 200: listOf('pipelines', PipelineItem) },
})
export const getPipelineContract = contract({
  id: 'getPipeline',
  method: 'GET',
  path: '/pipelines/:id',
  summary: 'Get one pipeline',
  tag: 'Pipelines',
  scope: 'pipelines:read',
  request: { params: IdParams },
  responses: { 200: Pipeline },
})
export const deletePipelineContract = contract({
  id: 'deletePipeline',
  method: 'DELETE',
  path: '/pipelines/:id',
  summary: 'Stop and delete a pipeline',
  tag: 'Pipelines',
  scope: 'pipelines:write',
  request: { params: IdParams },
  responses: { 204: null, 202: z.object({ pipeline_id: Id, status: Status }) },
})

export const getPipelineStatusContract = contract({
  id: 'getPipelineStatus',
  method: 'GET',
  path: '/pipelines/:id/status',
  summary: 'What is wanted and what its tasks do: positions, lag, rates, counters',
  tag: 'Pipelines',
  scope: 'pipelines:read',
  request: { params: IdParams },
  responses: {
    200: z.object({
      pipeline_id: Id,
      status: Status,
      status_reason: z.string().nullable(),
      desired: z.string(),
      revision: z.number().int(),
      lag: z.number().int(),
      records_per_second: z.number(),
      tasks: z.array(ObservedTask.omit({ pipeline_id: true, attempt: true })),
    }),
  },
})

const SUMMARIES: Record<PipelineAction, string> = {
  start: 'Start a created, stopped or failed pipeline',
  pause: 'Pause after the round under way',
  resume: 'Go on after a pause',
  stop: 'Finish the round under way and stop',
}

export const pipelineActionContracts = PIPELINE_ACTIONS.map((action) =>
  contract({
    id: `${action}Pipeline`,
    method: 'POST',
    path: `/pipelines/:id/${action}`,
    summary: SUMMARIES[action],
    tag: 'Pipelines',
    scope: 'pipelines:write',
    request: { params: IdParams, body: z.strictObject({}).optional() },
    responses: { 200: PipelineItem },
  }),
)
