/**
 * How soon small rounds follow each other. A broker that is still ending one transaction makes the next one's first batch wait for a
 * fixed time (`add.partitions.to.txn.retry.backoff.ms`, 20 ms by default, KIP-890): a moment's patience before it costs less. What the
 * moment is shows from the batches that had to wait.
 */
export type CommitPace = {
  /** From the end of one transaction to the next round. */
  intervalMs(): number
  /** So long the first batches of a transaction were on their way. */
  firstTook(ms: number): void
}

const MIN_MS = 12
const MAX_MS = 30
/** Of a small batch: the broker let it wait. */
const HELD_MS = 18
const SLOWER = 1.3
const QUICKER_MS = 0.2

export function createCommitPace(): CommitPace {
  let interval = MIN_MS
  return {
    intervalMs: () => interval,
    firstTook(ms) {
      interval = ms >= HELD_MS ? Math.min(MAX_MS, interval * SLOWER) : Math.max(MIN_MS, interval - QUICKER_MS)
    },
  }
}
