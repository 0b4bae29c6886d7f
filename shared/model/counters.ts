/** The counters of a step and of a whole chain, in the order in which lanes keep them. Pure; loaded by every lane. */
import type { Counters } from './definition.ts'

/** Counters of one step, in their order, all of distinct source records but the last. */
export const COUNTERS = ['in', 'out', 'filtered', 'skipped', 'failed', 'absorbed', 'emitted'] as const
export const COUNTER_COUNT = COUNTERS.length

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
