/**
 * What the control plane tells the processors, and what they tell back: the values on `dps.definitions` and `dps.observed`. Both sides
 * validate with these schemas; the topics are the only border between the planes.
 */
import { z } from 'zod'

export const DESIRED_STATUSES = ['running', 'paused', 'stopped'] as const
export type DesiredStatus = (typeof DESIRED_STATUSES)[number]

export const StepDefinition = z.object({
  module_id: z.string(),
  name: z.string(),
  version: z.string(),
  sha256: z.string(),
  kind: z.enum(['batch', 'extism']),
  extism_function: z.enum(['filter', 'filter_map', 'array_map', 'map', 'process']).optional(),
  input_format: z.string(),
  output_format: z.string(),
  config: z.record(z.string(), z.unknown()),
})

/** One revision of a pipeline, as a processor runs it. */
export const PipelineDefinition = z.object({
  pipeline_id: z.string(),
  account_id: z.string(),
  name: z.string(),
  revision: z.number().int(),
  /** Grows with every `start` after a failure, so that a failed task is tried again. */
  attempt: z.number().int(),
  desired: z.enum(DESIRED_STATUSES),
  tasks: z.number().int().min(1),
  source_topic: z.string(),
  sink_topic: z.string(),
  sink_schema_id: z.number().int(),
  /** `max.message.bytes` of the sink and of the dead-letter topic. */
  sink_bytes_max: z.number().int(),
  dead_letter_bytes_max: z.number().int(),
  dead_letter_topic: z.string(),
  group_id: z.string(),
  steps: z.array(StepDefinition),
})
export type PipelineDefinition = z.infer<typeof PipelineDefinition>

export const OBSERVED_STATUSES = ['starting', 'running', 'paused', 'stopped', 'failed'] as const

const StepCounters = z.object({
  in: z.number(),
  out: z.number(),
  filtered: z.number(),
  skipped: z.number(),
  failed: z.number(),
  absorbed: z.number(),
  emitted: z.number(),
})

/** What one task looks like from its processor. Offsets are decimal strings: they may pass 2^53. */
export const ObservedTask = z.object({
  pipeline_id: z.string(),
  task: z.number().int(),
  processor_id: z.string(),
  revision: z.number().int(),
  attempt: z.number().int(),
  status: z.enum(OBSERVED_STATUSES),
  reason: z.string().nullable(),
  at: z.string(),
  records_per_second: z.number(),
  partitions: z.array(
    z.object({ partition: z.number().int(), position: z.string(), end: z.string(), lag: z.string(), steps: z.array(StepCounters) }),
  ),
})
export type ObservedTask = z.infer<typeof ObservedTask>

/** Names of the service's own topics and groups below a prefix, so that several installations can share a cluster. */
export function serviceNames(prefix: string) {
  return {
    definitions: `${prefix}.definitions`,
    observed: `${prefix}.observed`,
    fleet: `${prefix}.fleet`,
    streamTopic: (accountId: string, streamId: string) => `${prefix}.${accountId}.${streamId}`,
    deadLetterTopic: (accountId: string, pipelineId: string) => `${prefix}.${accountId}.${pipelineId}.dead-letters`,
    pipelineGroup: (pipelineId: string) => `${prefix}.${pipelineId}`,
    transactionalId: (pipelineId: string, task: number) => `${prefix}.${pipelineId}.${task}`,
  }
}
export type ServiceNames = ReturnType<typeof serviceNames>

/** Keys on `dps.definitions`. */
export const definitionKeys = { pipeline: (id: string) => `pipeline/${id}`, smartModule: (sha256: string) => `smartmodule/${sha256}` }
/** Keys on `dps.observed`. */
export const observedKey = (pipelineId: string, task: number): string => `${pipelineId}/${task}`
