/**
 * How soon small transactions of a task follow each other, since each costs the broker. While it is still ending one, it delays the next
 * one's first batch by a fixed time (`add.partitions.to.txn.retry.backoff.ms`, 20 ms by default, KIP-890). A short pause before the next
 * one costs less. Its length is adapted to whether first batches are delayed.
 */
export type CommitPace = {
  /** How long to wait for more after a transaction of so many bytes, in milliseconds; not above 0 once long enough has passed. */
  waitMs(bytes: number): number
  /** Milliseconds since a transaction has ended; infinite before the first one. */
  sinceMs(): number
  /** A transaction of so many bytes has ended. `firstMs`: how long its first batches took; undefined for one without any. */
  ended(bytes: number, firstMs: number | undefined): void
}

/** A transaction of more is followed by the next one at once. */
const SMALL_BYTES = 256 << 10
const MIN_MS = 12
const MAX_MS = 30
/** A small batch that took this long was delayed by the broker. */
const DELAYED_MS = 18
const SLOWER = 1.3
const QUICKER_MS = 0.2

/** `now`: in milliseconds, by a clock that only goes forward. */
export function createCommitPace(now = () => performance.now()): CommitPace {
  let interval = MIN_MS
  let endedAt = Number.NEGATIVE_INFINITY
  const sinceMs = () => now() - endedAt
  return {
    waitMs: (bytes) => (bytes < SMALL_BYTES ? interval - sinceMs() : 0),
    sinceMs,
    ended(bytes, firstMs) {
      endedAt = now()
      if (firstMs === undefined || bytes >= SMALL_BYTES) return
      interval = firstMs >= DELAYED_MS ? Math.min(MAX_MS, interval * SLOWER) : Math.max(MIN_MS, interval - QUICKER_MS)
    },
  }
}
