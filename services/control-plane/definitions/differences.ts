/** What a change would change, member by member, as plans show it. */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Difference } from '../../../shared/api/common.ts'
import { pointer } from '../middleware/validate.ts'

type Part = Record<string, unknown>

/** Texts beyond this are shown by their hash. */
const SHOWN_CHARACTERS = 500

const isPlain = (value: unknown): value is Part => typeof value === 'object' && value !== null && !Array.isArray(value)
const arePlain = (value: unknown): value is Part[] => Array.isArray(value) && value.every(isPlain)

function shown(value: unknown): unknown {
  if (typeof value === 'string' && value.length > SHOWN_CHARACTERS) return `sha256:${createHash('sha256').update(value).digest('hex')}`
  return value ?? null
}

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
