/** Numbers of a body that JavaScript would change: kept as they are written where an operation takes them so, and refused elsewhere. */
import { doubleOf, rawJSON } from '../../../shared/model/exact-json.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { invalidRequest, type Detail } from '../service-error.ts'
import { endOfText } from './json-body.ts'
import { pointer } from '../../../shared/model/json-pointer.ts'

const QUOTE = 0x22
const PLUS = 0x2b
const COMMA = 0x2c
const MINUS = 0x2d
const POINT = 0x2e
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const SMALL_E = 0x65

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39
const isOfNumber = (code: number): boolean =>
  isDigit(code) || code === MINUS || code === PLUS || code === POINT || (code | 0x20) === SMALL_E

/** An array, and the index of an element; or an object, and where the name of a member is. */
type Level = { index: number; from: number; to: number; /** Once it was asked for. */ name?: string | undefined }
const ARRAY = -1

function nameAt(text: string, level: Level): PropertyKey {
  if (level.from === ARRAY) return level.index
  return (level.name ??= JSON.parse(text.slice(level.from, level.to)) as string)
}

/** Calls `found` for each number that JavaScript would write in another way than the document, which is JSON; until it returns false. */
function eachChanged(text: string, found: (number: string, path: () => PropertyKey[]) => boolean): void {
  const levels: Level[] = []
  const path = () => levels.map((level) => nameAt(text, level))
  let level: Level | undefined
  // The last text: a colon makes it a name.
  let [from, to] = [0, 0]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) {
      from = at
      at = endOfText(text, at + 1)
      to = at + 1
    } else if (code === COLON) Object.assign(level!, { from, to, name: undefined })
    else if (code === COMMA) level!.index++
    else if (code === OPEN_ARRAY || code === OPEN_OBJECT) {
      level = { index: 0, from: code === OPEN_ARRAY ? ARRAY : 0, to: 0 }
      levels.push(level)
    } else if (code === CLOSE_ARRAY || code === CLOSE_OBJECT) {
      levels.pop()
      level = levels.at(-1)
    } else if (isDigit(code) || code === MINUS) {
      let end = at + 1
      while (isOfNumber(text.charCodeAt(end))) end++
      const number = text.slice(at, end)
      if (String(Number(number)) !== number && !found(number, path)) return
      at = end - 1
    }
  }
}

/** Integers of fewer digits are exact. */
const LONG_DIGITS = 16

/** Whether the path is at or below a member that the pattern names. */
const isBelow = (at: readonly PropertyKey[], pattern: readonly string[]): boolean =>
  at.length >= pattern.length && pattern.every((part, index) => part === '*' || part === at[index])

/** Puts the number into its place, unless a later member of the same name has something else there. */
function put(body: unknown, path: readonly PropertyKey[], number: string): void {
  let holder = body as Record<PropertyKey, unknown>
  for (const name of path.slice(0, -1)) {
    if (typeof holder !== 'object' || holder === null || !Object.hasOwn(holder, name)) return
    holder = holder[name] as Record<PropertyKey, unknown>
  }
  const last = path.at(-1)!
  if (typeof holder === 'object' && holder !== null && holder[last] === Number(number)) holder[last] = rawJSON(number)
}

/**
 * The body, parsed from the text, with numbers as JavaScript's own, except in `exactMembers`, which keep their digits. Throws 400 naming
 * other integers that JavaScript would round, because a different number would be stored.
 */
export function withDigits(text: string, body: unknown, exactMembers: readonly string[] = []): unknown {
  const exact = exactMembers.map((path) => path.slice(1).split('/'))
  const details: Detail[] = []
  eachChanged(text, (number, path) => {
    const isRounded = number.length >= LONG_DIGITS && doubleOf(rawJSON(number)) === undefined
    if (!isRounded && exact.length === 0) return true
    const at = path()
    if (exact.some((pattern) => isBelow(at, pattern))) put(body, at, number)
    else if (isRounded) details.push({ path: pointer(at), message: 'is a number that would lose digits' })
    return details.length < LIMITS.details_max
  })
  if (details.length > 0) throw invalidRequest(details)
  return body
}
