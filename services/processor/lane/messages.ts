/** What the main thread and a lane say to each other. Bytes travel as transferred ArrayBuffers, nothing is shared but the call watch. */
import type { InitDocument } from '../../../shared/smartmodule/abi.ts'
import type { SmartModuleKind, ExtismFunction } from '../../../shared/model/smartmodule-kind.ts'
import type { AbortedTransaction } from '../../../shared/kafka/protocol/aborted.ts'

/** A step as a lane needs it: the module compiled once per processor, posted by reference. */
export type LaneStep = {
  name: string
  version: string
  module: WebAssembly.Module
  kind: SmartModuleKind
  extismFunction?: ExtismFunction
  document: InitDocument
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
}

/** Fetched bytes of one partition, from `position` on. */
export type RoundPartition = {
  partition: number
  sinkPartition: number
  position: bigint
  /** Of these bytes the first `length` count. */
  bytes: ArrayBuffer
  length: number
  aborted: AbortedTransaction[]
}

/** The first `length` bytes of `bytes` are the batch. */
export type OutputBatch = { bytes: ArrayBuffer; length: number; records: number }

/** What became of one partition's bytes: finished batches for the sink and the dead letters, and the counters (7 per step). */
export type PartitionOutcome = {
  partition: number
  sinkPartition: number
  nextOffset: bigint
  records: number
  sink: OutputBatch[]
  deadLetters: OutputBatch[]
  counts: Float64Array
}

export type ToLane =
  | { type: 'open'; chainId: number; chain: LaneChain }
  | { type: 'close'; chainId: number }
  /** Output buffers that have been written out; the lane uses them again. */
  | { type: 'recycle'; buffers: ArrayBuffer[] }
  | { type: 'run'; chainId: number; roundId: number; partitions: RoundPartition[]; nowMs: number }

export type FromLane =
  | { type: 'ready' }
  | { type: 'opened'; chainId: number }
  | { type: 'refused'; chainId: number; step: number; message: string }
  /** `inputs` are the buffers that the round came in. */
  | { type: 'done'; roundId: number; outcomes: PartitionOutcome[]; inputs: ArrayBuffer[] }
  | { type: 'broken'; roundId: number; message: string; /** No repetition would mend it. */ isFinal: boolean }

/** What a lane is started with. `watch` is written by the chain around each call into a SmartModule. */
export type LaneData = { kernel: WebAssembly.Module; watch: Int32Array }
