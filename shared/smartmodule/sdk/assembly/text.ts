/** JSON strings and numbers: decodes and writes escapes, parses and compares numbers. Works on bytes that `parse` has checked. */
import { exactDouble } from './double'

function hexValue(c: u32): u32 {
  return c < 58 ? c - 48 : (c | 32) - 87
}

export function hex4(p: usize): u32 {
  return (hexValue(load<u8>(p)) << 12) | (hexValue(load<u8>(p, 1)) << 8) | (hexValue(load<u8>(p, 2)) << 4) | hexValue(load<u8>(p, 3))
}

/** Writes a code point as UTF-8; a lone surrogate becomes U+FFFD, as every decoder does. */
export function putCodePoint(to: usize, code: u32): usize {
  if (code < 0x80) {
    store<u8>(to, code as u8)
    return to + 1
  }
  if (code < 0x800) {
    store<u8>(to, (0xc0 | (code >> 6)) as u8)
    store<u8>(to, (0x80 | (code & 63)) as u8, 1)
    return to + 2
  }
  if (code - 0xd800 < 0x800) code = 0xfffd
  if (code < 0x10000) {
    store<u8>(to, (0xe0 | (code >> 12)) as u8)
    store<u8>(to, (0x80 | ((code >> 6) & 63)) as u8, 1)
    store<u8>(to, (0x80 | (code & 63)) as u8, 2)
    return to + 3
  }
  store<u8>(to, (0xf0 | (code >> 18)) as u8)
  store<u8>(to, (0x80 | ((code >> 12) & 63)) as u8, 1)
  store<u8>(to, (0x80 | ((code >> 6) & 63)) as u8, 2)
  store<u8>(to, (0x80 | (code & 63)) as u8, 3)
  return to + 4
}

/** The length of the white space of Unicode (its property White_Space) that stands at the byte; 0 for any other character. */
export function spaceAt(p: usize, end: usize): usize {
  const c: u32 = load<u8>(p)
  if (c == 32 || c - 9 < 5) return 1
  if (c < 0xc2) return 0
  if (c == 0xc2 && p + 1 < end && (load<u8>(p, 1) == 0x85 || load<u8>(p, 1) == 0xa0)) return 2
  if (p + 2 >= end) return 0
  const three = (c << 16) | ((load<u8>(p, 1) as u32) << 8) | (load<u8>(p, 2) as u32)
  const isSpace =
    three == 0xe19a80 ||
    (three >= 0xe28080 && three <= 0xe2808a) ||
    three == 0xe280a8 ||
    three == 0xe280a9 ||
    three == 0xe280af ||
    three == 0xe2819f ||
    three == 0xe38080
  return isSpace ? 3 : 0
}

/** The same, or 1 for a control character. */
function blankAt(p: usize, end: usize): usize {
  return load<u8>(p) <= 32 ? 1 : spaceAt(p, end)
}

/** Where plain UTF-8 [p, end) begins without the white space and control characters in front. */
export function afterBlanks(p: usize, end: usize): usize {
  while (p < end) {
    const length = blankAt(p, end)
    if (length == 0) break
    p += length
  }
  return p
}

/** Where it ends without those behind it. */
export function beforeBlanks(p: usize, end: usize): usize {
  while (end > p) {
    let last = end - 1
    while (last > p && (load<u8>(last) & 0xc0) == 0x80) last--
    if (blankAt(last, end) != end - last) break
    end = last
  }
  return end
}

/** Decodes a checked string's content [p, end) to plain UTF-8 at `to`, which is never longer; returns the end of what was written. */
export function unescape(p: usize, end: usize, to: usize): usize {
  while (p < end) {
    const c: u32 = load<u8>(p)
    if (c != 92) {
      store<u8>(to++, c as u8)
      p++
      continue
    }
    const e: u32 = load<u8>(p, 1)
    p += 2
    if (e == 117) {
      let code = hex4(p)
      p += 4
      if (code - 0xd800 < 0x400 && p + 6 <= end && load<u8>(p) == 92 && load<u8>(p, 1) == 117) {
        const low = hex4(p + 2)
        if (low - 0xdc00 < 0x400) {
          code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)
          p += 6
        }
      }
      to = putCodePoint(to, code)
    } else store<u8>(to++, (e == 98 ? 8 : e == 102 ? 12 : e == 110 ? 10 : e == 114 ? 13 : e == 116 ? 9 : e) as u8)
  }
  return to
}

/** Room enough for plain UTF-8 [p, end) as the content of a JSON string: a few bytes too much for line ends and tabs. */
export function escapedLength(p: usize, end: usize): usize {
  let length = end - p
  for (; p < end; p++) {
    const c: u32 = load<u8>(p)
    if (c < 32) length += 5
    else if (c == 34 || c == 92) length++
  }
  return length
}

/** Writes plain UTF-8 [p, end) as the content of a JSON string at `to` (room: 6 × its length); returns the end of what was written. */
export function escapeTo(p: usize, end: usize, to: usize): usize {
  while (p < end) {
    const c: u32 = load<u8>(p++)
    if (c == 34 || c == 92) {
      store<u8>(to++, 92)
      store<u8>(to++, c as u8)
    } else if (c >= 32) store<u8>(to++, c as u8)
    else {
      store<u8>(to++, 92)
      if (c == 10) store<u8>(to++, 110)
      else if (c == 13) store<u8>(to++, 114)
      else if (c == 9) store<u8>(to++, 116)
      else if (c == 8) store<u8>(to++, 98)
      else if (c == 12) store<u8>(to++, 102)
      else {
        store<u8>(to++, 117)
        store<u8>(to++, 48)
        store<u8>(to++, 48)
        store<u8>(to++, (48 + (c >> 4)) as u8)
        store<u8>(to++, ((c & 15) < 10 ? 48 + (c & 15) : 87 + (c & 15)) as u8)
      }
    }
  }
  return to
}

/** The text of a checked JSON string value (quotes included) [p, end), escapes decoded. Allocates. */
export function textOf(p: usize, end: usize): string {
  // Of nothing that was found.
  if (end < p + 2) return ''
  const length = end - p - 2
  const scratch = heap.alloc(length + 8)
  const stop = unescape(p + 1, end - 1, scratch)
  const text = String.UTF8.decodeUnsafe(scratch, stop - scratch)
  heap.free(scratch)
  return text
}

/** Bytes of a value that a message shows. */
const EXCERPT: usize = 60

/** The start of a value's JSON, with whole characters. */
export function excerpt(start: usize, end: usize): string {
  if (end - start <= EXCERPT) return String.UTF8.decodeUnsafe(start, end - start)
  let cut = start + EXCERPT
  while ((load<u8>(cut) & 0xc0) == 0x80) cut--
  return String.UTF8.decodeUnsafe(start, cut - start) + '…'
}

/** How many of the digits that `shortDigits` has read stand behind the point. */
export let behindPoint: i32 = 0

/** The digits of a checked JSON number of up to eight bytes, without its point, as one number; -1 for one with a sign or an exponent. */
export function shortDigits(p: usize, end: usize): i64 {
  const length = end - p
  if (length - 1 > 7) return -1
  // The bytes before it, which are read too, are shifted out; the number's first byte is the lowest one.
  const unused = ((8 - length) << 3) as u64
  let digits = load<u64>(end - 8) >> unused
  const others = (digits & 0xf0f0f0f0f0f0f0f0) ^ (<u64>0x3030303030303030 >> unused)
  let shift = unused
  behindPoint = 0
  if (others != 0) {
    const at = ctz(others) & 56
    if (others >> at >> 8 != 0 || ((digits >> at) & 0xff) != 46) return -1
    const before = ((<u64>1) << at) - 1
    digits = (digits & before) | ((digits >> 8) & ~before)
    shift += 8
    behindPoint = (7 - ((unused + at) >> 3)) as i32
  }
  // Eight digits at once, with zeros before them: neighbours become numbers of two, then of four and of eight digits.
  digits = (((digits << shift) & 0x0f0f0f0f0f0f0f0f) * 2561) >> 8
  digits = ((digits & 0x00ff00ff00ff00ff) * 6553601) >> 16
  return (((digits & 0x0000ffff0000ffff) * 42949672960001) >> 32) as i64
}

/** The value of a checked JSON number [p, end), correctly rounded. */
export function numberOf(p: usize, end: usize): f64 {
  const short = shortDigits(p, end)
  if (short >= 0) return behindPoint > 0 ? (short as f64) / powerOfTen(behindPoint) : (short as f64)
  let q = p
  let negative = false
  if (load<u8>(q) == 45) {
    negative = true
    q++
  }
  let digits: u64 = 0
  let scale = 0
  let count = 0
  let seenPoint = false
  while (q < end) {
    const c: u32 = load<u8>(q)
    if (c - 48 < 10) {
      digits = digits * 10 + (c - 48)
      count++
      if (seenPoint) scale++
    } else if (c == 46) seenPoint = true
    else break
    q++
    if (count > 15) break
  }
  // Up to 15 digits and 10^22, both sides of the division are exact, so it rounds only once (Clinger's fast path).
  if (q == end && count <= 15 && scale <= 22) {
    let value = digits as f64
    if (scale > 0) value /= powerOfTen(scale)
    return negative ? -value : value
  }
  return exactDouble(p, end)
}

/** 10 to the power of 0 to 22, which are exact as doubles. */
// @ts-ignore: decorator
@inline
export function powerOfTen(power: i32): f64 { return unchecked(POWERS[power]) }

const POWERS: StaticArray<f64> = [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22]

/** A JSON number as its sign, its significant digits, and the power of ten that 0.digits is multiplied by. */
class Decimal {
  isZero: bool = true
  isNegative: bool = false
  exponent: i64 = 0
  at: usize = 0
  end: usize = 0

  read(start: usize, end: usize): void {
    this.isNegative = load<u8>(start) == 45
    let p = this.isNegative ? start + 1 : start
    this.isZero = true
    let seenPoint = false
    let places: i64 = 0
    while (p < end) {
      const c: u32 = load<u8>(p)
      if (c == 46) seenPoint = true
      else if (c - 48 >= 10) break
      else if (c == 48 && this.isZero) {
        if (seenPoint) places--
      } else {
        if (this.isZero) {
          this.isZero = false
          this.at = p
        }
        if (!seenPoint) places++
      }
      p++
    }
    this.end = p
    let exponent: i64 = 0
    if (p < end) {
      p++
      const isBelow = load<u8>(p) == 45
      if (isBelow || load<u8>(p) == 43) p++
      for (; p < end; p++) if (exponent < EXPONENT_MAX) exponent = exponent * 10 + (load<u8>(p) - 48)
      if (isBelow) exponent = -exponent
    }
    this.exponent = places + exponent
  }
}

/** A cap beyond any shift of the decimal point in a text of a few megabytes. */
const EXPONENT_MAX: i64 = 1000000000000
const left = new Decimal()
const right = new Decimal()

/** The next significant digit, 0 after the last one; `p` is moved past it. */
let p: usize = 0
function digitAt(from: usize, end: usize): u32 {
  let q = from
  if (q < end && load<u8>(q) == 46) q++
  if (q >= end) {
    p = end
    return 0
  }
  p = q + 1
  return load<u8>(q) - 48
}

/** What is no whole number, or beyond 64 bits. */
const NOT_WHOLE: u64 = u64.MAX_VALUE
const LARGEST: u64 = 0x8000000000000000

/** The whole number that a decimal is, without its sign; NOT_WHOLE where it has a part after the point, or is beyond 2^63. */
function wholeOf(decimal: Decimal): u64 {
  if (decimal.isZero) return 0
  if (decimal.exponent <= 0 || decimal.exponent > 19) return NOT_WHOLE
  let value: u64 = 0
  let at = decimal.at
  for (let i: i64 = 0; i < decimal.exponent; i++) {
    const digit: u64 = digitAt(at, decimal.end)
    at = p
    if (value > (LARGEST - digit) / 10) return NOT_WHOLE
    value = value * 10 + digit
  }
  while (at < decimal.end) {
    if (digitAt(at, decimal.end) != 0) return NOT_WHOLE
    at = p
  }
  return value
}

/** The whole number of a checked number token, exactly; `fallback` for one with a part after the point or beyond 64 bits. */
export function integerOf(p: usize, end: usize, fallback: i64): i64 {
  if (p >= end) return fallback
  const isNegative = load<u8>(p) == 45
  let value: u64 = 0
  for (let at = isNegative ? p + 1 : p; at < end; at++) {
    const digit: u64 = (load<u8>(at) as u64) - 48
    if (digit > 9 || value > (LARGEST - digit) / 10) {
      // 1e3, 2.0 and many digits with a negative exponent are whole numbers too.
      left.read(p, end)
      value = wholeOf(left)
      break
    }
    value = value * 10 + digit
  }
  if (value > LARGEST) return fallback
  if (value == LARGEST) return isNegative ? i64.MIN_VALUE : fallback
  return isNegative ? -(value as i64) : (value as i64)
}

/** Compares two JSON numbers by all their digits: negative, 0 or positive. Doubles, where they differ, give the same order faster. */
export function compareNumbers(aStart: usize, aEnd: usize, bStart: usize, bEnd: usize): i32 {
  left.read(aStart, aEnd)
  right.read(bStart, bEnd)
  const a = left.isZero ? 0 : left.isNegative ? -1 : 1
  const b = right.isZero ? 0 : right.isNegative ? -1 : 1
  if (a != b || a == 0) return a - b
  if (left.exponent != right.exponent) return left.exponent < right.exponent ? -a : a
  let x = left.at
  let y = right.at
  while (x < left.end || y < right.end) {
    const u = digitAt(x, left.end)
    x = p
    const v = digitAt(y, right.end)
    y = p
    if (u != v) return u < v ? -a : a
  }
  return 0
}
