/** Messages between the main thread and a lane. Bytes travel as transferred ArrayBuffers; only the call watch is shared memory. */
import type { InitDocument } from '../../../shared/smartmodule/abi.ts'
import type { SmartModuleKind, ExtismFunction } from '../../../shared/model/smartmodule-kind.ts'
import type { AbortedTransaction } from '../../../shared/kafka/protocol/aborted.ts'
import type { Compression, JobInput, OnError, SourceCodec, TopicSink } from '../../../shared/model/definition.ts'
import type { RowFormat } from '../../../shared/connectors/row-format.ts'
import type { Rows } from '../../../shared/connectors/sink.ts'
import type { Measure } from '../../../shared/model/telemetry.ts'
import type { CanarySpec, KnownFailures } from '../../../shared/smartmodule/host/spec.ts'
import type { PlugInAnswer, PlugInRequest } from '../../../shared/model/plug-in-http.ts'
import type { LaneLine } from './lane-telemetry.ts'

/** A version of a SmartModule as a lane needs it. The module is compiled once per runner and posted by reference. */
export type LaneVersion = {
  version: string
  sha256: string
  module: WebAssembly.Module
  kind: SmartModuleKind
  extismFunction?: ExtismFunction
  document: InitDocument
}

/** A step as a lane needs it. */
export type LaneStep = LaneVersion & {
  name: string
  onError: OnError
  timeoutMs?: number
  canary?: LaneVersion & Pick<CanarySpec, 'share' | 'maxFailing'>
}

/** Everything a lane must know to run a pipeline's chain. Sizes in bytes. */
export type LaneChain = {
  accountId: string
  /** Of the pipeline or job (`runIdOf`): what the lane notes while it is at work. */
  runId: string
  pipelineId: string
  /** The task whose chain it is. */
  task: number
  revision: number
  sourceTopic: string
  steps: LaneStep[]
  reframeSchemaId: number
  /** Batches are cut at this size. */
  sinkBatchBytesMax: number
  /** `max.message.bytes` of the sink topic and of the dead-letter topic. */
  sinkRecordBytesMax: number
  deadLetterBytesMax: number
  compression: Compression
  /** The sink topic is compacted: it takes no record without a key. */
  sinkNeedsKeys?: boolean
  /** The policy for records that the sink can't take; dead letters by default. */
  sinkOnError?: OnError
  /** For an external sink: the format of its rows. */
  rows?: RowFormat
  /** For streams with non-JSON values (`definition.ts`). */
  sourceCodec?: SourceCodec
  sinkCodec?: TopicSink['codec']
  /** Number of sink partitions, when records go to them by key; left out when each source partition has its own. */
  partitions?: number
  job?: JobInput
}

/** Fetched bytes of one partition, from `position` on. */
export type RoundPartition = {
  /** Of the source's topic. */
  topicId: string
  partition: number
  /** The sink partition for records without a key, or for all of them when keys don't decide. */
  sinkPartition: number
  deadLetterPartition: number
  position: bigint
  /** Where the next fetch continues: after the last batch, or after a gap at the end of the requested range. */
  nextOffset: bigint
  /** The end of a planned range, which may be inside a batch. */
  until?: bigint
  /** Only the first `length` bytes count. */
  bytes: ArrayBuffer
  length: number
  aborted: AbortedTransaction[]
  /** About so many records are run at once, and the rest is left to another run: a job keeps to its rate. */
  recordsMax?: number
  knownFailures?: KnownFailures
}

/** The first `length` bytes of `bytes` are the batch; it goes to `partition` of its topic. */
export type OutputBatch = { partition: number; bytes: ArrayBuffer; length: number; records: number }

/** The result for one partition's bytes: finished batches for the sink and the dead letters, and the counters (7 per step). */
export type PartitionOutcome = {
  partition: number
  nextOffset: bigint
  records: number
  sink: OutputBatch[]
  /** Instead of `sink`, for an external sink. */
  rows: Rows[]
  deadLetters: OutputBatch[]
  /** Source offsets of the records in `deadLetters`. */
  deadLetterOffsets: bigint[]
  counts: Float64Array
}

export type ToLane =
  | { type: 'open'; chainId: number; chain: LaneChain }
  | { type: 'close'; chainId: number }
  /** What came back for a plug-in's request. */
  | { type: 'answer'; requestId: number; answer: PlugInAnswer }
  /** Buffers of written output batches, for the lane to reuse. */
  | { type: 'recycle'; buffers: ArrayBuffer[] }
  | {
      type: 'run'
      chainId: number
      roundId: number
      partitions: RoundPartition[]
      nowMs: number
      /** Losses allowed, by step. */
      lostMax: number[]
      /** Approximate limit for all outcomes together. */
      outputBytesMax: number
    }

/** Records to be retried under their policy, by partition. */
export type Retries = { partition: number; offsets: bigint[] }[]

export type FromLane =
  /** `threadId`: the operating system's id of the thread, 0 when unknown. */
  | { type: 'ready'; threadId: number }
  | { type: 'opened'; chainId: number }
  /** An HTTP request of one of the chain's plug-ins, which waits for `answer`. */
  | { type: 'request'; chainId: number; requestId: number; request: PlugInRequest }
  | { type: 'refused'; chainId: number; message: string }
  /**
   * `inputs`: the buffers of partitions that were run to their end. `rest`: what was left when the outcomes became too large. `lost`:
   * records that cost an instance, by step.
   */
  | {
      type: 'done'
      roundId: number
      outcomes: PartitionOutcome[]
      outputBytes: number
      rest: RoundPartition[]
      inputs: ArrayBuffer[]
      lost: number[]
      /** What the run's SmartModules have counted and observed. */
      measures: Measure[]
    }
  /** Lines of SmartModules, or how many more there were than a run has room for. */
  | { type: 'log'; chainId: number; lines: LaneLine[]; dropped: number }
  | { type: 'retry'; roundId: number; retries: Retries; inputs: ArrayBuffer[]; backoffMs: number; lost: number[] }
  /** Nothing is wrong with the records; what they need may still come. */
  | { type: 'waiting'; roundId: number; message: string }
  | { type: 'trapped'; roundId: number; step: number; message: string }
  | { type: 'broken'; roundId: number; message: string; /** Retrying can't help. */ isFinal: boolean }

/** What a lane is started with. `watch` is written by the chain around each call into a SmartModule. */
export type LaneData = { kernel: WebAssembly.Module; watch: SharedArrayBuffer; notes: LaneNotes | undefined }

/** Where a lane notes what it is at work on (`channel/notes.ts`). */
export type LaneNotes = { fd: number; index: number }
