/** Contracts for pipelines: source → processors → sink. */
import { z } from 'zod'
import { OnError } from '../model/definition.ts'
import { ShownTask } from '../model/observed.ts'
import { PIPELINE_ACTIONS, type PipelineAction } from '../model/pipeline-status.ts'
import {
  Difference,
  EmptyRequest,
  Flag,
  IdParams,
  JsonObject,
  LagNow,
  ListQuery,
  listOf,
  MeasureKind,
  PipelineStatus as Status,
  RecordCounts,
  Reference,
  TaskRole,
} from './common.ts'
import { contract, Id, Timestamp } from './contract.ts'
import { Changeable, EndpointShown, OnLostPosition, PipelineChange, PipelineRequest, Policy, StreamPlace } from './pipeline-requests.ts'

const OnErrorShown = OnError.extend({ policy: Policy }).meta({ id: 'OnError' })

/** A pipeline as lists show it. */
export const PipelineItem = z
  .object({
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
  .meta({ id: 'PipelineItem' })
/** What has become of a canary: `rolled_back` once it failed or differed more than allowed, `promoted` once it is the running version. */
export const CANARY_STATUSES = ['comparing', 'rolled_back', 'promoted'] as const

/** A pipeline with its source, processors, sink and settings. */
export const Pipeline = PipelineItem.extend({
  source: EndpointShown,
  processors: z.array(
    z.object({
      module_id: Id,
      name: z.string(),
      version: z.string(),
      config: JsonObject,
      on_error: OnErrorShown,
      timeout_ms: z.number().int().optional(),
      changes_keys: z.boolean().optional(),
    }),
  ),
  sink: EndpointShown,
  tasks: z.number().int(),
  on_error: OnErrorShown.describe('Of steps without a policy of their own, and of the sink'),
  failure_threshold: z.number(),
  on_lost_position: OnLostPosition,
  canary: z
    .object({
      step: z.number().int(),
      version: z.string(),
      share: z.number().nullable().describe('Of the keys whose records it handles; null in shadow'),
      status: z.enum(CANARY_STATUSES),
    })
    .meta({ id: 'PipelineCanary' })
    .nullable()
    .describe(
      'The version that is tried beside the running one, until it is promoted; what it has found is at `GET /pipelines/{id}/canary`',
    ),
}).meta({ id: 'Pipeline' })

const Check = Flag.default('true').describe('Connect to the source and the sink first')

/** `POST /pipelines`: returns 201 with the new pipeline's id. */
export const createPipelineContract = contract({
  id: 'createPipeline',
  method: 'POST',
  path: '/pipelines',
  summary: 'Create a pipeline and, unless autostart is false, start it',
  tag: 'Pipelines',
  scope: 'pipelines:write',
  isIdempotent: true,
  locatedBy: 201,
  request: {
    query: z.object({ check: Check }),
    body: PipelineRequest,
  },
  responses: { 201: z.object({ pipeline_id: Id, name: z.string(), status: Status, created_at: Timestamp }) },
})

/** `GET /pipelines`: returns 200 with a page of pipelines. */
export const listPipelinesContract = contract({
  id: 'listPipelines',
  method: 'GET',
  path: '/pipelines',
  summary: 'List pipelines',
  tag: 'Pipelines',
  scope: 'pipelines:read',
  request: {
    query: ListQuery.extend({
      module_id: Reference.optional().describe('Only those with a step, or a canary, of the SmartModule with this id'),
    }),
  },
  responses: { 200: listOf('pipelines', PipelineItem) },
})
/** `GET /pipelines/:id`: returns 200 with one pipeline. */
export const getPipelineContract = contract({
  id: 'getPipeline',
  method: 'GET',
  path: '/pipelines/:id',
  summary: 'Get one pipeline',
  tag: 'Pipelines',
  scope: 'pipelines:read',
  isTagged: true,
  request: { params: IdParams },
  responses: { 200: Pipeline },
})
/** `PATCH /pipelines/:id`: returns 200 with the changed pipeline. */
export const updatePipelineContract = contract({
  id: 'updatePipeline',
  method: 'PATCH',
  path: '/pipelines/:id',
  summary: 'Change a pipeline; a change of what it runs becomes its next revision, which running tasks adopt between two rounds',
  tag: 'Pipelines',
  scope: 'pipelines:write',
  isConditional: true,
  isTagged: true,
  mayConflict: true,
  request: {
    params: IdParams,
    query: z.object({ check: Check.describe('Connect to the sink first, if it changes') }),
    body: PipelineChange,
  },
  responses: { 200: Pipeline },
})
/** `POST /pipelines/:id/plan`: returns 200 with what a change would do. It is checked as the change itself is, and nothing is written. */
export const planPipelineContract = contract({
  id: 'planPipeline',
  method: 'POST',
  path: '/pipelines/:id/plan',
  summary: 'Say what a change of a pipeline would do, with every fault that the change itself would be refused for; writes nothing',
  tag: 'Pipelines',
  scope: 'pipelines:write',
  isRead: true,
  mayConflict: true,
  isConditional: true,
  request: { params: IdParams, body: Changeable.meta({ id: 'PipelinePlanRequest' }) },
  responses: {
    200: z.object({
      pipeline_id: Id,
      revision: z.number().int().describe('After the change'),
      effect: z
        .enum(['none', 'live', 'reopen'])
        .describe('`none`: nothing that runs changes; `live`: running tasks take it over between two rounds; `reopen`: they start anew'),
      differences: z.array(Difference),
    }),
  },
})
/** `DELETE /pipelines/:id`: returns 204 once the pipeline is gone, or 202 while it is still stopping. */
export const deletePipelineContract = contract({
  id: 'deletePipeline',
  method: 'DELETE',
  path: '/pipelines/:id',
  summary: 'Stop and delete a pipeline',
  tag: 'Pipelines',
  scope: 'pipelines:write',
  isConditional: true,
  mayConflict: true,
  request: { params: IdParams },
  responses: { 204: null, 202: z.object({ pipeline_id: Id, status: Status }) },
})

const reported = ShownTask.shape
const Task = ShownTask.extend({
  role: TaskRole,
  measures: z.array(reported.measures.unwrap().element.extend({ kind: MeasureKind }).meta({ id: 'TaskMeasure' })),
  partitions: z.array(
    reported.partitions.element
      .extend({
        steps: z.array(RecordCounts).describe('Since the task’s revision began'),
        totals: RecordCounts.optional().describe('Of the whole chain, over all revisions'),
      })
      .meta({ id: 'TaskPartition' }),
  ),
}).meta({ id: 'PipelineTask' })

/** `GET …/status`: returns 200 with the status, the desired status and the reports of the tasks. */
export const getPipelineStatusContract = contract({
  id: 'getPipelineStatus',
  method: 'GET',
  path: '/pipelines/:id/status',
  summary: 'The desired status, and what the tasks report: positions, lag, rates, counters',
  tag: 'Pipelines',
  scope: 'pipelines:read',
  request: { params: IdParams },
  responses: {
    200: z.object({
      pipeline_id: Id,
      status: Status,
      status_reason: z.string().nullable(),
      desired: z.string(),
      has_canary: z.boolean().describe('There is one at `GET /pipelines/{id}/canary`, which is not promoted'),
      revision: z.number().int(),
      lag: LagNow.describe(`${LagNow.description}; as of the tasks’ last reports while Kafka is away`),
      records_per_second: z.number(),
      tasks: z.array(Task),
    }),
  },
})

/** `POST …/offsets`: returns 200 with the new offset per partition. */
export const resetOffsetsContract = contract({
  id: 'resetOffsets',
  method: 'POST',
  path: '/pipelines/:id/offsets',
  summary: 'Set where a stopped pipeline continues; a position that its sink keeps is set too',
  tag: 'Pipelines',
  scope: 'pipelines:write',
  isConditional: true,
  mayConflict: true,
  request: { params: IdParams, body: z.strictObject({ start: StreamPlace }) },
  responses: {
    200: z.object({ pipeline_id: Id, revision: z.number().int(), offsets: z.record(z.string(), z.string()) }),
  },
})

const SUMMARIES: Record<PipelineAction, string> = {
  start: 'Start a created, stopped or failed pipeline',
  pause: 'Pause after the current round',
  resume: 'Resume after a pause',
  stop: 'Stop after the current round',
  restart: 'Restart the tasks',
}

/**
 * `startPipeline`, `pausePipeline`, `resumePipeline`, `stopPipeline`, `restartPipeline`: `POST /pipelines/:id/<action>`, which returns 200
 * with the pipeline; in the order of PIPELINE_ACTIONS.
 */
export const pipelineActionContracts = PIPELINE_ACTIONS.map((action) =>
  contract({
    id: `${action}Pipeline`,
    method: 'POST',
    path: `/pipelines/:id/${action}`,
    summary: SUMMARIES[action],
    tag: 'Pipelines',
    scope: 'pipelines:write',
    isConditional: true,
    mayConflict: true,
    request: { params: IdParams, body: EmptyRequest.optional() },
    responses: { 200: PipelineItem },
  }),
)
