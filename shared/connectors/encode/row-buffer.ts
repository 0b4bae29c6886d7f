/**
 * Rows being encoded: one growing buffer, with the end and the source record of each row. It can return to a mark, because a record that
 * fails takes its other rows with it.
 * HOT: allocates nothing per record.
 */
import type { Rows } from '../sink.ts'

/** A buffer of encoded rows. Row `i` ends at `ends[i]`; `offsets[i]` and `times[i]` (milliseconds) are its source record's. */
export type RowBuffer = {
  bytes: Uint8Array
  used: number
  count: number
  ends: Uint32Array
  offsets: Float64Array
  times: Float64Array
  /** The mark: rows after it may still be dropped. */
  usedKept: number
  countKept: number
  /** Source partition of the rows' records. */
  partition: number
  /** For redriven records: the original partition and offset, by offset in the dead-letter topic. */
  originOf: ((offset: number) => { partition: number; offset: bigint } | undefined) | undefined
}

const FIRST_BYTES = 1 << 20
const FIRST_ROWS = 8192

/** Returns an empty buffer with room for 1 MiB and 8,192 rows; it grows as needed. */
export function createRowBuffer(): RowBuffer {
  return {
    bytes: new Uint8Array(FIRST_BYTES),
    used: 0,
    count: 0,
    ends: new Uint32Array(FIRST_ROWS),
    offsets: new Float64Array(FIRST_ROWS),
    times: new Float64Array(FIRST_ROWS),
    usedKept: 0,
    countKept: 0,
    partition: 0,
    originOf: undefined,
  }
}

/** Makes room for `length` more bytes; may replace `bytes` by a larger array. */
export function reserve(buffer: RowBuffer, length: number): void {
  if (buffer.used + length <= buffer.bytes.length) return
  const larger = new Uint8Array(Math.max(buffer.bytes.length * 2, buffer.used + length))
  larger.set(buffer.bytes.subarray(0, buffer.used))
  buffer.bytes = larger
}

/** Ends the current row, which began where the last one ended. `offset` and `timeMs` are its source record's. */
export function endRow(buffer: RowBuffer, offset: number, timeMs: number): void {
  if (buffer.count === buffer.ends.length) {
    const ends = new Uint32Array(buffer.ends.length * 2)
    ends.set(buffer.ends)
    buffer.ends = ends
    const offsets = new Float64Array(buffer.offsets.length * 2)
    offsets.set(buffer.offsets)
    buffer.offsets = offsets
    const times = new Float64Array(buffer.times.length * 2)
    times.set(buffer.times)
    buffer.times = times
  }
  buffer.ends[buffer.count] = buffer.used
  buffer.times[buffer.count] = timeMs
  buffer.offsets[buffer.count++] = offset
}

/** Sets the mark: `dropRows` keeps the rows written so far. */
export function keepRows(buffer: RowBuffer): void {
  buffer.usedKept = buffer.used
  buffer.countKept = buffer.count
}

/** Drops the rows written after the mark. */
export function dropRows(buffer: RowBuffer): void {
  buffer.used = buffer.usedKept
  buffer.count = buffer.countKept
}

/** Empties the buffer and resets the mark. */
export function clearRows(buffer: RowBuffer): void {
  buffer.used = 0
  buffer.count = 0
  keepRows(buffer)
}

/** Returns the rows in new arrays, and empties the row buffer. */
export function takeRows(buffer: RowBuffer): Rows {
  const rows = {
    bytes: buffer.bytes.slice(0, buffer.used),
    count: buffer.count,
    ends: buffer.ends.slice(0, buffer.count),
    offsets: buffer.offsets.slice(0, buffer.count),
    times: buffer.times.slice(0, buffer.count),
  }
  clearRows(buffer)
  return rows
}
