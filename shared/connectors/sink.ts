/**
 * The sink contract. A sink gets the output of a chain for one partition, already encoded in the format it asked for, with the source
 * offset of every row. It reports the outcome; it never retries forever and never drops a record by itself.
 */
import type { RowFormat } from './row-format.ts'

/**
 * Encoded rows. Row `i` ends at `ends[i]` and starts at the end of the row before it. `offsets[i]` is its source record's offset,
 * `times[i]` that record's time in milliseconds.
 */
export type Rows = { bytes: Uint8Array; count: number; ends: Uint32Array; offsets: Float64Array; times: Float64Array }

/**
 * Identifies one delivery permanently: the same range written again has the same identity, whichever processor writes it. `from` is
 * inclusive, `to` exclusive.
 */
export type Delivery = {
  runId: string
  topicId: string
  partition: number
  from: bigint
  to: bigint
  revision: number
  /** Revision at which positions were last reset, 0 for never. After a reset, the same range is a different delivery. */
  resetAt: number
  /** Opaque text, stored with the position by sinks that keep one. */
  note: string
  /** Offsets of the range whose records have become dead letters, or are about to: they are not among the rows. */
  deadLettered: readonly bigint[]
}

/** Returns the run's part of a delivery's name, for systems that identify deliveries by name. It changes with every reset. */
export const deliveryNameOf = ({ runId, resetAt }: Pick<Delivery, 'runId' | 'resetAt'>): string =>
  resetAt === 0 ? runId : `${runId}.${resetAt}`

/** A source record that the external system refuses because of its content. */
export type RefusedRecord = { offset: bigint; code: string; message: string }

/** The outcome of a delivery. */
export type Written =
  | { kind: 'delivered' }
  /**
   * Nothing was written, or nothing that a retry under the same name would duplicate. `hasProgressed`: a part was written and the next try
   * leaves it out, so that it need not wait as long as after failures in a row.
   */
  | { kind: 'retry'; afterMs: number; reason: string; hasProgressed?: boolean }
  /**
   * Because of these records. Nothing was written, or what was is remembered or replaced when the delivery is repeated without them, which
   * can succeed.
   */
  | { kind: 'at_fault'; records: RefusedRecord[] }
  /** The sink's own position differs from `from`: continue from the sink's position. */
  | { kind: 'moved'; reason: string }
  /** Nothing was written: the place's form has changed since the sink was opened. It is reopened, and the records are encoded again. */
  | { kind: 'changed'; reason: string }
  /** No retry can help: the pipeline fails with the reason. */
  | { kind: 'permanent'; reason: string }

/** Limits up to which rows gather before a write. The range is planned first, so that a repeat writes the same one. */
export type Boundaries = { bytesMax: number; recordsMax: number; intervalMs: number }

/** A position that a sink keeps: the next source offset, and the note of the delivery that set it. */
export type KeptPosition = { nextOffset: bigint; note: string }

/** An opened sink. */
export type OpenSink = {
  rows: RowFormat
  /** Set by sinks that name their writes by range; omitted by sinks that keep the position themselves. */
  boundaries?: Boundaries
  /** Returns the position that the sink itself keeps. Stores `start` if there is none, or if it is of a revision before `resetAt`. */
  position?(place: Pick<Delivery, 'runId' | 'topicId' | 'partition' | 'revision' | 'resetAt'>, start: KeptPosition): Promise<KeptPosition>
  write(delivery: Delivery, rows: Rows[], signal: AbortSignal): Promise<Written>
  close(): Promise<void>
}
