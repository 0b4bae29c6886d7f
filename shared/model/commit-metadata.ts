/** The metadata of a committed offset: counters per step of the last revision, totals over all revisions, and a planned range. Pure. */
import { z } from 'zod'
import { COUNTER_COUNT } from './counters.ts'

/** Counters in the order of COUNTERS. */
const Row = z.array(z.number()).length(COUNTER_COUNT)
/**
 * `r` is the revision, `c` the counters of its steps, `t` the totals of the whole chain over all revisions. `p`: revision `r` is writing
 * one range, from the committed offset up to this one (exclusive); `d`: the range's dead letters are in their topic from this offset on.
 * `i`: the id of the topic that the offset is of. A commit names the topic only, which may be another one by the time it arrives.
 */
export const CommitMetadata = z.object({
  v: z.literal(1),
  r: z.number(),
  c: z.array(Row),
  t: Row.optional(),
  p: z.string().optional(),
  d: z.string().optional(),
  i: z.string().optional(),
})
/** Parsed metadata of a committed offset. */
export type CommitMetadata = z.infer<typeof CommitMetadata>

/** The parsed metadata; undefined for text that is not this service's metadata. */
export function parseCommitMetadata(text: string): CommitMetadata | undefined {
  try {
    return CommitMetadata.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

/**
 * The metadata without its planned range and its topic's id, for a position set through the API, where no plan holds and which is one of
 * the topic as it is now. Empty for unknown metadata.
 */
export function withoutPlan(text: string): string {
  const known = parseCommitMetadata(text)
  return known ? JSON.stringify({ ...known, p: undefined, d: undefined, i: undefined }) : ''
}

/** `metadata` with a range that is planned up to `to` and not written yet. Throws a SyntaxError when `metadata` is not JSON. */
export const withPlan = (metadata: string, to: bigint, deadLettersFrom: bigint | undefined): string =>
  JSON.stringify({ ...JSON.parse(metadata), p: String(to), ...(deadLettersFrom === undefined ? {} : { d: String(deadLettersFrom) }) })
