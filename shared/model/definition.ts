/**
 * What the control plane tells the processors, and what they tell back: the values on `dps.definitions` and `dps.observed`. Both sides
 * validate with these schemas; the topics are the only border between the planes.
 */
import { z } from 'zod'
import { SchemaText } from './schema-text.ts'
import { ON_ERROR_DEFAULT, POLICIES } from './policies.ts'

export const DESIRED_STATUSES = ['running', 'paused', 'stopped'] as const
export type DesiredStatus = (typeof DESIRED_STATUSES)[number]

export const OnError = z.object({ policy: z.enum(POLICIES), retries_max: z.number().int(), backoff_ms: z.number().int() })
export type OnError = z.infer<typeof OnError>

/** Compression of what is written to the sink. */
export const COMPRESSIONS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
export type Compression = (typeof COMPRESSIONS)[number]

/** What becomes of a partition whose position its topic does not hold any more. */
export const LOST_POSITION_POLICIES = ['fail', 'earliest'] as const

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
  on_error: OnError.default(ON_ERROR_DEFAULT),
  /** Longest that one call into the SmartModule may take; the processor's own limit when left out. */
  timeout_ms: z.number().int().optional(),
  /** The module may write other keys: records are put into the sink's partitions by their new keys. */
  changes_keys: z.boolean().default(false),
})

/**
 * A job runs beside its pipeline: the chain of one revision over a bounded part of a topic, once. `ranges` are the offsets that count, by
 * partition, as [from, until) in decimal; a redrive reads the dead-letter topic and undoes its framing.
 */
export const JobInput = z.object({
  job_id: z.string(),
  kind: z.enum(['redrive', 'replay']),
  ranges: z.record(z.string(), z.array(z.tuple([z.string(), z.string()]))),
  records_per_second_max: z.number().nullable(),
})
export type JobInput = z.infer<typeof JobInput>

/** A connector that is no stream, with its config as the account gave it: secrets are named, not told. */
export const EndpointDefinition = z.object({ connector_id: z.string(), config: z.record(z.string(), z.unknown()) })

/** Definitions of before had the text alone. */
const StoredSchema = z.union([SchemaText, z.string().transform((text): SchemaText => ({ text, references: [] }))])

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
  /** Partitions of the source when the start positions were set; those that came later start at 0. */
  source_partitions: z.number().int().default(0),
  compression: z.enum(COMPRESSIONS).default('none'),
  /** The pipeline pauses itself when more than this share of at least 1,000 records within a minute failed; 1 is never. */
  failure_threshold: z.number().default(0.5),
  /** `earliest`: go on with the first record that is still there. */
  on_lost_position: z.enum(LOST_POSITION_POLICIES).default('fail'),
  /** The revision with which positions were last set from outside; 0 for never. A sink's own position of before is void. */
  reset_revision: z.number().int().default(0),
  /** Of a source stream whose values are no JSON: schemas by the id in the values' frames. Its chain sees JSON. */
  source_codec: z.object({ format: z.enum(['avro', 'protobuf']), schemas: z.record(z.string(), StoredSchema) }).optional(),
  /** Of a sink stream whose values are no JSON. */
  sink_codec: z.object({ format: z.enum(['avro', 'protobuf']), schema: StoredSchema }).optional(),
  /** Where records come from before they are in `source_topic`, which then is the pipeline's own intake topic. */
  source: EndpointDefinition.optional(),
  /** Where rows go instead of `sink_topic`, which then is the dead-letter topic. */
  sink: EndpointDefinition.extend({
    /** Types, by name, of the members that records are known to have at the end of the chain. */
    fields: z.record(z.string(), z.string()).optional(),
    /** The source stream's name. */
    origin: z.string().optional(),
    on_error: OnError.default(ON_ERROR_DEFAULT),
  }).optional(),
  job: JobInput.optional(),
})
export type PipelineDefinition = z.infer<typeof PipelineDefinition>

/** Tasks that read an external source into the intake topic are numbered from here on, those that run the chain below. */
export const INTAKE_TASKS_FROM = 1000

/** Of the chain's tasks alone: what the intake reads, the chain reads again. */
export const chainRate = (tasks: readonly Pick<ObservedTask, 'task' | 'records_per_second'>[]): number =>
  tasks.reduce((sum, { task, records_per_second }) => sum + (task < INTAKE_TASKS_FROM ? records_per_second : 0), 0)

/** Numbers of all tasks that a pipeline runs as. */
export function taskNumbersOf({ tasks, source, job }: Pick<PipelineDefinition, 'tasks' | 'source' | 'job'>): number[] {
  const numbers = Array.from({ length: tasks }, (_, index) => index)
  return source && !job ? [...numbers, ...numbers.map((index) => INTAKE_TASKS_FROM + index)] : numbers
}

/** What a processor runs is named by its pipeline's id, or by the job's. */
export const runIdOf = ({ job, pipeline_id }: Pick<PipelineDefinition, 'job' | 'pipeline_id'>): string => job?.job_id ?? pipeline_id

export const OBSERVED_STATUSES = ['starting', 'running', 'paused', 'stopped', 'failed', 'finished'] as const

export const Counters = z.object({
  in: z.number(),
  out: z.number(),
  filtered: z.number(),
  skipped: z.number(),
  failed: z.number(),
  absorbed: z.number(),
  emitted: z.number(),
})
export type Counters = z.infer<typeof Counters>

/** What one task looks like from its processor. Offsets are decimal strings: they may pass 2^53. */
export const ObservedTask = z.object({
  pipeline_id: z.string(),
  task: z.number().int(),
  processor_id: z.string(),
  revision: z.number().int(),
  attempt: z.number().int(),
  status: z.enum(OBSERVED_STATUSES),
  /** A module's own words may hold NUL, which Postgres takes in no text. */
  reason: z
    .string()
    .nullable()
    .transform((reason) => reason?.replaceAll('\0', '\uFFFD') ?? null),
  at: z.string(),
  records_per_second: z.number(),
  /** Records of rounds under way, not committed yet. */
  in_flight: z.number().default(0),
  /** The task paused itself: its failure threshold was passed. */
  held_back: z.boolean().default(false),
  /** Versions that this processor has quarantined for the pipeline, as sha-256. */
  quarantined: z.array(z.string()).default([]),
  partitions: z.array(
    z.object({
      partition: z.number().int(),
      position: z.string(),
      end: z.string(),
      lag: z.string(),
      steps: z.array(Counters),
      /** Of the whole chain, over all revisions. */
      totals: Counters.optional(),
    }),
  ),
})
export type ObservedTask = z.infer<typeof ObservedTask>

/** Names of the service's own topics and groups below a prefix, so that several installations can share a cluster. */
export function serviceNames(prefix: string) {
  return {
    definitions: `${prefix}.definitions`,
    observed: `${prefix}.observed`,
    fleet: `${prefix}.fleet`,
    ledger: `${prefix}.ledger`,
    streamTopic: (accountId: string, streamId: string) => `${prefix}.${accountId}.${streamId}`,
    deadLetterTopic: (accountId: string, pipelineId: string) => `${prefix}.${accountId}.${pipelineId}.dead-letters`,
    intakeTopic: (accountId: string, pipelineId: string) => `${prefix}.${accountId}.${pipelineId}.intake`,
    /** What the splits of a source have seen. */
    seenTopic: (accountId: string, pipelineId: string) => `${prefix}.${accountId}.${pipelineId}.seen`,
    pipelineGroup: (pipelineId: string) => `${prefix}.${pipelineId}`,
    intakeGroup: (pipelineId: string) => `${prefix}.${pipelineId}.intake`,
    transactionalId: (runId: string, task: number) => `${prefix}.${runId}.${task}`,
  }
}
export type ServiceNames = ReturnType<typeof serviceNames>

/** Keys on `dps.definitions`. */
export const definitionKeys = {
  pipeline: (id: string) => `pipeline/${id}`,
  /** Kept beside the pipeline's current definition: a range that a revision has planned is finished by it. */
  revision: (id: string, revision: number) => `revision/${id}/${revision}`,
  job: (id: string) => `job/${id}`,
  smartModule: (sha256: string) => `smartmodule/${sha256}`,
  secret: (accountId: string, name: string) => `secret/${accountId}/${name}`,
}
/** Keys on `dps.observed`. */
export const observedKey = (runId: string, task: number): string => `${runId}/${task}`

/**
 * An entry of the ledger: from this offset of the source's partition on, the revision handled the records. It is written in the
 * transaction of the first round that the revision commits there, so the border in the ledger is the border in the data.
 */
export const LedgerEntry = z.object({
  pipeline_id: z.string(),
  partition: z.number().int(),
  revision: z.number().int(),
  from_offset: z.string(),
  at: z.string(),
})
export type LedgerEntry = z.infer<typeof LedgerEntry>
/** Keys on `dps.ledger`. */
export const ledgerKey = (entry: LedgerEntry): string => `${entry.pipeline_id}/${entry.partition}/${entry.revision}`
