/** `text.format(list)` of CEL's strings extension: %s %d %f %e %b %o %x %X, with a precision for %f and %e. */
import { Writer, isUtf8 } from 'dps'
import { fixed, scientific } from './decimal'
import { doubleText, itemsOf, keysOf } from './json'
import { textOfMoment } from './moments'
import { K, Value, fail, isTooMuch, ofText, spend, stringOf, tooMuch, typeNameOf } from './value'

/** Set where a value can't be shown. */
let problem: string = ''
const PRECISION_MAX: i32 = 100

export function format(pattern: Value, given: Value): Value {
  const from = stringOf(pattern)
  const items = itemsOf(given)
  let shown = ''
  let used = 0
  problem = ''
  for (let i = 0; i < from.length; i++) {
    if (from.charCodeAt(i) != 37) {
      let end = from.indexOf('%', i)
      if (end < 0) end = from.length
      shown += from.substring(i, end)
      i = end - 1
      continue
    }
    i++
    if (i < from.length && from.charCodeAt(i) == 37) {
      shown += '%'
      continue
    }
    let precision = -1
    if (i < from.length && from.charCodeAt(i) == 46) {
      precision = 0
      i++
      while (i < from.length && from.charCodeAt(i) >= 48 && from.charCodeAt(i) <= 57 && precision <= PRECISION_MAX)
        precision = precision * 10 + from.charCodeAt(i++) - 48
      if (precision > PRECISION_MAX) return fail('a precision of format() is more than 100')
    }
    if (i >= from.length) return fail('format() ends within a clause')
    if (used >= items.length) return fail('index ' + used.toString() + ' out of range: format() has fewer values than clauses')
    const value = items[used++]
    if (value.kind == K.Error) return value
    spend(2 * shown.length)
    if (isTooMuch(shown.length >> 3)) return tooMuch()
    shown += clause(from.charCodeAt(i), value, precision)
    if (problem.length > 0) return fail('error during formatting: ' + problem)
  }
  return ofText(shown)
}

function refuse(why: string, value: Value): string {
  problem = why + ', was given ' + typeNameOf(value)
  return ''
}

function clause(letter: i32, value: Value, precision: i32): string {
  if (letter == 115) return shownAs(value)
  if (letter == 100) {
    if (value.kind == K.Double && !isFinite(value.d)) return doubleText(value.d)
    if (value.kind == K.Int || value.kind == K.Uint) return radix(value, 10)
    return refuse('decimal clause can only be used on integers', value)
  }
  if (letter == 102 || letter == 101) {
    const kind = letter == 102 ? 'fixed-point' : 'scientific'
    if (value.kind != K.Double && value.kind != K.Int && value.kind != K.Uint)
      return refuse(kind + ' clause can only be used on doubles', value)
    const d = value.kind == K.Double ? value.d : value.kind == K.Int ? (value.n as f64) : (value.n as u64 as f64)
    if (!isFinite(d)) return doubleText(d)
    const count = precision < 0 ? 6 : precision
    return letter == 102 ? fixed(d, count) : scientific(d, count)
  }
  if (letter == 98) {
    if (value.kind == K.Bool) return value.n != 0 ? '1' : '0'
    if (value.kind == K.Int || value.kind == K.Uint) return radix(value, 2)
    return refuse('only integers and bools can be formatted as binary', value)
  }
  if (letter == 111) {
    if (value.kind == K.Int || value.kind == K.Uint) return radix(value, 8)
    return refuse('octal clause can only be used on integers', value)
  }
  if (letter == 120 || letter == 88) {
    let shown = ''
    if (value.kind == K.Int || value.kind == K.Uint) shown = radix(value, 16)
    else if (value.kind == K.String || value.kind == K.Bytes) shown = hexOf(value)
    else return refuse('only integers, byte buffers, and strings can be formatted as hex', value)
    return letter == 88 ? shown.toUpperCase() : shown
  }
  problem = 'unrecognized formatting clause "' + String.fromCharCode(letter) + '"'
  return ''
}

const HEX = '0123456789abcdef'
const hex = new Writer()

function hexOf(value: Value): string {
  hex.clear()
  for (let i: usize = 0; i < value.length; i++) {
    const byte = load<u8>(value.ptr + i)
    hex.byte(HEX.charCodeAt(byte >> 4))
    hex.byte(HEX.charCodeAt(byte & 15))
  }
  spend(4 * value.length)
  return String.UTF8.decodeUnsafe(hex.start, hex.length)
}

function radix(value: Value, base: i32): string {
  if (value.kind == K.Uint || value.n >= 0) return (value.n as u64).toString(base)
  return '-' + ((0 - value.n) as u64).toString(base)
}

function shownAs(value: Value): string {
  const kind = value.kind
  if (isTooMuch(1 + ((value.length >> 4) as i32))) return ''
  if (kind == K.Bytes && !isUtf8(value.ptr, value.ptr + value.length)) return refuse('bytes that are no text can’t be formatted as one', value)
  if (kind == K.String || kind == K.Bytes || kind == K.Type) return stringOf(value)
  if (kind == K.Null) return 'null'
  if (kind == K.Bool) return value.n != 0 ? 'true' : 'false'
  if (kind == K.Int || kind == K.Uint) return radix(value, 10)
  if (kind == K.Double) return doubleText(value.d)
  if (kind == K.Timestamp || kind == K.Duration) return textOfMoment(value)
  if (kind == K.List) {
    const items = itemsOf(value)
    const shown: string[] = []
    for (let i = 0; i < items.length; i++) shown.push(shownAs(items[i]))
    return '[' + shown.join(', ') + ']'
  }
  if (kind == K.Map) {
    const keys = keysOf(value)
    const shown: string[] = []
    for (let i = 0; i < keys.length; i++) shown.push(shownAs(keys[i]) + ': ' + shownAs(value.items![i]))
    shown.sort()
    return '{' + shown.join(', ') + '}'
  }
  return refuse(
    'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps',
    value,
  )
}
