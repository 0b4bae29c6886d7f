/** Keeps a job to its rate, which holds from the first record on: a large batch is run about a second's worth at a time. */

/** A job with a rate limit fetches little at once. */
const SLOW_ROUND_BYTES = 64 << 10
/** In short steps, so that a cancelled job ends soon. */
const STEP_MS = 100

export type JobRate = {
  roundBytesMax: number
  /** So many records of each of a round's partitions are run at once; undefined: all of them. */
  recordsMax(partitions: number): number | undefined
  /** Waits until a round of so many records, begun at `startedAt` (of `performance.now`), may be written. */
  wait(records: number, startedAt: number): Promise<void>
}

export function createJobRate(recordsPerSecond: number | null, roundBytesMax: number, isAtWork: () => boolean): JobRate {
  if (recordsPerSecond === null) return { roundBytesMax, recordsMax: () => undefined, wait: () => Promise.resolve() }
  return {
    roundBytesMax: SLOW_ROUND_BYTES,
    recordsMax: (partitions) => Math.ceil(recordsPerSecond / partitions),
    async wait(records, startedAt) {
      const until = startedAt + (records * 1000) / recordsPerSecond
      while (isAtWork() && performance.now() < until)
        await new Promise((resolve) => setTimeout(resolve, Math.min(STEP_MS, until - performance.now())))
    },
  }
}
