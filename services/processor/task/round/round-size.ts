/**
 * How much of a round's output goes into one transaction. A slow transaction makes the next ones smaller, before one exceeds its timeout
 * and the round is fetched, run and written again at the same size.
 */
export type RoundSize = {
  /** Approximate limit for the output of the next round. */
  bytesMax(): number
  /** Reports how long a transaction took until it was ended or given up. */
  took(ms: number): void
}

const BYTES_MIN = 256 << 10
/** A transaction may last 15 s (`producer.ts`). */
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
