/** JSON whose numbers keep all digits: JavaScript holds only integers up to 2^53 exactly, and no decimal as it was written. */

const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(source: string): object
  isRawJSON(value: unknown): value is { rawJSON: string }
}

/** `JSON.isRawJSON` and `JSON.rawJSON` with their types. */
export { isRawJSON, rawJSON }
/** Whether the value is an object of JSON, and no array. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawJSON(value)

/**
 * The parsed document; numbers other than safe integers are kept as they are written, and `JSON.stringify` prints them unchanged. Throws
 * a SyntaxError for text that is not JSON.
 */
export function parseExactly(text: string): unknown {
  const keep = (_name: string, value: unknown, context?: { source?: string }): unknown =>
    typeof value === 'number' && !Number.isSafeInteger(value) && context?.source !== undefined ? rawJSON(context.source) : value
  return JSON.parse(text, keep)
}

/**
 * The parsed document with every number as it is written: 5.0 stays 5.0. For printing it again; `parseExactly` is for reading values.
 * Throws a SyntaxError for text that is not JSON.
 */
export function parseAsWritten(text: string): unknown {
  const keep = (_name: string, value: unknown, context?: { source?: string }): unknown =>
    typeof value === 'number' && context?.source !== undefined && String(value) !== context.source ? rawJSON(context.source) : value
  return JSON.parse(text, keep)
}

/** An integer for `JSON.stringify`: a number where JavaScript holds it exactly, else raw JSON with all its digits. */
export const exactInteger = (value: bigint): unknown =>
  value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : rawJSON(String(value))

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** A number's value as one text: 12.5, 12.50 and 125e-1 are the same. */
function decimalOf(number: string): string {
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMBER.exec(number) ?? []
  const digits = `${whole}${fraction}`.replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}

/** Whether two parsed documents hold the same: members in any order, numbers by their value, with all digits where they are kept. */
export function isSameJson(a: unknown, b: unknown): boolean {
  if (typeof a === 'number' || isRawJSON(a)) {
    if (typeof b !== 'number' && !isRawJSON(b)) return false
    return decimalOf(JSON.stringify(a)) === decimalOf(JSON.stringify(b))
  }
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null || isRawJSON(b)) return a === b
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const names = Object.keys(a)
  if (names.length !== Object.keys(b).length) return false
  return names.every((name) => Object.hasOwn(b, name) && isSameJson(a[name as keyof typeof a], b[name as keyof typeof b]))
}

const INTEGER = /^-?\d+$/
/** An integer as some serialisers write it, for example 1e16. */
const WITH_EXPONENT = /^(-?\d+)[eE]\+?(\d{1,2})$/

/** The integer value of a parsed member; undefined if it is not an integer. */
export function integerOf(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined
  if (!isRawJSON(value)) return undefined
  if (INTEGER.test(value.rawJSON)) return BigInt(value.rawJSON)
  const [, digits, exponent] = WITH_EXPONENT.exec(value.rawJSON) ?? []
  return digits === undefined ? undefined : BigInt(digits) * 10n ** BigInt(exponent!)
}

/**
 * The numeric value of a parsed member; undefined if it is not a number, or is an integer that a double would change: neither exactly the
 * double's value, nor its shortest digits, as serialisers write them.
 */
export function doubleOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  if (!isRawJSON(value)) return undefined
  const number = Number(value.rawJSON)
  if (!INTEGER.test(value.rawJSON)) return number
  if (!Number.isFinite(number)) return undefined
  return String(number) === value.rawJSON || BigInt(number) === BigInt(value.rawJSON) ? number : undefined
}

/** The largest float (IEEE 754 binary32). */
export const FLOAT_MAX = 3.4028234663852886e38

/** A double for `JSON.stringify`, which would drop the sign of a zero. Throws an Error for one that JSON has no form for. */
export function exactDouble(value: number): unknown {
  if (!Number.isFinite(value)) throw new Error('the value has a number that is not finite')
  return Object.is(value, -0) ? NEGATIVE_ZERO : value
}
const NEGATIVE_ZERO = rawJSON('-0')

const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/

/** Throws an Error that names the member if its text has an unpaired surrogate, which UTF-8 can't encode. */
export function assertWellFormed(text: string, value: unknown, path = ''): void {
  if (!ESCAPED_SURROGATE.test(text)) return
  const visit = (each: unknown, at: string): void => {
    if (typeof each === 'string' && !each.isWellFormed()) throw new Error(`the member "${at}" has an unpaired surrogate`)
    if (typeof each !== 'object' || each === null) return
    for (const [name, inner] of Object.entries(each)) {
      const below = at === '' ? name : `${at}.${name}`
      if (!name.isWellFormed()) throw new Error(`the name of the member "${below.toWellFormed()}" has an unpaired surrogate`)
      visit(inner, below)
    }
  }
  visit(value, path)
}
