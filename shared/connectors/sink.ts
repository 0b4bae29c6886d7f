/**
 * The sink contract. A sink gets what a chain left of one partition's records, already encoded as it wants them, with the offsets they came
 * from. It says what became of them; it never retries for ever and never drops anything by itself.
 */
import type { RowFormat } from './row-format.ts'

/**
 * Encoded rows. Row `i` ends at `ends[i]` and starts where the one before it ended; `offsets[i]` is its source record's offset, `times[i]`
 * that record's time in milliseconds.
 */
export type Rows = { bytes: Uint8Array; count: number; ends: Uint32Array; offsets: Float64Array; times: Float64Array }

/** Names one delivery for ever: the same range written again has the same name, whoever writes it. `from` is included, `to` is not. */
export type Delivery = {
  runId: string
  topicId: string
  partition: number
  from: bigint
  to: bigint
  revision: number
  /** Positions were set anew with this revision, 0 for never: what came before it is another delivery, also of the same range. */
  resetAt: number
  /** Kept with the position by sinks that keep one; opaque. */
  note: string
}

/** What names a run's deliveries to systems that know them by name: another name after each reset. */
export const deliveryNameOf = ({ runId, resetAt }: Pick<Delivery, 'runId' | 'resetAt'>): string =>
  resetAt === 0 ? runId : `${runId}.${resetAt}`

/** A source record that the other system refuses for what it is. */
export type RefusedRecord = { offset: bigint; code: string; message: string }

export type Written =
  | { kind: 'delivered' }
  /** Nothing, or something that a repetition under the same name does not double, was written. */
  | { kind: 'retry'; afterMs: number; reason: string }
  /** Nothing was written; without these records it would be. */
  | { kind: 'at_fault'; records: RefusedRecord[] }
  /** The sink's own position is another: go on from there. */
  | { kind: 'moved'; reason: string }
  /** No repetition mends it: the pipeline fails with the reason. */
  | { kind: 'permanent'; reason: string }

/** Where rows gather before they are written. The range is planned first, so that a replay writes the same one. */
export type Boundaries = { bytesMax: number; recordsMax: number; intervalMs: number }

export type KeptPosition = { nextOffset: bigint; note: string }

export type OpenSink = {
  rows: RowFormat
  /** Sinks whose writes are named by their range; left out by those that keep the position themselves. */
  boundaries?: Boundaries
  /** The position that the sink itself keeps; makes it, at `start`, where there is none, or one of a revision before `resetAt`. */
  position?(place: Pick<Delivery, 'runId' | 'topicId' | 'partition' | 'revision' | 'resetAt'>, start: KeptPosition): Promise<KeptPosition>
  write(delivery: Delivery, rows: Rows[], signal: AbortSignal): Promise<Written>
  close(): Promise<void>
}
