/** The counters that travel in the metadata of a committed offset: per step of the last revision, and of the whole chain over all. Pure. */
import { z } from 'zod'
import type { Counters } from './definition.ts'

/** Counters of one step, in their order, all of distinct source records but the last. */
export const COUNTERS = ['in', 'out', 'filtered', 'skipped', 'failed', 'absorbed', 'emitted'] as const
export const COUNTER_COUNT = COUNTERS.length

/** `r` is the revision, `c` the counters of its steps, `t` those of the whole chain over all revisions. */
const Row = z.array(z.number()).length(COUNTER_COUNT)
export const CommitMetadata = z.object({ v: z.literal(1), r: z.number(), c: z.array(Row), t: Row.optional() })
export type CommitMetadata = z.infer<typeof CommitMetadata>

/** Undefined for what is no metadata of ours. */
export function parseCommitMetadata(text: string): CommitMetadata | undefined {
  try {
    return CommitMetadata.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

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
