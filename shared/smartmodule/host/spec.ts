/** Types of a chain: its steps, its input and its output, and the errors that end it. The only code is those errors. */
import type { OnError } from '../../model/definition.ts'
import type { ExtismFunction, SmartModuleKind } from '../../model/smartmodule-kind.ts'
import type { LogLevel, Measure } from '../../model/telemetry.ts'
import type { InitDocument } from '../abi.ts'
import type { SendRequest } from '../../model/plug-in-http.ts'
import type { RowTarget } from './rows.ts'

/** Another version of a step, for the records of a share of the keys; `maxFailing`: the share of them that it may fail. */
export type CanarySpec = Pick<StepSpec, 'module' | 'kind' | 'extismFunction' | 'document'> & { share: number; maxFailing: number }

/** One step of a chain; `name` appears in failures, `onError` defaults to the chain's `on_error`. */
export type StepSpec = {
  module: WebAssembly.Module
  kind: SmartModuleKind
  extismFunction?: ExtismFunction
  document: InitDocument
  name?: string
  onError?: OnError
  canary?: CanarySpec
}

/**
 * What a chain is opened with. `reframe_schema_id`: the schema id that a chain without steps writes into its values. `partitions`: the
 * number of sink partitions, over which records are spread by key; without it, all go to one. `rows`: takes the last step's output instead
 * of batches for a topic. `needs_keys`: that topic takes no record without a key. `send`: sends the HTTP requests of plug-ins. `on_error`:
 * the policy for failures outside of steps and for steps without a policy.
 */
export type ChainSpec = {
  steps: StepSpec[]
  reframe_schema_id?: number
  on_error?: OnError
  partitions?: number
  rows?: RowTarget
  needs_keys?: boolean
  send?: SendRequest
}

/**
 * One source batch, decompressed. Records below `firstDelta` (before the position) are left out; keyless ones go to `sinkPartition`.
 * `isDerived`: the records are the output of an earlier step, and several may have one offset.
 */
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
  isDerived?: boolean
}

/** What earlier runs over a partition found: offsets at which to cut calls, records known to be at fault, failed attempts by offset. */
export type KnownFailures = {
  cuts: readonly bigint[]
  poison: readonly { offset: bigint; step: number; message: string }[]
  attempts: ReadonlyMap<bigint, number>
  /** Records that the sink refused, by offset. */
  refused: ReadonlyMap<bigint, { code: string; message: string }>
  /** Offsets of records whose dead letters are already written: they fail again, regardless of the chain's output. */
  deadLettered: ReadonlySet<bigint>
}

/** The accumulated results of the runs over one partition. */
export type ChainOutput = {
  counts: Float64Array
  failures: RecordFailure[]
  /** Offsets of records that their policy retries; if there are any, the whole round is discarded. */
  retries: bigint[]
  /** By step, the number of records that cost an instance; past `lostMax` the chain throws TooManyTraps. */
  lost: number[]
  lostMax: readonly number[]
}

/** Where the lines and numbers of a chain's steps go; `step` counts from 0. */
export type StepTelemetry = {
  log(step: number, level: LogLevel, line: string): void
  measure(step: number, kind: Measure['kind'], name: string, value: number): void
}
/** Keeps nothing. */
export const NO_TELEMETRY: StepTelemetry = { log: () => {}, measure: () => {} }

/** Takes finished output batches: `seal` is called when a batch is full, while the kernel still has it selected. */
export type BatchSink = {
  /** Batches are cut at this size in bytes. */
  batchBytesMax: number
  /** Limit in bytes for any batch, even with a single record. */
  recordBytesMax: number
  seal(): void
}

/** Thrown when the source's own bytes are damaged: neither this service nor a SmartModule is at fault. */
export class CorruptBatch extends Error {}

/** Thrown when too many records cost a SmartModule its instance. `step` counts from 0. */
export class TooManyTraps extends Error {
  readonly step: number
  constructor(step: number, message: string) {
    super(message)
    this.step = step
  }
}

/**
 * A source record that failed, and where. `step` counts from 0; `attempts` includes the last one; `isCanarys`: it failed in the step's
 * canary.
 */
export type RecordFailure = { delta: number; step: number; code: string; message: string; attempts: number; isCanarys?: true }
