/** Keeps a job to its rate, which holds from the first record on: what came in one batch waits for its turn as a whole. */

/** A job with a rate limit fetches little at once. */
const SLOW_ROUND_BYTES = 64 << 10
/** In short steps, so that a cancelled job ends soon. */
const STEP_MS = 100

export type JobRate = {
  roundBytesMax: number
  /** Waits until a round of so many records, begun at `startedAt`, may be written. */
  wait(records: number, startedAt: number): Promise<void>
}

export function createJobRate(recordsPerSecond: number | null, roundBytesMax: number, isMine: () => boolean, now: () => number): JobRate {
  if (recordsPerSecond === null) return { roundBytesMax, wait: () => Promise.resolve() }
  return {
    roundBytesMax: SLOW_ROUND_BYTES,
    async wait(records, startedAt) {
      const until = startedAt + (records * 1000) / recordsPerSecond
      while (isMine() && now() < until) await new Promise((resolve) => setTimeout(resolve, Math.min(STEP_MS, until - now())))
    },
  }
}
