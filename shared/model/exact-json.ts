/** JSON whose numbers are not rounded: JavaScript holds integers up to 2^53, and no decimal as it is written. */

const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(source: string): object
  isRawJSON(value: unknown): value is { rawJSON: string }
}

export { isRawJSON, rawJSON }

/** The document; numbers that are no safe integers are kept as they are written, and `JSON.stringify` prints them so. */
export function parseExactly(text: string): unknown {
  const keep = (_name: string, value: unknown, context?: { source?: string }): unknown =>
    typeof value === 'number' && !Number.isSafeInteger(value) && context?.source !== undefined ? rawJSON(context.source) : value
  return JSON.parse(text, keep)
}

/** An integer as JSON: a number where JavaScript holds it, else its digits as they are. */
export const exactInteger = (value: bigint): unknown =>
  value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : rawJSON(String(value))

const INTEGER = /^-?\d+$/
/** An integer as some printers write it, 1e16 for one. */
const WITH_EXPONENT = /^(-?\d+)[eE]\+?(\d{1,2})$/

/** The integer behind a parsed member; undefined for what is none. */
export function integerOf(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined
  if (!isRawJSON(value)) return undefined
  if (INTEGER.test(value.rawJSON)) return BigInt(value.rawJSON)
  const [, digits, exponent] = WITH_EXPONENT.exec(value.rawJSON) ?? []
  return digits === undefined ? undefined : BigInt(digits) * 10n ** BigInt(exponent!)
}

/** The number behind a parsed member; undefined for what is none, or an integer that a double does not hold. */
export function doubleOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  if (!isRawJSON(value)) return undefined
  const number = Number(value.rawJSON)
  if (!INTEGER.test(value.rawJSON)) return number
  return Number.isFinite(number) && BigInt(number) === BigInt(value.rawJSON) ? number : undefined
}

const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/

/** Throws, naming the member, for a text with half of a surrogate pair: UTF-8 has no bytes for it. */
export function assertWellFormed(text: string, value: unknown, path = ''): void {
  if (!ESCAPED_SURROGATE.test(text)) return
  const visit = (each: unknown, at: string): void => {
    if (typeof each === 'string' && !each.isWellFormed()) throw new Error(`the member "${at}" has half of a surrogate pair`)
    if (typeof each !== 'object' || each === null) return
    for (const [name, inner] of Object.entries(each)) {
      const below = at === '' ? name : `${at}.${name}`
      if (!name.isWellFormed()) throw new Error(`the name of the member "${below.toWellFormed()}" has half of a surrogate pair`)
      visit(inner, below)
    }
  }
  visit(value, path)
}
