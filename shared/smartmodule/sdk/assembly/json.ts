/**
 * JSON over bytes, without building a tree: one pass checks that the bytes are exactly one JSON document (RFC 8259, UTF-8 included) and
 * notes the members of a top-level object; later look-ups read only checked bytes. Strings are scanned 16 bytes at a time.
 */

export const enum Kind { Missing, Null, False, True, Number, String, Object, Array }

/** Deepest nesting a document may have. */
const DEPTH_MAX: i32 = 128

/** Members of the last parsed top-level object: key start, key end (inside the quotes), value start, value end, the key's escape flag. */
const MEMBER_BYTES: usize = 24
let members: usize = heap.alloc(64 * MEMBER_BYTES)
let memberCapacity: i32 = 64
export let memberCount: i32 = 0

/** Why the last `parse` failed, for the record's error. */
export let refusal: string = ''

let limit: usize = 0
let escaped: bool = false

// @ts-ignore: decorator
@inline
export function keyStart(i: i32): usize { return load<u32>(members + (i as usize) * MEMBER_BYTES) as usize }
// @ts-ignore: decorator
@inline
export function keyEnd(i: i32): usize { return load<u32>(members + (i as usize) * MEMBER_BYTES, 4) as usize }
// @ts-ignore: decorator
@inline
export function valueStart(i: i32): usize { return load<u32>(members + (i as usize) * MEMBER_BYTES, 8) as usize }
// @ts-ignore: decorator
@inline
export function valueEnd(i: i32): usize { return load<u32>(members + (i as usize) * MEMBER_BYTES, 12) as usize }
// @ts-ignore: decorator
@inline
export function keyEscaped(i: i32): bool { return load<u32>(members + (i as usize) * MEMBER_BYTES, 16) != 0 }

// @ts-ignore: decorator
@inline
export function skipSpace(p: usize, end: usize): usize {
  while (p < end) {
    const c = load<u8>(p)
    if (c != 32 && c != 10 && c != 13 && c != 9) break
    p++
  }
  return p
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

/** The closing quote of the string whose content starts at `p`, 0 when malformed. Sets `escaped`. Reads up to 15 bytes past `end`. */
function scanString(p: usize, end: usize): usize {
  const quote = i8x16.splat(34)
  const backslash = i8x16.splat(92)
  const space = i8x16.splat(32)
  escaped = false
  while (true) {
    const v = v128.load(p)
    // `bitmask` reads sign bits: bytes ≥ 0x80 have theirs set, the comparisons set it for the others.
    const mask = i8x16.bitmask(v128.or(v128.or(v, i8x16.eq(v, quote)), v128.or(i8x16.eq(v, backslash), i8x16.lt_u(v, space))))
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

/** Checks the value at `p`; returns the first byte after it, 0 when malformed. */
function scanValue(p: usize, end: usize, depth: i32): usize {
  if (p >= end) return 0
  const c: u32 = load<u8>(p)
  if (c == 34) {
    const close = scanString(p + 1, end)
    return close == 0 ? 0 : close + 1
  }
  if (c == 123) {
    if (depth >= DEPTH_MAX) return 0
    p = skipSpace(p + 1, end)
    if (p < end && load<u8>(p) == 125) return p + 1
    while (true) {
      if (p >= end || load<u8>(p) != 34) return 0
      p = scanString(p + 1, end)
      if (p == 0) return 0
      p = skipSpace(p + 1, end)
      if (p >= end || load<u8>(p) != 58) return 0
      p = scanValue(skipSpace(p + 1, end), end, depth + 1)
      if (p == 0) return 0
      p = skipSpace(p, end)
      if (p >= end) return 0
      const next = load<u8>(p)
      if (next == 125) return p + 1
      if (next != 44) return 0
      p = skipSpace(p + 1, end)
    }
  }
  if (c == 91) {
    if (depth >= DEPTH_MAX) return 0
    p = skipSpace(p + 1, end)
    if (p < end && load<u8>(p) == 93) return p + 1
    while (true) {
      p = scanValue(p, end, depth + 1)
      if (p == 0) return 0
      p = skipSpace(p, end)
      if (p >= end) return 0
      const next = load<u8>(p)
      if (next == 93) return p + 1
      if (next != 44) return 0
      p = skipSpace(p + 1, end)
    }
  }
  if (c == 116) return end - p >= 4 && load<u32>(p) == 0x65757274 ? p + 4 : 0
  if (c == 110) return end - p >= 4 && load<u32>(p) == 0x6c6c756e ? p + 4 : 0
  if (c == 102) return end - p >= 5 && load<u32>(p, 1) == 0x65736c61 ? p + 5 : 0
  return scanNumber(p, end)
}

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
 * Returns its kind, `Kind.Missing` when it is not JSON (see `refusal`). 16 bytes after `end` must be readable.
 */
export function parse(p: usize, end: usize): Kind {
  memberCount = 0
  limit = end
  p = skipSpace(p, end)
  if (p >= end) return refuse('the value is empty, not a JSON document')
  if (load<u8>(p) != 123) {
    const kind = kindAt(p)
    const after = scanValue(p, end, 0)
    if (after == 0) return refuse('the value is not valid JSON')
    return skipSpace(after, end) == end ? kind : refuse('the value has bytes after its JSON document')
  }
  p = skipSpace(p + 1, end)
  if (p < end && load<u8>(p) == 125) p++
  else {
    while (true) {
      if (p >= end || load<u8>(p) != 34) return refuse('the value is not valid JSON')
      const key = p + 1
      const close = scanString(key, end)
      if (close == 0) return refuse('the value is not valid JSON')
      const escapedKey = escaped
      p = close + 1
      if (p < end && load<u8>(p) != 58) p = skipSpace(p, end)
      if (p >= end || load<u8>(p) != 58) return refuse('the value is not valid JSON')
      p++
      if (p < end && load<u8>(p) <= 32) p = skipSpace(p, end)
      const after = scanValue(p, end, 1)
      if (after == 0) return refuse('the value is not valid JSON')
      if (memberCount == memberCapacity) growMembers()
      const m = members + (memberCount as usize) * MEMBER_BYTES
      store<u32>(m, key as u32)
      store<u32>(m, close as u32, 4)
      store<u32>(m, p as u32, 8)
      store<u32>(m, after as u32, 12)
      store<u32>(m, escapedKey as u32, 16)
      memberCount++
      p = after
      if (p < end && load<u8>(p) <= 32) p = skipSpace(p, end)
      if (p >= end) return refuse('the value is not valid JSON')
      const next = load<u8>(p++)
      if (next == 125) break
      if (next != 44) return refuse('the value is not valid JSON')
      if (p < end && load<u8>(p) <= 32) p = skipSpace(p, end)
    }
  }
  return skipSpace(p, end) == end ? Kind.Object : refuse('the value has bytes after its JSON document')
}

function refuse(why: string): Kind {
  refusal = why
  return Kind.Missing
}

function growMembers(): void {
  memberCapacity *= 2
  members = heap.realloc(members, (memberCapacity as usize) * MEMBER_BYTES)
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
