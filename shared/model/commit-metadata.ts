/** What travels in the metadata of a committed offset: counters per step of the last revision, and of the whole chain over all. Pure. */
import { z } from 'zod'
import { COUNTER_COUNT } from './counters.ts'

/**
 * `r` is the revision, `c` the counters of its steps, `t` those of the whole chain over all revisions. `p`: records up to this offset
 * are being written as one range by revision `r`, whose start is the committed offset; `d`: dead letters of the range lie in their topic
 * from this offset on.
 */
const Row = z.array(z.number()).length(COUNTER_COUNT)
export const CommitMetadata = z.object({
  v: z.literal(1),
  r: z.number(),
  c: z.array(Row),
  t: Row.optional(),
  p: z.string().optional(),
  d: z.string().optional(),
})
export type CommitMetadata = z.infer<typeof CommitMetadata>

/** Undefined for what is no metadata of ours. */
export function parseCommitMetadata(text: string): CommitMetadata | undefined {
  try {
    return CommitMetadata.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

/** The counters alone, for a position that is set from outside: what was planned from another one is not. Empty for what is not ours. */
export function withoutPlan(text: string): string {
  const known = parseCommitMetadata(text)
  return known ? JSON.stringify({ ...known, p: undefined, d: undefined }) : ''
}

/** The metadata of a range that is planned and not written yet. */
export const withPlan = (metadata: string, to: bigint, lettersFrom: bigint | undefined): string =>
  JSON.stringify({ ...JSON.parse(metadata), p: String(to), ...(lettersFrom === undefined ? {} : { d: String(lettersFrom) }) })
