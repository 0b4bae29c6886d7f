/** Turns zod issues into faults with JSON pointers. */
import { z, type ZodError } from 'zod'
import { invalidRequest, type Detail } from '../service-error.ts'
import { pointer } from '../../../shared/model/json-pointer.ts'
import { faultWords } from './fault-words.ts'
import { LIMITS } from '../../../shared/model/limits.ts'

type Issue = ZodError['issues'][number]

/** How deep in the value an alternative's deepest fault is; unknown members do not count. */
const depthOf = (issues: readonly { code?: string; path: readonly PropertyKey[] }[]): number =>
  issues.reduce((most, { code, path }) => (code === 'unrecognized_keys' ? most : Math.max(most, path.length)), 0)

function detailsOf(issue: Issue, root: string): Detail[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys
      .slice(0, LIMITS.details_max)
      .map((key) => ({ path: pointer([...issue.path, key], root), message: 'is not a known member' }))
  // A name that is none: what is wrong with it is said of the key.
  if (issue.code === 'invalid_key')
    return [{ path: pointer(issue.path, root), message: `the name ${issue.issues[0]?.message ?? 'is not valid'}` }]
  if (issue.code === 'invalid_union') {
    // Report the closest alternative: the one whose fault is deepest. If none got inside the value, use the union's own message, if any.
    const closest = issue.errors.toSorted((a, b) => depthOf(b) - depthOf(a) || a.length - b.length)[0]
    const isNamed = issue.message !== 'Invalid input'
    if (closest && (depthOf(closest) > 0 || !isNamed))
      return closest.flatMap((each) => detailsOf({ ...each, path: [...issue.path, ...each.path] } as Issue, root))
  }
  if (issue.code === 'invalid_type' && issue.input === undefined) return [{ path: pointer(issue.path, root), message: 'is required' }]
  return [{ path: pointer(issue.path, root), message: issue.message }]
}

/** Returns the parsed value, or its faults: no more than are shown, because putting a fault into words takes longer than finding it. */
export function validated<T extends z.ZodType>(schema: T, value: unknown, root = ''): { value: z.output<T> } | { details: Detail[] } {
  // As `safeParse` does, which words each of them.
  const context = { async: false, reportInput: true, error: faultWords }
  const parsed = schema._zod.run({ value, issues: [] }, context)
  if (parsed instanceof Promise) throw new Error('the schema has an asynchronous check')
  if (parsed.issues.length === 0) return { value: parsed.value as z.output<T> }
  const details: Detail[] = []
  for (const each of parsed.issues) {
    details.push(...detailsOf(z.core.util.finalizeIssue(each, context, z.core.config()) as Issue, root))
    if (details.length >= LIMITS.details_max) break
  }
  return { details: details.slice(0, LIMITS.details_max) }
}

/** Throws 400 for a body that nests so deep, if that is beyond the limit. */
export function assertDepth(depth: number): void {
  if (depth > LIMITS.nesting_max) throw invalidRequest([{ path: '', message: `the body nests deeper than ${LIMITS.nesting_max} levels` }])
}
