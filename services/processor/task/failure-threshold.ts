/**
 * Detects a bad deploy: within a minute, more than a given share of at least 1,000 records failed. Checked before a round is written, so
 * that the pipeline pauses with a reason instead of filling a topic with dead letters.
 */
import { Interrupted } from '../interruption.ts'

export type FailureThreshold = {
  /**
   * Adds a round: per partition where it ends, its records, and how many of them failed. A round that comes again is not counted again.
   * Throws `threshold_passed` when the share was passed; then nothing of the round may be written.
   */
  check(round: readonly [partition: number, nextOffset: bigint, records: number, failed: number][]): void
}

/** Below so many records a share says nothing. */
const RECORDS_MIN = 1000
const WINDOW_SECONDS = 60

/** A `share` of 1 or more is never exceeded. `now`: in milliseconds, by a clock that only goes forward. */
export function createFailureThreshold(share: number, now = () => performance.now()): FailureThreshold {
  /** One bucket per second. */
  const buckets: { second: number; records: number; failed: number }[] = []
  /** By partition, the offset up to which records were counted, and how many of the last round had failed. */
  const counted = new Map<number, { to: bigint; failed: number }>()
  return {
    check(round) {
      let records = 0
      let failed = 0
      for (const [partition, nextOffset, own, ownFailed] of round) {
        const known = counted.get(partition)
        if (!known || nextOffset > known.to) {
          counted.set(partition, { to: nextOffset, failed: ownFailed })
          records += own
          failed += ownFailed
        } else if (ownFailed > known.failed) {
          // The round is repeated because the sink refused some of its records: count only the new failures.
          failed += ownFailed - known.failed
          known.failed = ownFailed
        }
      }
      const second = Math.floor(now() / 1000)
      while (buckets.length > 0 && buckets[0]!.second <= second - WINDOW_SECONDS) buckets.shift()
      let sumRecords = records
      let sumFailed = failed
      for (const bucket of buckets) {
        sumRecords += bucket.records
        sumFailed += bucket.failed
      }
      if (sumRecords >= RECORDS_MIN && sumFailed > sumRecords * share)
        throw new Interrupted(
          'threshold_passed',
          `paused: ${sumFailed} of the last ${sumRecords} records failed, more than the threshold of ${Math.round(share * 100)} %; fix or replace the SmartModule, then resume`,
        )
      const last = buckets.at(-1)
      if (last?.second === second) {
        last.records += records
        last.failed += failed
      } else buckets.push({ second, records, failed })
    },
  }
}
