/**
 * Rows as they are being encoded: one growing buffer, where each row ends, which record it came from. A mark can be returned to, because
 * a record that turns out to be at fault takes its siblings with it.
 * HOT: nothing is made per record.
 */
import type { Rows } from '../sink.ts'

export type RowBuffer = {
  bytes: Uint8Array
  used: number
  count: number
  ends: Uint32Array
  offsets: Float64Array
  times: Float64Array
  /** What was kept: behind it lies what may still be dropped. */
  usedKept: number
  countKept: number
  /** Of the source, whose records the rows are of. */
  partition: number
  /** Where a record was first that comes again from the dead letters, by its offset there. */
  originOf: ((offset: number) => { partition: number; offset: bigint } | undefined) | undefined
}

const FIRST_BYTES = 1 << 20
const FIRST_ROWS = 8192

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

/** Makes sure of `length` more bytes; `bytes` may be another array afterwards. */
export function reserve(buffer: RowBuffer, length: number): void {
  if (buffer.used + length <= buffer.bytes.length) return
  const larger = new Uint8Array(Math.max(buffer.bytes.length * 2, buffer.used + length))
  larger.set(buffer.bytes.subarray(0, buffer.used))
  buffer.bytes = larger
}

/** Ends the row that was written since the last one. */
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

export function keepRows(buffer: RowBuffer): void {
  buffer.usedKept = buffer.used
  buffer.countKept = buffer.count
}

/** Back to what was kept last. */
export function dropRows(buffer: RowBuffer): void {
  buffer.used = buffer.usedKept
  buffer.count = buffer.countKept
}

export function clearRows(buffer: RowBuffer): void {
  buffer.used = 0
  buffer.count = 0
  keepRows(buffer)
}

/** The rows in buffers of their own; the row buffer begins anew. */
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
