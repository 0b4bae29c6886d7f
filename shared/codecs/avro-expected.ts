/** What a JSON value must be for an Avro type to hold it, in words, for the message of one that does not fit. */
import { LONG, type Shape } from './avro-types.ts'

/** More of an enum's names, or a union's branches, would make the message a list. */
const NAMED_MAX = 20

function oneOf(texts: readonly string[]): string {
  const shown = texts.length > NAMED_MAX ? [...texts.slice(0, NAMED_MAX), `${texts.length - NAMED_MAX} others`] : texts
  return shown.length === 1 ? shown[0]! : `${shown.slice(0, -1).join(', ')} or ${shown.at(-1)}`
}

/** A decimal's attributes and a fixed type's size, of the types that have them. */
type Attributes = { precision?: number; scale?: number; size?: number; symbols?: readonly string[] }

const WORDS: Record<string, string> = {
  null: 'null',
  boolean: 'true or false',
  int: 'an integer of 32 bits',
  [LONG]: 'an integer of 64 bits',
  float: 'a number that a float holds',
  double: 'a number that a double holds',
  string: 'a text',
  bytes: 'a text of base64',
  array: 'a list',
  map: 'an object',
  record: 'an object',
  error: 'an object',
  'logical:date': 'a day such as "2026-01-31"',
  'logical:timestamp-millis': 'a time (RFC 3339, at most three digits of a second)',
  'logical:timestamp-micros': 'a time (RFC 3339, at most six digits of a second)',
  'logical:timestamp-nanos': 'a time (RFC 3339, at most nine digits of a second)',
}

/** What the type holds, as in `an integer of 32 bits`. */
export function expectedOf(type: Shape): string {
  const { size, symbols = [], precision = 0, scale = 0 } = type as Attributes
  switch (type.typeName) {
    case 'enum':
      return oneOf(symbols.map((symbol) => `"${symbol}"`))
    case 'fixed':
      return `a text of base64 of ${size} bytes`
    case 'logical:decimal':
      return `a decimal as a text such as "-12.5", with at most ${precision - scale} digits before the point and ${scale} behind it`
    case 'union:unwrapped':
      return oneOf(type.types!.map(expectedOf))
    case 'union:wrapped':
      return oneOf(type.types!.map((each) => (each.typeName === 'null' ? 'null' : `{"${each.branchName}": ${expectedOf(each)}}`)))
    default:
      return WORDS[type.typeName] ?? `a value of the type ${type.typeName}`
  }
}
