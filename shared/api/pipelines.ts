/** Contracts for pipelines: source → processors → sink. What the API calls `processors` is called steps everywhere else. */
import { z } from 'zod'
import { OnError } from '../model/definition.ts'
import { ShownTask } from '../model/observed.ts'
import { ON_ERROR_DEFAULT, POLICIES } from '../model/policies.ts'
import { LIMITS } from '../model/limits.ts'
import { PIPELINE_ACTIONS, type PipelineAction } from '../model/pipeline-status.ts'
import {
  areConfigsBounded,
  Config,
  Description,
  Difference,
  EmptyRequest,
  fewMembers,
  Flag,
  IdParams,
  JsonObject,
  LagNow,
  ListQuery,
  listOf,
  LostPosition,
  MeasureKind,
  Name,
  PipelineStatus as Status,
  RecordCounts,
  Reference,
  TaskRole,
} from './common.ts'
import { contract, Id, Timestamp } from './contract.ts'

const Endpoint = z.strictObject({ connector_id: Reference, config: Config.default({}) }).meta({ id: 'EndpointRequest' })
const EndpointShown = z.object({ connector_id: z.string(), config: JsonObject }).meta({ id: 'Endpoint' })
const Policy = z.enum(POLICIES).meta({ id: 'OnErrorPolicy' })
const OnErrorShown = OnError.extend({ policy: Policy }).meta({ id: 'OnError' })
const OnErrorRequest = z
  .strictObject({
    policy: Policy.default(ON_ERROR_DEFAULT.policy),
    retries_max: z.number().int().min(0).max(LIMITS.retries_max).default(ON_ERROR_DEFAULT.retries_max),
    backoff_ms: z.number().int().min(0).max(LIMITS.backoff_ms_max).default(ON_ERROR_DEFAULT.backoff_ms),
  })
  .meta({ id: 'OnErrorRequest' })
/** A step as requests give it. */
export const ProcessorEntry = z
  .strictObject({
    module_id: Reference.describe('Id or name of a SmartModule, also as `name@version`'),
    config: Config.default({}),
    version: Reference.optional().describe('The newest one at this moment by default: a later version is adopted by another change only'),
    on_error: OnErrorRequest.optional(),
    timeout_ms: z.number().int().min(LIMITS.call_timeout_ms_min).max(LIMITS.call_timeout_ms_max).optional(),
    changes_keys: z.boolean().default(false).describe('The SmartModule changes keys: records go to the partition of their new key'),
  })
  .meta({ id: 'ProcessorEntry' })
const Processors = z
  .array(ProcessorEntry)
  .max(LIMITS.chain_steps_max, `must have at most ${LIMITS.chain_steps_max} entries`)
  .refine(
    (steps) => areConfigsBounded(...steps.map(({ config }) => config)),
    `must have configs of at most ${LIMITS.config_values_max} values together`,
  )
const Tasks = z.number().int().min(1).max(LIMITS.tasks_max)
const FailureThreshold = z
  .number()
  .gt(0)
  .max(1)
  .describe('The pipeline pauses when more than this share of at least 1,000 records within 60 s fails; 1 means never')

const OnLostPosition = LostPosition.describe(
  'When the source no longer holds the position of a partition: fail, or continue with the earliest record that it holds',
)

const Offsets = fewMembers(
  z
    .record(z.string().regex(/^(0|[1-9]\d{0,4})$/, 'must be a partition number'), z.number().int().min(0).max(Number.MAX_SAFE_INTEGER))
    .meta({ id: 'PartitionOffsets' }),
  LIMITS.adopted_partitions_max,
  `must have at most ${LIMITS.adopted_partitions_max} partitions`,
)
/** A position in a stream: its beginning or end, the first record that is not older than a time, or an offset per partition. */
export const StreamPlace = z
  .union(
    [
      z.enum(['earliest', 'latest']).meta({ id: 'StreamEdge' }),
      z.strictObject({ timestamp: z.iso.datetime({ offset: true }) }).meta({ id: 'StreamTime' }),
      z.strictObject({ offsets: Offsets }).meta({ id: 'StreamOffsets' }),
    ],
    { error: 'must be "earliest", "latest", {"timestamp": "<ISO 8601>"} or {"offsets": {"<partition>": <offset>}}' },
  )
  .meta({ id: 'StreamPlace' })
/** A validated position in a stream. */
export type StreamPlace = z.output<typeof StreamPlace>

/** Body that creates a pipeline. */
export const PipelineRequest = z
  .strictObject({
    name: Name,
    description: Description.default(''),
    source: Endpoint,
    processors: Processors.default([]),
    sink: Endpoint,
    tasks: Tasks.default(1),
    autostart: z.boolean().default(true),
    start: StreamPlace.default('earliest'),
    on_error: OnErrorRequest.default(ON_ERROR_DEFAULT),
    failure_threshold: FailureThreshold.default(0.5),
    on_lost_position: OnLostPosition.default('fail'),
  })
  .meta({ id: 'PipelineRequest' })

const Share = z.number().min(0).max(1)
/** Body that starts a canary. */
export const CanaryRequest = z
  .strictObject({
    step: z.number().int().min(1).max(LIMITS.chain_steps_max).describe('Counts from 1'),
    version: Reference.optional().describe('Of the step’s SmartModule; the newest one by default'),
    config: Config.optional().describe('The running one by default'),
    shadow: z.literal(true).optional().describe('It runs beside the step; what it makes is compared, and not delivered. The default'),
    share: z
      .number()
      .gt(0)
      .lt(1)
      .optional()
      .describe(
        'Instead of shadow: it handles the records of this share of the keys in place of the step’s version, always of the same keys',
      ),
    max_failing: Share.default(0).describe(
      'Rolled back when it fails more than this share of the records that the running version handles',
    ),
    max_differing: Share.default(1).describe('Rolled back when more than this share of the records differs'),
  })
  .refine(({ shadow, share }) => shadow === undefined || share === undefined, { path: ['share'], message: 'is instead of shadow' })
  .meta({ id: 'CanaryRequest' })
/** A validated canary with its defaults filled in. */
export type CanaryRequest = z.output<typeof CanaryRequest>

const Changeable = z.strictObject({
  name: Name.optional(),
  description: Description.optional(),
  processors: Processors.optional(),
  sink: Endpoint.optional().describe('Same connector, complete config; members that say where the sink keeps its position can’t change'),
  tasks: Tasks.optional(),
  on_error: OnErrorRequest.optional(),
  failure_threshold: FailureThreshold.optional(),
  on_lost_position: OnLostPosition.optional(),
})

/** Body that changes a pipeline: members left out keep their values. The source and the sink's connector can't change. */
export const PipelineChange = Changeable.extend({
  canary: CanaryRequest.nullable()
    .optional()
    .describe('Another version of a step to compare with the running one; null ends the comparison'),
})
  .refine(({ canary, ...others }) => canary === undefined || Object.keys(others).length === 0, {
    path: ['canary'],
    message: 'stands alone: change other members in a request of their own',
  })
  .meta({ id: 'PipelineChange' })
/** Source, sink and failure policy of a stored request; its other members are ignored. */
export const Endpoints = z.object({ source: EndpointShown, sink: EndpointShown, on_error: OnErrorRequest.default(ON_ERROR_DEFAULT) })
/** A validated request for a pipeline with its defaults filled in. */
export type PipelineRequest = z.output<typeof PipelineRequest>

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
