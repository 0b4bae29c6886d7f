/**
 * Doubles as the shortest decimal text that reads back as the same one, and of those the closest: what JavaScript's String(d) says.
 * AssemblyScript's own toString has, of 16 or 17 digits, not always the closest, nor the fewest.
 */

/** Large whole numbers of 32-bit words, the lowest first: the value is `rest` / `whole`, half the gap to a neighbour `half` / `whole`. */
const WORDS: i32 = 40
const rest: StaticArray<u32> = new StaticArray<u32>(WORDS)
const whole: StaticArray<u32> = new StaticArray<u32>(WORDS)
const half: StaticArray<u32> = new StaticArray<u32>(WORDS)
const sum: StaticArray<u32> = new StaticArray<u32>(WORDS)
/** Words that are in use. */
let used: i32 = 0

function set(words: StaticArray<u32>, value: u64, shift: i32): void {
  memory.fill(changetype<usize>(words), 0, 4 * used)
  const at = shift >> 5
  const bits: u64 = shift & 31
  const low = (value & 0xffffffff) << bits
  const high = ((value >> 32) << bits) + (low >> 32)
  unchecked((words[at] = low as u32))
  if (at + 1 < used) unchecked((words[at + 1] = high as u32))
  if (at + 2 < used) unchecked((words[at + 2] = (high >> 32) as u32))
}

function multiply(words: StaticArray<u32>, factor: u32): void {
  let carry: u64 = 0
  for (let i = 0; i < used; i++) {
    const product = (unchecked(words[i]) as u64) * (factor as u64) + carry
    unchecked((words[i] = product as u32))
    carry = product >> 32
  }
}

function multiplyBy10(words: StaticArray<u32>, power: i32): void {
  for (; power >= 9; power -= 9) multiply(words, 1000000000)
  let factor: u32 = 1
  for (; power > 0; power--) factor *= 10
  if (factor > 1) multiply(words, factor)
}

function compare(a: StaticArray<u32>, b: StaticArray<u32>): i32 {
  for (let i = used - 1; i >= 0; i--) {
    const x = unchecked(a[i])
    const y = unchecked(b[i])
    if (x != y) return x < y ? -1 : 1
  }
  return 0
}

/** `rest` and `times` halves beside `whole`. */
function compareSum(other: StaticArray<u32>, times: u32): i32 {
  let carry: u64 = 0
  for (let i = 0; i < used; i++) {
    const part = (unchecked(rest[i]) as u64) + (unchecked(other[i]) as u64) * (times as u64) + carry
    unchecked((sum[i] = part as u32))
    carry = part >> 32
  }
  return compare(sum, whole)
}

/** How often `whole` is in `rest`, which becomes what is left: less than ten times. */
function digit(): i32 {
  let count = 0
  while (compare(rest, whole) >= 0) {
    let borrow: u64 = 0
    for (let i = 0; i < used; i++) {
      const left = (unchecked(rest[i]) as u64) - (unchecked(whole[i]) as u64) - borrow
      unchecked((rest[i] = left as u32))
      borrow = left >> 63
    }
    count++
  }
  return count
}

/** The digits as ASCII, how many there are, and the power of ten: 0.DIGITS × 10^power. */
const digits: StaticArray<u8> = new StaticArray<u8>(24)
let count: i32 = 0
let power: i32 = 0

/** Steele and White's free-format algorithm, of a positive finite double. */
function makeDigits(d: f64): void {
  const bits = reinterpret<u64>(d)
  const biased = (bits >> 52) as i32
  const fraction = bits & 0xfffffffffffff
  const m = biased > 0 ? fraction | 0x10000000000000 : fraction
  const e = (biased > 0 ? biased : 1) - 1075
  // The neighbour below a power of two is half as far away as the one above.
  const above: u32 = fraction == 0 && biased > 1 ? 2 : 1
  // One too small at most.
  power = Math.ceil(((e + 63 - (clz(m) as i32)) as f64) * 0.30102999566398120 - 1e-10) as i32
  // Bits of `rest` and `whole`, and room for one more digit.
  const ofRest = 56 + (e > 0 ? e : 0) + (power < 0 ? (-power * 10) / 3 + 1 : 0)
  const ofWhole = 3 + (e < 0 ? -e : 0) + (power > 0 ? (power * 10) / 3 + 1 : 0)
  // What lies exactly between two doubles is read as the even one.
  const atMost = (m & 1) == 0 ? 0 : 1
  // Values from about 0.01 to 2^53.
  if (e < 0 && ofWhole <= 61) return makeDigitsOfWords(m, e, above, atMost)
  used = ((ofRest > ofWhole ? ofRest : ofWhole) + 8 + 31) / 32
  const scale = (above as i32) + (e < 0 ? -e : 0)
  set(rest, m, (above as i32) + (e > 0 ? e : 0))
  set(whole, 1, scale)
  set(half, 1, e > 0 ? e : 0)
  if (power >= 0) multiplyBy10(whole, power)
  else {
    multiplyBy10(rest, -power)
    multiplyBy10(half, -power)
  }
  if (compareSum(half, above) >= atMost) power++
  else {
    multiply(rest, 10)
    multiply(half, 10)
  }
  count = 0
  while (true) {
    const next = digit()
    const isLow = compare(rest, half) <= -atMost
    const isHigh = compareSum(half, above) >= atMost
    if (!isLow && !isHigh) {
      unchecked((digits[count++] = (48 + next) as u8))
      multiply(rest, 10)
      multiply(half, 10)
      continue
    }
    let isUp = isHigh
    if (isLow && isHigh) {
      const order = compareSum(rest, 1)
      isUp = order > 0 || (order == 0 && (next & 1) == 1)
    }
    unchecked((digits[count++] = (48 + next + (isUp ? 1 : 0)) as u8))
    return
  }
}

function pow10(power: i32): u64 {
  let factor: u64 = 1
  for (; power > 0; power--) factor *= 10
  return factor
}

/** The same where ten times the whole fits into 64 bits. */
function makeDigitsOfWords(m: u64, e: i32, above: u64, atMost: i32): void {
  let left = (m << above) * pow10(-power)
  const all = (<u64>1 << (above - (e as i64))) * pow10(power)
  let gap = pow10(-power)
  const isEven: u64 = atMost == 0 ? 1 : 0
  if (left + above * gap + isEven > all) power++
  else {
    left *= 10
    gap *= 10
  }
  count = 0
  while (true) {
    const next = left / all
    left -= next * all
    const isLow = left < gap + isEven
    const isHigh = left + above * gap + isEven > all
    if (!isLow && !isHigh) {
      unchecked((digits[count++] = (48 + next) as u8))
      left *= 10
      gap *= 10
      continue
    }
    let isUp = isHigh
    if (isLow && isHigh) isUp = 2 * left > all || (2 * left == all && (next & 1) == 1)
    unchecked((digits[count++] = (48 + next + (isUp ? 1 : 0)) as u8))
    return
  }
}

/** The text in UTF-16, which is 25 characters long at most. */
const text: StaticArray<u16> = new StaticArray<u16>(40)
let length: i32 = 0
function put(code: i32): void { unchecked((text[length++] = code as u16)) }
function putDigits(from: i32, to: i32): void { for (let i = from; i < to; i++) put(i < count ? (unchecked(digits[i]) as i32) : 48) }

/** The digits with a point or an exponent, as JavaScript places them. */
function laidOut(isNegative: bool): string {
  length = 0
  if (isNegative) put(45)
  if (power > 0 && power <= 21) {
    putDigits(0, power)
    if (power < count) {
      put(46)
      putDigits(power, count)
    }
  } else if (power > -6 && power <= 0) {
    put(48)
    put(46)
    for (let i = power; i < 0; i++) put(48)
    putDigits(0, count)
  } else {
    putDigits(0, 1)
    if (count > 1) {
      put(46)
      putDigits(1, count)
    }
    put(101)
    put(power > 0 ? 43 : 45)
    let exponent = power > 0 ? power - 1 : 1 - power
    if (exponent >= 100) put(48 + exponent / 100)
    if (exponent >= 10) put(48 + ((exponent / 10) % 10))
    put(48 + (exponent % 10))
  }
  return String.UTF16.decodeUnsafe(changetype<usize>(text), length << 1)
}

/** The shortest text of a finite double: `1.5`, `3`, `1e+21`, `0.30000000000000004`. */
export function shortestText(d: f64): string {
  // Whole numbers up to 2^53 are the commonest, and quickest as integers.
  if (Math.abs(d) <= 9007199254740992.0 && Math.trunc(d) == d) return (d as i64).toString()
  makeDigits(Math.abs(d))
  return laidOut(d < 0)
}
