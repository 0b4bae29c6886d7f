/**
 * JSON without losing digits (ECMA-262 `JSON.rawJSON` and source text access): integers beyond 2^53 are bigints, other numbers that
 * JavaScript's would change are ExactNumbers, in both directions.
 */

type Context = { source?: string }
type Exact = {
  parse(text: string, reviver: (key: string, value: unknown, context?: Context) => unknown): unknown
  rawJSON(text: string): unknown
}
const exact = JSON as unknown as Exact

const INTEGER = /^-?\d+$/
/** A number as JSON writes it (RFC 8259, section 6). */
export const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i

/** A number of JSON by its text. It counts as the nearest number of JavaScript's in expressions, and is written as its text. */
export class ExactNumber {
  readonly text: string
  /** Throws TypeError for a text that is no number of JSON. */
  constructor(text: string) {
    if (!NUMBER.test(text)) throw new TypeError(`${text} is not a number`)
    this.text = text
  }
  valueOf(): number {
    return Number(this.text)
  }
  toString(): string {
    return this.text
  }
  toJSON(): unknown {
    return exact.rawJSON(this.text)
  }
}

/** The digits and the exponent of a number's text: those of 12.5, 12.50 and 125e-1 are the same. */
function valueOf(text: string): string {
  const [mantissa = '', exponent = '0'] = text.replace(/^-/, '').toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  return significant && `${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`
}

function parse(text: string, isKept: (source: string, value: number) => boolean): unknown {
  return exact.parse(text, (_key, value, context) => {
    const source = context?.source
    // What JavaScript would print as it stands has lost nothing.
    if (typeof value !== 'number' || source === undefined || String(value) === source) return value
    if (INTEGER.test(source) && !Number.isSafeInteger(value)) return BigInt(source)
    return isKept(source, value) ? new ExactNumber(source) : value
  })
}

/**
 * Parses JSON, where the engine knows its source text: an integer that a number can't hold becomes a bigint, and another number of more
 * digits, or beyond a number's range, an ExactNumber.
 */
export const parseJson = (text: string): unknown => parse(text, (source, value) => valueOf(source) !== valueOf(String(value)))

/** The same for showing and passing on: every number that JavaScript would write otherwise is an ExactNumber, as 12.50 and 1e3 are. */
export const parseAsWritten = (text: string): unknown => parse(text, () => true)

/** Writes JSON; a bigint becomes an integer with all of its digits. */
export function writeJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, (_key, each: unknown) => (typeof each === 'bigint' ? exact.rawJSON(each.toString()) : each), indent)
}
