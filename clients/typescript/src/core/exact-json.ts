/** JSON without losing digits: integers beyond 2^53 are bigints in both directions (ECMA-262 `JSON.rawJSON` and source text access). */

type Context = { source?: string }
type Exact = {
  parse(text: string, reviver: (key: string, value: unknown, context?: Context) => unknown): unknown
  rawJSON(text: string): unknown
}
const exact = JSON as unknown as Exact

const INTEGER = /^-?\d+$/

/** Parses JSON; an integer that a number can't hold becomes a bigint, where the engine knows its source text. */
export function parseJson(text: string): unknown {
  return exact.parse(text, (_key, value, context) => {
    const source = context?.source
    return typeof value === 'number' && !Number.isSafeInteger(value) && source !== undefined && INTEGER.test(source)
      ? BigInt(source)
      : value
  })
}

/** Writes JSON; a bigint becomes an integer with all of its digits. */
export function writeJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? exact.rawJSON(each.toString()) : each), indent)
}
