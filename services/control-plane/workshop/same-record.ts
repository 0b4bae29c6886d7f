/** When two records of a trace are the same. */
import type { TracedRecord } from './jobs.ts'

const isSameBytes = (a: Uint8Array | null, b: Uint8Array | null): boolean =>
  a === null || b === null ? a === b : Buffer.compare(a, b) === 0

/** Time, key, headers and value are compared; `bare` leaves out what does not count of a value. */
export const isSameRecord = (a: TracedRecord, b: TracedRecord, bare = (value: Uint8Array | null) => value): boolean =>
  a.timestamp === b.timestamp &&
  isSameBytes(a.key, b.key) &&
  isSameBytes(bare(a.value), bare(b.value)) &&
  a.headers.length === b.headers.length &&
  a.headers.every(([name, value], at) => name === b.headers[at]![0] && isSameBytes(value, b.headers[at]![1]))
