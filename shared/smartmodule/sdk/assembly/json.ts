/**
 * JSON over bytes, without building a tree: one pass checks that the bytes are exactly one JSON document (RFC 8259, UTF-8 included) and
 * notes the members of a top-level object; later look-ups read only checked bytes. Strings are scanned 16 bytes at a time. During the pass
 * the byte behind the document is 0: no token contains it, so that every token ends there without a comparison with the document's end.
 */
import { FIRST, NOWHERE, expectKey, isAt, lengthAt, nextPlace, placeBelow } from './expected-keys'
import { addMember, beginMembers, changeShape, endMembers, limit } from './last-document'

export const enum Kind { Missing, Null, False, True, Number, String, Object, Array }

/** Deepest nesting a document may have. */
const DEPTH_MAX: i32 = 128

/** Why the last `parse` failed, for the record's error. */
export let refusal: string = ''

let escaped: bool = false

// @ts-ignore: decorator
@inline
export function skipSpace(p: usize, end: usize): usize {
  while (p < end) {
    const c = load<u8>(p)
    if (c > 32 || (c != 32 && c != 10 && c != 13 && c != 9)) break
    p++
  }
  return p
}

/** The same in front of the byte 0 that ends a document. */
// @ts-ignore: decorator
@inline
function afterSpace(p: usize): usize {
  while (true) {
    const c = load<u8>(p)
    if (c > 32 || (c != 32 && c != 10 && c != 13 && c != 9)) return p
    p++
  }
}

// @ts-ignore: decorator
@inline
function isHex(c: u32): bool {
  return c - 48 < 10 || (c | 32) - 97 < 6
}

/** First byte after one UTF-8 sequence at `p`, 0 when it is malformed (overlong, surrogate, past U+10FFFF, cut). RFC 3629. */
function utf8(p: usize, end: usize): usize {
  const a: u32 = load<u8>(p)
  if (a < 0xc2) return 0
  if (p + 1 >= end) return 0
  const b: u32 = load<u8>(p, 1)
  if ((b & 0xc0) != 0x80) return 0
  if (a < 0xe0) return p + 2
  if (p + 2 >= end || (load<u8>(p, 2) & 0xc0) != 0x80) return 0
  if (a < 0xf0) {
    if ((a == 0xe0 && b < 0xa0) || (a == 0xed && b > 0x9f)) return 0
    return p + 3
  }
  if (p + 3 >= end || (load<u8>(p, 3) & 0xc0) != 0x80) return 0
  if (a > 0xf4 || (a == 0xf0 && b < 0x90) || (a == 0xf4 && b > 0x8f)) return 0
  return p + 4
}

/** Whether the bytes are well-formed UTF-8. */
export function isUtf8(p: usize, end: usize): bool {
  while (p < end) {
    if (load<u8>(p) < 0x80) p++
    else {
      p = utf8(p, end)
      if (p == 0) return false
    }
  }
  return true
}

/** As `scanString`; most strings end within 16 bytes, and for them this is no call. */
// @ts-ignore: decorator
@inline
function stringEnd(p: usize, end: usize): usize {
  const mask = i8x16.bitmask(special(v128.load(p)))
  const close = p + ctz(mask)
  if (mask != 0 && load<u8>(close) == 34) {
    escaped = false
    return close
  }
  return scanString(p, end)
}

// @ts-ignore: decorator
@inline
function special(v: v128): v128 {
  // As signed numbers, bytes from 0x80 on are below the space too.
  return v128.or(v128.or(i8x16.eq(v, i8x16.splat(34)), i8x16.eq(v, i8x16.splat(92))), i8x16.lt_s(v, i8x16.splat(32)))
}

/** Whether 32 bytes of a string are ASCII that stands for itself. */
// @ts-ignore: decorator
@inline
function isPlain(p: usize): bool {
  return !v128.any_true(v128.or(special(v128.load(p)), special(v128.load(p, 16))))
}

/** The closing quote of the string whose content starts at `p`, 0 when malformed. Sets `escaped`. Reads up to 15 bytes past `end`. */
function scanString(p: usize, end: usize): usize {
  escaped = false
  while (p + 64 <= end && isPlain(p) && isPlain(p + 32)) p += 64
  while (true) {
    const mask = i8x16.bitmask(special(v128.load(p)))
    if (mask == 0) {
      p += 16
      if (p >= end) return 0
      continue
    }
    p += ctz(mask)
    if (p >= end) return 0
    const c: u32 = load<u8>(p)
    if (c == 34) return p
    if (c == 92) {
      escaped = true
      if (p + 1 >= end) return 0
      const e: u32 = load<u8>(p, 1)
      if (e == 117) {
        if (p + 6 > end || !isHex(load<u8>(p, 2)) || !isHex(load<u8>(p, 3)) || !isHex(load<u8>(p, 4)) || !isHex(load<u8>(p, 5))) return 0
        p += 6
      } else if (e == 34 || e == 92 || e == 47 || e == 98 || e == 102 || e == 110 || e == 114 || e == 116) p += 2
      else return 0
    } else if (c < 32) return 0
    else {
      do {
        p = utf8(p, end)
        if (p == 0) return 0
      } while (p < end && load<u8>(p) >= 128)
      if (p >= end) return 0
    }
  }
}

function scanNumber(p: usize, end: usize): usize {
  if (load<u8>(p) == 45) p++
  if (p >= end) return 0
  const first: u32 = load<u8>(p)
  if (first == 48) p++
  else if (first - 49 < 9) {
    while (p < end && (load<u8>(p) as u32) - 48 < 10) p++
  } else return 0
  if (p < end && load<u8>(p) == 46) {
    const from = ++p
    while (p < end && (load<u8>(p) as u32) - 48 < 10) p++
    if (p == from) return 0
  }
  if (p < end && (load<u8>(p) | 32) == 101) {
    p++
    if (p < end && (load<u8>(p) == 43 || load<u8>(p) == 45)) p++
    const from = p
    while (p < end && (load<u8>(p) as u32) - 48 < 10) p++
    if (p == from) return 0
  }
  return p
}

/** As `scanNumber`, without a call and a loop for those without sign and exponent in up to 15 bytes. Reads up to 15 bytes past `end`. */
// @ts-ignore: decorator
@inline
function numberEnd(p: usize, end: usize): usize {
  const digits = i8x16.bitmask(i8x16.lt_u(i8x16.sub(v128.load(p), i8x16.splat(48)), i8x16.splat(10)))
  const whole = ctz(~digits)
  let after = p + whole
  if (whole == 0 || (load<u8>(p) == 48 && whole > 1)) return scanNumber(p, end)
  if (load<u8>(after) == 46) {
    const fraction = ctz(~(digits >> (whole + 1)))
    if (fraction == 0) return scanNumber(p, end)
    after += fraction + 1
  }
  return after < p + 16 && (load<u8>(after) | 32) != 101 ? after : scanNumber(p, end)
}

/** Checks a string, or a number, without a call where it is short and plain; anything else by `scanOther`. */
// @ts-ignore: decorator
@inline
function endOfValue(p: usize, end: usize, depth: i32, place: usize): usize {
  const c: u32 = load<u8>(p)
  if (c == 34) {
    const close = stringEnd(p + 1, end)
    return close == 0 ? 0 : close + 1
  }
  return c - 48 < 10 ? numberEnd(p, end) : scanOther(p, end, depth, place)
}

/** Checks the object whose brace is at `p`, and whose keys are expected from `place` on, as `scanValue` does. */
function scanObject(p: usize, end: usize, depth: i32, place: usize): usize {
  if (depth >= DEPTH_MAX) return 0
  p = afterSpace(p + 1)
  if (load<u8>(p) == 125) return p + 1
  while (true) {
    const key = p
    let close = p + lengthAt(place)
    if (isAt(place, p)) p = close + 2
    else {
      if (load<u8>(p) != 34) return 0
      close = stringEnd(p + 1, end)
      if (close == 0) return 0
      const isPlain = !escaped
      p = afterSpace(close + 1)
      if (load<u8>(p) != 58) return 0
      if (isPlain && p == close + 1) expectKey(place, key, close)
      p++
    }
    p = endOfValue(afterSpace(p), end, depth + 1, place)
    if (p == 0) return 0
    place = nextPlace(place)
    p = afterSpace(p)
    const next = load<u8>(p++)
    if (next != 44) return next == 125 ? p : 0
    p = afterSpace(p)
  }
}

/** Checks the array whose bracket is at `p`, and which is the value at `place`, as `scanValue` does. */
function scanArray(p: usize, end: usize, depth: i32, place: usize): usize {
  if (depth >= DEPTH_MAX) return 0
  p = afterSpace(p + 1)
  if (load<u8>(p) == 93) return p + 1
  while (true) {
    p = endOfValue(p, end, depth + 1, place)
    if (p == 0) return 0
    p = afterSpace(p)
    const next = load<u8>(p++)
    if (next != 44) return next == 93 ? p : 0
    p = afterSpace(p)
  }
}

/** Checks what is no string and begins with no digit. */
function scanOther(p: usize, end: usize, depth: i32, place: usize): usize {
  const c: u32 = load<u8>(p)
  if (c == 123) return scanObject(p, end, depth, placeBelow(place))
  if (c == 91) return scanArray(p, end, depth, place)
  if (c == 116) return load<u32>(p) == 0x65757274 ? p + 4 : 0
  if (c == 110) return load<u32>(p) == 0x6c6c756e ? p + 4 : 0
  if (c == 102) return load<u32>(p, 1) == 0x65736c61 ? p + 5 : 0
  return scanNumber(p, end)
}

/** Checks the value at `p`; returns the first byte after it, 0 when malformed. */
function scanValue(p: usize, end: usize): usize { return endOfValue(p, end, 0, NOWHERE) }

/** Kind of the checked value that starts at `p`. */
export function kindAt(p: usize): Kind {
  const c = load<u8>(p)
  if (c == 34) return Kind.String
  if (c == 123) return Kind.Object
  if (c == 91) return Kind.Array
  if (c == 116) return Kind.True
  if (c == 102) return Kind.False
  if (c == 110) return Kind.Null
  return Kind.Number
}

/**
 * Checks that [p, end) is one complete JSON document and notes the members when it is an object.
 * Returns its kind, `Kind.Missing` when it is not JSON (see `refusal`). 16 bytes after `end` must be readable, and the first one writable.
 */
export function parse(p: usize, end: usize): Kind {
  const behind = load<u8>(end)
  store<u8>(end, 0)
  const kind = parseDocument(p, end)
  store<u8>(end, behind)
  return kind
}

function parseDocument(p: usize, end: usize): Kind {
  beginMembers(end)
  const start = p
  p = afterSpace(p)
  if (p >= end) return refuse('the value is empty, not a JSON document')
  if (load<u8>(p) != 123) {
    const kind = kindAt(p)
    const after = scanValue(p, end)
    if (after == 0) return refuse('the value is not valid JSON')
    return afterSpace(after) == end ? kind : refuse('the value has bytes after its JSON document')
  }
  p = afterSpace(p + 1)
  if (load<u8>(p) == 125) p++
  else {
    let place = FIRST
    while (true) {
      const key = p + 1
      let isEscaped = false
      let close = p + lengthAt(place)
      if (isAt(place, p)) p = close + 2
      else {
        if (load<u8>(p) != 34) return refuse('the value is not valid JSON')
        close = stringEnd(key, end)
        if (close == 0) return refuse('the value is not valid JSON')
        isEscaped = escaped
        p = afterSpace(close + 1)
        if (load<u8>(p) != 58) return refuse('the value is not valid JSON')
        changeShape(p == close + 1 && !isEscaped && expectKey(place, key - 1, close))
        p++
      }
      p = afterSpace(p)
      const after = endOfValue(p, end, 1, place)
      if (after == 0) return refuse('the value is not valid JSON')
      addMember(key, close, p, after, isEscaped)
      place = nextPlace(place)
      p = afterSpace(after)
      const next = load<u8>(p++)
      if (next == 125) break
      if (next != 44) return refuse('the value is not valid JSON')
      p = afterSpace(p)
    }
  }
  if (afterSpace(p) != end) return refuse('the value has bytes after its JSON document')
  endMembers(start, end)
  return Kind.Object
}

function refuse(why: string): Kind {
  refusal = why
  return Kind.Missing
}

/** The closing quote of the checked string whose content starts at `p`. */
// @ts-ignore: decorator
@inline
export function closeOf(p: usize): usize {
  const quote = i8x16.splat(34)
  const backslash = i8x16.splat(92)
  while (true) {
    const v = v128.load(p)
    const mask = i8x16.bitmask(v128.or(i8x16.eq(v, quote), i8x16.eq(v, backslash)))
    if (mask == 0) {
      p += 16
      continue
    }
    p += ctz(mask)
    if (load<u8>(p) == 34) return p
    p += 2
  }
}

/** First byte after the checked value at `p`. */
export function skipChecked(p: usize): usize {
  const c = load<u8>(p)
  if (c == 34) return closeOf(p + 1) + 1
  if (c == 123 || c == 91) {
    let depth = 0
    while (true) {
      const d = load<u8>(p)
      if (d == 34) {
        p = closeOf(p + 1) + 1
        continue
      }
      if (d == 123 || d == 91) depth++
      else if (d == 125 || d == 93) {
        if (--depth == 0) return p + 1
      }
      p++
    }
  }
  while (p < limit) {
    const d = load<u8>(p)
    if (d == 44 || d == 125 || d == 93 || d <= 32) return p
    p++
  }
  return p
}
