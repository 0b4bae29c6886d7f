/**
 * What the control plane sends to the processors: the values on `dps.definitions` (what they report back: `observed.ts`). Both sides
 * validate with these schemas; the topics are the only interface between the control plane and the data plane.
 */
import { z } from 'zod'
import { ACCOUNT_TYPE_NAMES } from './limits.ts'
import { upgradeDefinition } from './older-formats.ts'
import { SchemaText } from './schema-text.ts'
import { ON_ERROR_DEFAULT, POLICIES } from './policies.ts'
import { SMARTMODULE_KINDS } from './smartmodule-kind.ts'
import { taskName, type TaskId } from './task.ts'

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

/**
 * A config as it is stored. It was checked when it was given: checking each member again whenever a definition is read would take longer
 * than parsing the JSON.
 */
const StoredConfig = z.custom<Record<string, unknown>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  'must be an object',
)

/** A pinned version of a SmartModule, and its config. */
const PinnedVersion = z.object({
  version: z.string(),
  sha256: z.string(),
  kind: z.enum(SMARTMODULE_KINDS),
  extism_function: z.enum(['filter', 'filter_map', 'array_map', 'map', 'process']).optional(),
  input_format: z.string(),
  output_format: z.string(),
  config: StoredConfig,
  /** Hosts that a plug-in may send requests to. */
  allowed_hosts: z.array(z.string()).optional(),
})

/** A version that handles the records of a share of the keys instead of the step's own; `max_failing`: the share of these that may fail. */
export const CanaryDefinition = PinnedVersion.extend({ share: z.number().gt(0).lt(1), max_failing: z.number() })
/** A validated canary of a step. */
export type CanaryDefinition = z.infer<typeof CanaryDefinition>

/** One step of a chain: a pinned version of a SmartModule with its config and failure policy. */
const StepDefinition = PinnedVersion.extend({
  module_id: z.string(),
  name: z.string(),
  canary: CanaryDefinition.optional(),
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
const ExternalEndpoint = z.object({ kind: z.literal('connector'), connector_id: z.string(), config: StoredConfig })

/** Older definitions hold the schema's text only. */
const StoredSchema = z.union([SchemaText, z.string().transform((text): SchemaText => ({ text, references: [] }))])

/** How the chain reads a topic whose values are not JSON: its schemas by the id in the values' frames. The chain sees JSON. */
export const SourceCodec = z.object({ format: z.enum(['avro', 'protobuf']), schemas: z.record(z.string(), StoredSchema) })
/** A validated codec of a source. */
export type SourceCodec = z.infer<typeof SourceCodec>

/**
 * The topic that the chain's tasks read. `partitions`: how many it had when the start positions were set, 0 where that is not known;
 * partitions added later start at their first record.
 */
const SourceTopic = z.object({ topic: z.string(), partitions: z.number().int().default(0) })

/** Where records come from. What a connector reads, intake tasks write into `topic`, which is then the pipeline's own intake topic. */
export const SourceDefinition = z.discriminatedUnion('kind', [
  SourceTopic.extend({ kind: z.literal('topic'), codec: SourceCodec.optional() }),
  SourceTopic.extend(ExternalEndpoint.shape),
])
/** A validated source. */
export type SourceDefinition = z.infer<typeof SourceDefinition>

/** How values are written into a topic whose values are not JSON. */
export const SinkCodec = z.object({ format: z.enum(['avro', 'protobuf']), schema: StoredSchema })

/**
 * A sink that is a topic; `bytes_max` is its `max.message.bytes`, `codec` is for values that are not JSON. Where it is compacted, it takes
 * no record without a key.
 */
export const TopicSink = z.object({
  kind: z.literal('topic'),
  topic: z.string(),
  schema_id: z.number().int(),
  bytes_max: z.number().int(),
  compression: z.enum(COMPRESSIONS).default('none'),
  is_compacted: z.boolean().default(false),
  codec: SinkCodec.optional(),
  on_error: OnError.default(ON_ERROR_DEFAULT),
})
/** A validated sink topic. */
export type TopicSink = z.infer<typeof TopicSink>

/** A sink that is an external system. */
export const ExternalSink = ExternalEndpoint.extend({
  /** Types by name of the members that records are known to have at the end of the chain. */
  fields: z.record(z.string(), z.string()).optional(),
  /** Name of the source stream. */
  origin: z.string().optional(),
  on_error: OnError.default(ON_ERROR_DEFAULT),
})
/** A validated external sink. */
export type ExternalSink = z.infer<typeof ExternalSink>

/** Where records go. */
export const SinkDefinition = z.discriminatedUnion('kind', [TopicSink, ExternalSink])
/** A validated sink. */
export type SinkDefinition = z.infer<typeof SinkDefinition>

const Definition = z.object({
  pipeline_id: z.string(),
  account_id: z.string(),
  name: z.string(),
  revision: z.number().int(),
  /** Grows when tasks must start anew, for example with `start` and `restart`, so that a failed task runs again. */
  attempt: z.number().int(),
  desired: z.enum(DESIRED_STATUSES),
  tasks: z.number().int().min(1),
  source: SourceDefinition,
  sink: SinkDefinition,
  dead_letter_topic: z.string(),
  /** `max.message.bytes` of the dead-letter topic. */
  dead_letter_bytes_max: z.number().int(),
  group_id: z.string(),
  steps: z.array(StepDefinition),
  /** The pipeline pauses itself when more than this share of at least 1,000 records within a minute failed; 1 means never. */
  failure_threshold: z.number().default(0.5),
  /** `earliest`: continue with the first record that the topic still holds. */
  on_lost_position: z.enum(LOST_POSITION_POLICIES).default('fail'),
  /** The revision with which positions were last set through the API; 0 for never. An older position kept by the sink is void. */
  reset_revision: z.number().int().default(0),
  /** Set where the run is a job; its source is a topic, whatever the pipeline's is. */
  job: JobInput.optional(),
})

/** One revision of a pipeline, as a processor runs it. */
export const PipelineDefinition = z.preprocess(upgradeDefinition, Definition)
/** A validated definition with its defaults filled in. */
export type PipelineDefinition = z.infer<typeof PipelineDefinition>

/** The source's codec, where its values are not JSON. */
export const sourceCodecOf = ({ source }: Pick<PipelineDefinition, 'source'>): SourceCodec | undefined =>
  source.kind === 'topic' ? source.codec : undefined

/** The types of the records' members at the end of the chain, where an external sink is told them. */
export const sinkFieldsOf = ({ sink }: Pick<PipelineDefinition, 'sink'>): ExternalSink['fields'] =>
  sink.kind === 'connector' ? sink.fields : undefined

/** All tasks of a pipeline or job. */
export function tasksOf({ tasks, source }: Pick<PipelineDefinition, 'tasks' | 'source'>): TaskId[] {
  const ofRole = (role: TaskId['role']) => Array.from({ length: tasks }, (_, task): TaskId => ({ role, task }))
  return source.kind === 'connector' ? [...ofRole('chain'), ...ofRole('intake')] : ofRole('chain')
}

/** How reports name the run. */
export const runOf = ({ job, pipeline_id }: Pick<PipelineDefinition, 'job' | 'pipeline_id'>): { pipeline_id: string; job_id?: string } => ({
  pipeline_id,
  ...(job ? { job_id: job.job_id } : {}),
})

/** The id of a run: the job's id, or the pipeline's id where there is no job. */
export const runIdOf = ({ job, pipeline_id }: Pick<PipelineDefinition, 'job' | 'pipeline_id'>): string => job?.job_id ?? pipeline_id

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
    runGroup: (runId: string) => `${prefix}.${runId}`,
    intakeGroup: (pipelineId: string) => `${prefix}.${pipelineId}.intake`,
    transactionalId: (runId: string, task: TaskId) => `${prefix}.${runId}.${taskName(task)}`,
  }
}
/** The names under one prefix. */
export type ServiceNames = ReturnType<typeof serviceNames>

/**
 * What processors know of an account: its type sets its share of CPU time, the smallest one while it has used more than its
 * quota; a suspended account runs nothing.
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
