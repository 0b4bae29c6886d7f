/** Bodies of requests for pipelines. What the API calls `processors` is called steps everywhere else. */
import { z } from 'zod'
import { ON_ERROR_DEFAULT, POLICIES } from '../model/policies.ts'
import { LIMITS } from '../model/limits.ts'
import { areConfigsBounded, Config, Description, fewMembers, JsonObject, LostPosition, Name, Reference } from './common.ts'

const Endpoint = z.strictObject({ connector_id: Reference, config: Config.default({}) }).meta({ id: 'EndpointRequest' })
/** Source or sink of a pipeline as answers show it. */
export const EndpointShown = z.object({ connector_id: z.string(), config: JsonObject }).meta({ id: 'Endpoint' })
/** What becomes of a record that a step fails. */
export const Policy = z.enum(POLICIES).meta({ id: 'OnErrorPolicy' })
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

/** What a pipeline does whose position is gone. */
export const OnLostPosition = LostPosition.describe(
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

/** Members of a pipeline that can be changed, without the canary. */
export const Changeable = z.strictObject({
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
