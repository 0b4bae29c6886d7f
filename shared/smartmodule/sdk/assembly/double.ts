/**
 * Decimal texts as doubles, correctly rounded whatever their length: AssemblyScript's own parser is wrong for long numbers with large
 * exponents. A whole number of many 32-bit words is multiplied or divided until its upper 64 bits are the double's.
 */

/** More significant digits than decide between two neighbouring doubles (767). */
const DIGITS_MAX: i32 = 800
const WORDS: i32 = 320
const words: StaticArray<u32> = new StaticArray<u32>(WORDS)
let used: i32 = 0
/** Something was cut off below the words. */
let hasRest: bool = false

function multiply(factor: u32, add: u32): void {
  let carry: u64 = add
  for (let i = 0; i < used; i++) {
    const product = (words[i] as u64) * (factor as u64) + carry
    words[i] = product as u32
    carry = product >> 32
  }
  if (carry > 0) words[used++] = carry as u32
}

/** Appends up to nine decimal digits. */
function take(digits: u32, count: i32): void {
  if (used == 0) words[used++] = digits
  else multiply(pow10(count) as u32, digits)
}

function divide(by: u32): void {
  let rest: u64 = 0
  for (let i = used - 1; i >= 0; i--) {
    const part = (rest << 32) | (words[i] as u64)
    words[i] = (part / (by as u64)) as u32
    rest = part % (by as u64)
  }
  if (rest > 0) hasRest = true
  while (used > 0 && words[used - 1] == 0) used--
}

function shiftWords(count: i32): void {
  for (let i = used - 1; i >= 0; i--) words[i + count] = words[i]
  for (let i = 0; i < count; i++) words[i] = 0
  used += count
}

/** The value of a decimal number (JSON's syntax, leading zeros and a leading point allowed) in [p, end). */
export function exactDouble(p: usize, end: usize): f64 {
  const isNegative = load<u8>(p) == 45
  if (isNegative || load<u8>(p) == 43) p++
  used = 0
  hasRest = false
  let count = 0
  let exponent: i64 = 0
  let isFraction = false
  let chunk: u32 = 0
  let chunkDigits = 0
  for (; p < end; p++) {
    const c: u32 = load<u8>(p)
    if (c == 46) isFraction = true
    else if (c - 48 < 10) {
      if (isFraction) exponent--
      if (count == 0 && c == 48) continue
      if (count >= DIGITS_MAX) {
        if (c != 48) hasRest = true
        exponent++
      } else {
        chunk = chunk * 10 + (c - 48)
        count++
        if (++chunkDigits == 9) {
          take(chunk, chunkDigits)
          chunk = 0
          chunkDigits = 0
        }
      }
    } else break
  }
  if (chunkDigits > 0) take(chunk, chunkDigits)
  if (p < end) {
    p++
    const isBelow = load<u8>(p) == 45
    if (isBelow || load<u8>(p) == 43) p++
    let given: i64 = 0
    for (; p < end; p++) if (given < 1000000) given = given * 10 + ((load<u8>(p) as i64) - 48)
    exponent += isBelow ? -given : given
  }
  const zero: f64 = isNegative ? -0.0 : 0.0
  if (used == 0 || exponent + count < -330) return zero
  if (exponent + count > 310) return isNegative ? -Infinity : Infinity
  const value = scaled(exponent as i32)
  return isNegative ? -value : value
}

function scaled(exponent: i32): f64 {
  let power = 0
  for (let left = exponent; left > 0; left -= left < 9 ? left : 9) multiply(left < 9 ? (pow10(left) as u32) : 1000000000, 0)
  if (exponent < 0) {
    // Room below the point, so that at least 64 bits are left after the division by 10^-exponent = 2^-exponent × 5^-exponent.
    const lost = (-exponent * 2330) / 1000 + 66 - 32 * (used - 1)
    const room = lost > 0 ? (lost + 31) / 32 : 0
    shiftWords(room)
    power = exponent - 32 * room
    for (let left = -exponent; left > 0; left -= left < 13 ? left : 13) divide(left < 13 ? pow5(left) : 1220703125)
  }
  // The upper 64 bits, and whether anything is below them.
  const leading = clz(words[used - 1]) as i32
  let top: u64 = 0
  for (let i = 0; i < 3; i++) {
    const at = used - 1 - i
    const word: u64 = at >= 0 ? (words[at] as u64) : 0
    if (i < 2) top = (top << 32) | word
    else if (leading > 0) {
      top = (top << (leading as u64)) | (word >> ((32 - leading) as u64))
      if ((word & ((1 << ((32 - leading) as u64)) - 1)) != 0) hasRest = true
    } else if (word != 0) hasRest = true
  }
  for (let at = used - 4; at >= 0 && !hasRest; at--) if (words[at] != 0) hasRest = true
  // top × 2^power, with the highest bit of top set.
  return rounded(top, power + 32 * used - leading - 64)
}

function rounded(top: u64, power: i32): f64 {
  // The exponent of the value's highest bit; below -1022 fewer bits are kept.
  const high = power + 63
  if (high > 1023) return Infinity
  const cut = high < -1022 ? 11 + (-1022 - high) : 11
  if (cut > 64) return 0
  let kept: u64 = cut == 64 ? 0 : top >> (cut as u64)
  const half: u64 = 1 << ((cut - 1) as u64)
  const below = cut == 64 ? top : top & ((1 << (cut as u64)) - 1)
  if (below > half || (below == half && (hasRest || (kept & 1) == 1))) kept++
  if (high < -1022) return reinterpret<f64>(kept)
  // Rounding up may carry into the exponent, which is then one more.
  return reinterpret<f64>((((high + 1022) as u64) << 52) + kept)
}

function pow10(count: i32): i32 {
  let power = 1
  for (let i = 0; i < count; i++) power *= 10
  return power
}

function pow5(count: i32): u32 {
  let power: u32 = 1
  for (let i = 0; i < count; i++) power *= 5
  return power
}
