/**
 * How much of a round's output goes into one transaction. One that took a good part of the broker's patience makes the next ones smaller,
 * before a transaction outruns its time and is read, run and written all over again, as large as before.
 */
export type RoundSize = {
  /** Of the output of the next round, about. */
  bytesMax(): number
  /** A transaction was ended, or given up, after so long. */
  took(ms: number): void
}

const BYTES_MIN = 256 << 10
/** Of the 15 s that a transaction may last (`producer.ts`). */
const SLOW_MS = 4000
const QUICK_MS = 1000

export function createRoundSize(largest: number): RoundSize {
  let bytes = largest
  return {
    bytesMax: () => bytes,
    took(ms) {
      if (ms >= SLOW_MS) bytes = Math.max(BYTES_MIN, bytes >> 1)
      else if (ms <= QUICK_MS) bytes = Math.min(largest, bytes * 2)
    },
  }
}
