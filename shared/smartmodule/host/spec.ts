/** What a chain is made of, what it runs over, and what it answers; the errors it ends with. No code but those. */
import type { OnError } from '../../model/definition.ts'
import type { ExtismFunction, SmartModuleKind } from '../../model/smartmodule-kind.ts'
import type { InitDocument } from '../abi.ts'
import type { RowTarget } from './rows.ts'

export type StepSpec = {
  module: WebAssembly.Module
  kind: SmartModuleKind
  extismFunction?: ExtismFunction
  document: InitDocument
  name?: string
  onError?: OnError
}

/**
 * `reframe_schema_id`: for a chain without steps, the schema id its values carry afterwards. `partitions`: records go to the sink's
 * partition of their key; left out, all stay together. `rows`: takes what the last step left, in place of batches for a topic.
 * `on_error` is for what no step is to blame for.
 */
export type ChainSpec = { steps: StepSpec[]; reframe_schema_id?: number; on_error?: OnError; partitions?: number; rows?: RowTarget }

/** One source batch, inflated. `firstDelta` cuts off what lies before the position. `sinkPartition` is for records without a key. */
export type SourceBatch = {
  section: Uint8Array
  recordCount: number
  lastOffsetDelta: number
  firstDelta: number
  baseOffset: bigint
  baseTimestamp: bigint
  maxTimestamp: bigint
  attributes: number
  partition: number
  sinkPartition: number
}

/** What earlier runs over a partition have shown: where calls are to be cut, records known to be at fault, failed attempts by offset. */
export type Doubts = {
  cuts: readonly bigint[]
  poison: readonly { offset: bigint; step: number; message: string }[]
  attempts: ReadonlyMap<bigint, number>
  /** Records that the sink would not take, by offset. */
  refused: ReadonlyMap<bigint, { code: string; message: string }>
  /** Records whose dead letters are written already: they fail again, whatever the chain makes of them now. */
  lettered: ReadonlySet<bigint>
}

/** What runs over one partition add up to. */
export type ChainOutput = {
  counts: Float64Array
  failures: RecordFailure[]
  /** Offsets of records whose policy wants another attempt: then nothing of the round counts. */
  retries: bigint[]
  /** By step, records that cost an instance; past `lostMax` the chain gives up. */
  lost: number[]
  lostMax: readonly number[]
}

/** Where finished output batches go: called when a batch is full; the kernel still holds it, selected. */
export type BatchSink = {
  /** Batches are cut at this size. */ batchBytesMax: number
  /** What no batch may exceed, a record alone in it included. */ recordBytesMax: number
  seal(): void
}

/** The source's own bytes are damaged: nothing of ours or of an author's can be at fault. */
export class CorruptBatch extends Error {}

/** Too many records in a row cost a SmartModule its instance. */
export class TooManyTraps extends Error {
  readonly step: number
  constructor(step: number, message: string) {
    super(message)
    this.step = step
  }
}

/** A source record that failed for good, and where. `step` counts from 0; `attempts` are all that were made, the last one included. */
export type RecordFailure = { delta: number; step: number; code: string; message: string; attempts: number }
