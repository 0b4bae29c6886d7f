/** What a change would change, member by member, as plans show it. */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Difference } from '../../../shared/api/common.ts'
import { pointer } from '../../../shared/model/json-pointer.ts'

type Part = Record<string, unknown>

/** Texts beyond this are shown by their hash. */
const SHOWN_CHARACTERS = 500

const isPlain = (value: unknown): value is Part => typeof value === 'object' && value !== null && !Array.isArray(value)
const arePlain = (value: unknown): value is Part[] => Array.isArray(value) && value.every(isPlain)

const hashOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`

function shown(value: unknown): unknown {
  if (typeof value === 'string' && value.length > SHOWN_CHARACTERS) return hashOf(value)
  return value ?? null
}

/** Of a value with more as JSON, a plan for many resources shows the hash. */
const SHOWN_JSON_CHARACTERS = 16 << 10

function abridgedValue(value: unknown): unknown {
  const text = JSON.stringify(value)
  return text.length > SHOWN_JSON_CHARACTERS ? hashOf(text) : value
}

/** The difference as a plan for many resources shows it. */
export const abridged = ({ path, before, after }: Difference): Difference => ({
  path,
  before: abridgedValue(before),
  after: abridgedValue(after),
})

/**
 * Where `after` differs from `before`, in members that `after` has. The members in `whole` are replaced, not merged: what they omit is
 * gone.
 */
export function differences(before: Part, after: Part, whole: readonly string[], at = ''): Difference[] {
  return Object.entries(after).flatMap(([name, value]): Difference[] => {
    const path = pointer([name], at)
    const old = before[name]
    if (isDeepStrictEqual(old ?? null, value ?? null)) return []
    if (isPlain(old) && isPlain(value) && !whole.includes(name)) return differences(old, value, whole, path)
    // Steps, one by one.
    if (arePlain(old) && arePlain(value) && old.length === value.length)
      return value.flatMap((each, index) => differences(old[index]!, each, whole, `${path}/${index}`))
    return [{ path, before: shown(old), after: shown(value) }]
  })
}
