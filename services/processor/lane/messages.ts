/** What the main thread and a lane say to each other. Bytes travel as transferred ArrayBuffers, nothing is shared but the call watch. */
import type { InitDocument } from '../../../shared/smartmodule/abi.ts'
import type { SmartModuleKind, ExtismFunction } from '../../../shared/model/smartmodule-kind.ts'
import type { AbortedTransaction } from '../../../shared/kafka/protocol/aborted.ts'
import type { Compression, JobInput, OnError, PipelineDefinition } from '../../../shared/model/definition.ts'
import type { RowFormat } from '../../../shared/connectors/row-format.ts'
import type { Rows } from '../../../shared/connectors/sink.ts'
import type { Doubts } from '../../../shared/smartmodule/host/spec.ts'

/** A step as a lane needs it: the module compiled once per processor, posted by reference. */
export type LaneStep = {
  name: string
  version: string
  sha256: string
  module: WebAssembly.Module
  kind: SmartModuleKind
  extismFunction?: ExtismFunction
  document: InitDocument
  onError: OnError
  timeoutMs?: number
}

/** Everything a lane must know to run a pipeline's chain. Sizes in bytes. */
export type LaneChain = {
  pipelineId: string
  revision: number
  sourceTopic: string
  steps: LaneStep[]
  reframeSchemaId: number
  /** Batches are cut here. */
  sinkBatchBytesMax: number
  /** `max.message.bytes` of the two topics. */
  sinkRecordBytesMax: number
  deadLetterBytesMax: number
  compression: Compression
  /** For a sink that is no topic: how it wants its rows, and what becomes of records that it refuses. */
  rows?: RowFormat
  sinkOnError?: OnError
  /** Where the streams' values are no JSON (`definition.ts`). */
  sourceCodec?: PipelineDefinition['source_codec']
  sinkCodec?: PipelineDefinition['sink_codec']
  /** The sink's partitions, where records go by their keys; left out, each source partition has one of them. */
  partitions?: number
  job?: JobInput
}

/** Fetched bytes of one partition, from `position` on. */
export type RoundPartition = {
  partition: number
  /** Where records without a key, or all of them, go. */
  sinkPartition: number
  deadLetterPartition: number
  position: bigint
  /** Where the next fetch goes on: behind the last batch, or behind a gap at the end of what was asked for. */
  nextOffset: bigint
  /** Of a range that was planned: its end, which may lie inside of a batch. */
  until?: bigint
  /** Of these bytes the first `length` count. */
  bytes: ArrayBuffer
  length: number
  aborted: AbortedTransaction[]
  doubts?: Doubts
}

/** The first `length` bytes of `bytes` are the batch, for that partition of its topic. */
export type OutputBatch = { partition: number; bytes: ArrayBuffer; length: number; records: number }

/** What became of one partition's bytes: finished batches for the sink and the dead letters, and the counters (7 per step). */
export type PartitionOutcome = {
  partition: number
  nextOffset: bigint
  records: number
  sink: OutputBatch[]
  /** In place of `sink`, where the sink is no topic. */
  rows: Rows[]
  deadLetters: OutputBatch[]
  /** Of the records in `deadLetters`. */
  letterOffsets: bigint[]
  counts: Float64Array
}

export type ToLane =
  | { type: 'open'; chainId: number; chain: LaneChain }
  | { type: 'close'; chainId: number }
  /** Output buffers that have been written out; the lane uses them again. */
  | { type: 'recycle'; buffers: ArrayBuffer[] }
  | {
      type: 'run'
      chainId: number
      roundId: number
      partitions: RoundPartition[]
      nowMs: number
      /** By step. */ lostMax: number[]
      /** Of the outcomes together, about. */ outputBytesMax: number
    }

/** Records, by partition, whose policy wants another attempt. */
export type Retries = { partition: number; offsets: bigint[] }[]

export type FromLane =
  /** With the thread's id as the operating system knows it, 0 where it tells none. */
  | { type: 'ready'; threadId: number }
  | { type: 'opened'; chainId: number }
  | { type: 'refused'; chainId: number; step: number; message: string }
  /**
   * `inputs` are the buffers of what was run to its end, `rest` is what was left when the outcomes had become too large; `lost` counts
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
    }
  | { type: 'retry'; roundId: number; retries: Retries; inputs: ArrayBuffer[]; backoffMs: number; lost: number[] }
  | { type: 'trapped'; roundId: number; step: number; message: string }
  | { type: 'broken'; roundId: number; message: string; /** No repetition would mend it. */ isFinal: boolean }

/** What a lane is started with. `watch` is written by the chain around each call into a SmartModule. */
export type LaneData = { kernel: WebAssembly.Module; watch: SharedArrayBuffer }
