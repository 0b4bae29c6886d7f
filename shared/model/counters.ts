/** The counters of a step and of a whole chain, in the order in which lanes keep them. Pure; loaded by every lane. */
import type { Counters } from './observed.ts'

/** The counters of one step, in order; all but the last count distinct source records. */
export const COUNTERS = ['in', 'out', 'filtered', 'skipped', 'failed', 'absorbed', 'emitted'] as const
/** Index of each counter within a step's. */
export const COUNTER = { in: 0, out: 1, filtered: 2, skipped: 3, failed: 4, absorbed: 5, emitted: 6 } as const satisfies Record<
  (typeof COUNTERS)[number],
  number
>
/** Number of counters per step. */
export const COUNTER_COUNT = COUNTERS.length

/** Whether each record that came in is counted once among what became of them. */
export const isBalanced = ({ in: input, out, filtered, skipped, failed, absorbed }: Counters): boolean =>
  input === out + filtered + skipped + failed + absorbed

/** The counters by name, from counts in the order of COUNTERS. */
export function namedCounters(counts: ArrayLike<number>): Counters {
  return {
    in: counts[0]!,
    out: counts[1]!,
    filtered: counts[2]!,
    skipped: counts[3]!,
    failed: counts[4]!,
    absorbed: counts[5]!,
    emitted: counts[6]!,
  }
}
