/** Turns zod issues into faults with JSON pointers, and checks what zod does not: nesting, and integers that JavaScript rounds. */
import type { ZodError, z } from 'zod'
import { invalidRequest, type Detail } from '../service-error.ts'
import { doubleOf, isRawJSON, parseAsWritten } from '../../../shared/model/exact-json.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { hasLongNumber } from './json-body.ts'

/** A path as a JSON pointer (RFC 6901). */
export function pointer(path: readonly PropertyKey[], root = ''): string {
  return path.reduce<string>((text, part) => `${text}/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`, root)
}

type Issue = ZodError['issues'][number]

/** How deep in the value an alternative's deepest fault is; unknown members do not count. */
const depthOf = (issues: readonly { code?: string; path: readonly PropertyKey[] }[]): number =>
  issues.reduce((most, { code, path }) => (code === 'unrecognized_keys' ? most : Math.max(most, path.length)), 0)

function detailsOf(issue: Issue, root: string): Detail[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ path: pointer([...issue.path, key], root), message: 'is not a known member' }))
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

/** The parsed value, or every fault at once. */
export function validated<T extends z.ZodType>(schema: T, value: unknown, root = ''): { value: z.output<T> } | { details: Detail[] } {
  const parsed = schema.safeParse(value, { reportInput: true })
  if (parsed.success) return { value: parsed.data }
  return { details: parsed.error.issues.flatMap((issue) => detailsOf(issue, root)).slice(0, LIMITS.details_max) }
}

/** Whether the path is at or below a member that the pattern names. */
const isBelow = (at: readonly PropertyKey[], pattern: readonly string[]): boolean =>
  at.length >= pattern.length && pattern.every((part, index) => part === '*' || part === at[index])

/**
 * The body with numbers as JavaScript's own, except in `exactMembers`, which keep their digits. Throws 400 naming every other integer that
 * JavaScript would round, because a different number would be stored.
 */
export function withDigits(text: string, body: unknown, exactMembers: readonly string[] = []): unknown {
  if (exactMembers.length === 0 && !hasLongNumber(text)) return body
  const exact = exactMembers.map((path) => path.slice(1).split('/'))
  const details: Detail[] = []
  // One path for all, because most values need none.
  const at: PropertyKey[] = []
  const below = (name: PropertyKey, value: unknown): unknown => {
    at.push(name)
    const read = plain(value)
    at.pop()
    return read
  }
  const plain = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null || exact.some((pattern) => isBelow(at, pattern))) return value
    if (isRawJSON(value)) {
      const number = doubleOf(value)
      if (number === undefined && details.length < LIMITS.details_max)
        details.push({ path: pointer(at), message: 'is a number that would lose digits' })
      return number
    }
    if (Array.isArray(value)) return value.map((each, index) => below(index, each))
    for (const name of Object.keys(value)) {
      const own = (value as Record<string, unknown>)[name]
      if (typeof own === 'object') (value as Record<string, unknown>)[name] = below(name, own)
    }
    return value
  }
  const read = plain(parseAsWritten(text))
  if (details.length > 0) throw invalidRequest(details)
  return read
}

/** Throws 400 for a body that nests so deep, if that is beyond the limit. */
export function assertDepth(depth: number): void {
  if (depth > LIMITS.nesting_max) throw invalidRequest([{ path: '', message: `the body nests deeper than ${LIMITS.nesting_max} levels` }])
}

/** Throws when a body nests deeper than the limit. Iterative, so that no body can exhaust the stack. */
export function assertNesting(body: unknown): void {
  let level: unknown[] = [body]
  for (let depth = 0; level.length > 0; depth++) {
    const next: unknown[] = []
    for (const value of level)
      if (typeof value === 'object' && value !== null)
        for (const child of Object.values(value)) if (typeof child === 'object' && child !== null) next.push(child)
    if (next.length > 0) assertDepth(depth + 2)
    level = next
  }
}
