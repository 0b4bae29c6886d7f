/**
 * What the control plane sends to the processors and what they report back: the values on `dps.definitions` and `dps.observed`. Both sides
 * validate with these schemas; the topics are the only interface between the control plane and the data plane.
 */
import { z } from 'zod'
import { ACCOUNT_TYPE_NAMES } from './limits.ts'
import { Measure } from './logs.ts'
import { SchemaText } from './schema-text.ts'
import { ON_ERROR_DEFAULT, POLICIES } from './policies.ts'

/** The statuses that a client can request for a pipeline. */
export const DESIRED_STATUSES = ['running', 'paused', 'stopped'] as const
/** The status that a pipeline should have. */
export type DesiredStatus = (typeof DESIRED_STATUSES)[number]

/** What happens to a record that a step fails on; `backoff_ms` is in milliseconds. */
export const OnError = z.object({ policy: z.enum(POLICIES), retries_max: z.number().int(), backoff_ms: z.number().int() })
/** A validated failure policy. */
export type OnError = z.infer<typeof OnError>

/** Compression of the batches written to the sink topic. */
export const COMPRESSIONS = ['none', 'gzip', 'snappy', 'lz4', 'zstd'] as const
/** The compression of a batch. */
export type Compression = (typeof COMPRESSIONS)[number]

/** What to do when the topic no longer holds the position of a partition. */
export const LOST_POSITION_POLICIES = ['fail', 'earliest'] as const

/** One step of a chain: a pinned version of a SmartModule with its config and failure policy. */
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
  /** Time limit of one call into the SmartModule; the processor's own limit by default. */
  timeout_ms: z.number().int().optional(),
  /** The SmartModule may change keys: records go to the sink's partitions by their new keys. */
  changes_keys: z.boolean().default(false),
})

/**
 * A job runs beside its pipeline: the chain of one revision over a bounded part of a topic, once. `ranges` are the offsets to process, by
 * partition, as decimal [from, until); a redrive reads the dead-letter topic and removes the dead letters' headers.
 */
export const JobInput = z.object({
  job_id: z.string(),
  kind: z.enum(['redrive', 'replay']),
  ranges: z.record(z.string(), z.array(z.tuple([z.string(), z.string()]))),
  records_per_second_max: z.number().nullable(),
})
/** The validated input of a job. */
export type JobInput = z.infer<typeof JobInput>

/** A connector other than `stream`, with the account's config, which holds the names of secrets and not their values. */
export const EndpointDefinition = z.object({ connector_id: z.string(), config: z.record(z.string(), z.unknown()) })

/** Older definitions hold the schema's text only. */
const StoredSchema = z.union([SchemaText, z.string().transform((text): SchemaText => ({ text, references: [] }))])

/** One revision of a pipeline, as a processor runs it. */
export const PipelineDefinition = z.object({
  pipeline_id: z.string(),
  account_id: z.string(),
  name: z.string(),
  revision: z.number().int(),
  /** Grows when tasks must start over, for example with `start` and `restart`, so that a failed task runs again. */
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
  /** Number of source partitions when the start positions were set; partitions added later start at their first record. */
  source_partitions: z.number().int().default(0),
  compression: z.enum(COMPRESSIONS).default('none'),
  /** The pipeline pauses itself when more than this share of at least 1,000 records within a minute failed; 1 means never. */
  failure_threshold: z.number().default(0.5),
  /** `earliest`: continue with the first record that the topic still holds. */
  on_lost_position: z.enum(LOST_POSITION_POLICIES).default('fail'),
  /** The revision with which positions were last set through the API; 0 for never. An older position kept by the sink is void. */
  reset_revision: z.number().int().default(0),
  /** For a source stream with non-JSON values: its schemas by the id in the values' frames. The chain sees JSON. */
  source_codec: z.object({ format: z.enum(['avro', 'protobuf']), schemas: z.record(z.string(), StoredSchema) }).optional(),
  /** For a sink stream with non-JSON values. */
  sink_codec: z.object({ format: z.enum(['avro', 'protobuf']), schema: StoredSchema }).optional(),
  /** The external source of the records; `source_topic` is then the pipeline's own intake topic. */
  source: EndpointDefinition.optional(),
  /** The external sink, used instead of `sink_topic`, which is then the dead-letter topic. */
  sink: EndpointDefinition.extend({
    /** Types by name of the members that records are known to have at the end of the chain. */
    fields: z.record(z.string(), z.string()).optional(),
    /** Name of the source stream. */
    origin: z.string().optional(),
    on_error: OnError.default(ON_ERROR_DEFAULT),
  }).optional(),
  job: JobInput.optional(),
})
/** A validated definition with its defaults filled in. */
export type PipelineDefinition = z.infer<typeof PipelineDefinition>

/** The first number of tasks that read an external source into the intake topic; tasks that run the chain have lower numbers. */
export const INTAKE_TASKS_FROM = 1000

/** Records per second of the chain's tasks; intake tasks don't count, because the chain reads the same records again. */
export const chainRate = (tasks: readonly Pick<ObservedTask, 'task' | 'records_per_second'>[]): number =>
  tasks.reduce((sum, { task, records_per_second }) => sum + (task < INTAKE_TASKS_FROM ? records_per_second : 0), 0)

/** The numbers of all tasks of a pipeline or job. */
export function taskNumbersOf({ tasks, source, job }: Pick<PipelineDefinition, 'tasks' | 'source' | 'job'>): number[] {
  const numbers = Array.from({ length: tasks }, (_, index) => index)
  return source && !job ? [...numbers, ...numbers.map((index) => INTAKE_TASKS_FROM + index)] : numbers
}

/** The id of a run: the job's id, or the pipeline's id where there is no job. */
export const runIdOf = ({ job, pipeline_id }: Pick<PipelineDefinition, 'job' | 'pipeline_id'>): string => job?.job_id ?? pipeline_id

/** Statuses that a task can report. */
export const OBSERVED_STATUSES = ['starting', 'running', 'paused', 'stopped', 'failed', 'finished'] as const

/** Record counts by outcome, of one step or of a whole chain. */
export const Counters = z.object({
  in: z.number(),
  out: z.number(),
  filtered: z.number(),
  skipped: z.number(),
  failed: z.number(),
  absorbed: z.number(),
  emitted: z.number(),
})
/** Validated counters. */
export type Counters = z.infer<typeof Counters>

/** The state of one task as its processor reports it. Offsets are decimal strings, because they may exceed 2^53. */
export const ObservedTask = z.object({
  pipeline_id: z.string(),
  task: z.number().int(),
  processor_id: z.string(),
  revision: z.number().int(),
  attempt: z.number().int(),
  status: z.enum(OBSERVED_STATUSES),
  /** A SmartModule's message may contain NUL, which Postgres does not accept in text. */
  reason: z
    .string()
    .nullable()
    .transform((reason) => reason?.replaceAll('\0', '\uFFFD') ?? null),
  at: z.string(),
  records_per_second: z.number(),
  /** Records of current rounds that are not committed yet. */
  in_flight: z.number().default(0),
  /** The task paused itself because its failure threshold was exceeded. */
  held_back: z.boolean().default(false),
  /** SHA-256 hashes of the SmartModule versions that this processor has quarantined for the pipeline. */
  quarantined: z.array(z.string()).default([]),
  /** What the steps have counted and observed since the task started. */
  measures: z.array(Measure).max(400).default([]),
  partitions: z.array(
    z.object({
      partition: z.number().int(),
      position: z.string(),
      end: z.string(),
      lag: z.string(),
      steps: z.array(Counters),
      /** Totals of the whole chain over all revisions. */
      totals: Counters.optional(),
    }),
  ),
})
/** A validated report of one task. */
export type ObservedTask = z.infer<typeof ObservedTask>

/** Names of the service's topics, groups and transactional ids under a prefix, so that several installations can share a cluster. */
export function serviceNames(prefix: string) {
  return {
    definitions: `${prefix}.definitions`,
    observed: `${prefix}.observed`,
    fleet: `${prefix}.fleet`,
    ledger: `${prefix}.ledger`,
    logs: `${prefix}.logs`,
    streamTopic: (accountId: string, streamId: string) => `${prefix}.${accountId}.${streamId}`,
    deadLetterTopic: (accountId: string, pipelineId: string) => `${prefix}.${accountId}.${pipelineId}.dead-letters`,
    intakeTopic: (accountId: string, pipelineId: string) => `${prefix}.${accountId}.${pipelineId}.intake`,
    /** Remembers what the splits of a source have already read. */
    seenTopic: (accountId: string, pipelineId: string) => `${prefix}.${accountId}.${pipelineId}.seen`,
    pipelineGroup: (pipelineId: string) => `${prefix}.${pipelineId}`,
    intakeGroup: (pipelineId: string) => `${prefix}.${pipelineId}.intake`,
    transactionalId: (runId: string, task: number) => `${prefix}.${runId}.${task}`,
  }
}
/** The names under one prefix. */
export type ServiceNames = ReturnType<typeof serviceNames>

/**
 * What processors know of an account: its type sets its share of the processors' time, which is the least one while it has used more than its
 * quota; a suspended one runs nothing.
 */
export const AccountState = z.object({
  type: z.enum(ACCOUNT_TYPE_NAMES),
  is_suspended: z.boolean(),
  is_over_cpu: z.boolean().default(false),
})
/** The validated state of an account. */
export type AccountState = z.infer<typeof AccountState>

/** Record keys on `dps.definitions`. */
export const definitionKeys = {
  pipeline: (id: string) => `pipeline/${id}`,
  /** Kept beside the pipeline's current definition, because the revision that planned a range must also finish it. */
  revision: (id: string, revision: number) => `revision/${id}/${revision}`,
  job: (id: string) => `job/${id}`,
  smartModule: (sha256: string) => `smartmodule/${sha256}`,
  secret: (accountId: string, name: string) => `secret/${accountId}/${name}`,
  account: (id: string) => `account/${id}`,
}
/** What a processor has counted for an account in a clock hour (UTC, as `2026-11-22T19`). */
export const CpuUse = z.object({ account_id: z.string(), processor_id: z.string(), hour: z.string(), cpu_seconds: z.number() })
/** A validated count. */
export type CpuUse = z.infer<typeof CpuUse>
const CPU_USE = 'cpu/'
/** The record key of a count on `dps.observed`; a later hour replaces an earlier one. */
export const cpuUseKey = ({ account_id, processor_id }: CpuUse): string => `${CPU_USE}${account_id}/${processor_id}`
/** Whether the key on `dps.observed` is a count's. */
export const isCpuUseKey = (key: string): boolean => key.startsWith(CPU_USE)

/** The record key of a task on `dps.observed`. */
export const observedKey = (runId: string, task: number): string => `${runId}/${task}`

/**
 * A ledger entry: the revision handled the records of the source partition from this offset on. It is written in the transaction of the
 * first round that the revision commits there, or before that round for an external sink, so that the ledger and the data change at the
 * same offset.
 */
export const LedgerEntry = z.object({
  pipeline_id: z.string(),
  partition: z.number().int(),
  revision: z.number().int(),
  from_offset: z.string(),
  at: z.string(),
})
/** A validated ledger entry. */
export type LedgerEntry = z.infer<typeof LedgerEntry>
/** The record key of an entry on `dps.ledger`. */
export const ledgerKey = (entry: LedgerEntry): string => `${entry.pipeline_id}/${entry.partition}/${entry.revision}`
