/**
 * How soon small rounds follow each other. While a broker is still ending one transaction, it delays the next one's first batch by a
 * fixed time (`add.partitions.to.txn.retry.backoff.ms`, 20 ms by default, KIP-890). A short pause before the round costs less. Its length
 * is adapted to whether first batches are delayed.
 */
export type CommitPace = {
  /** Wait from the end of one transaction to the next round. */
  intervalMs(): number
  /** Reports how long the first batches of a transaction took. */
  firstTook(ms: number): void
}

const MIN_MS = 12
const MAX_MS = 30
/** A small batch that took this long was delayed by the broker. */
const DELAYED_MS = 18
const SLOWER = 1.3
const QUICKER_MS = 0.2

export function createCommitPace(): CommitPace {
  let interval = MIN_MS
  return {
    intervalMs: () => interval,
    firstTook(ms) {
      interval = ms >= DELAYED_MS ? Math.min(MAX_MS, interval * SLOWER) : Math.max(MIN_MS, interval - QUICKER_MS)
    },
  }
}
