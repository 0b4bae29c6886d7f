/** Equality and order: numbers of different types compare by their values, everything else only with its own type. */
import { entryOf, itemsOf, keysOf } from './json'
import { K, Value, isTooMuch } from './value'

/** What `compare` returns where there is no order: for NaN, and for types that have none. */
export const UNORDERED: i32 = 2
export const NO_ORDER: i32 = 3

// @ts-ignore: decorator
@inline
export function isNumber(value: Value): bool { return value.kind >= K.Int && value.kind <= K.Double }

function order<T>(a: T, b: T): i32 { return a < b ? -1 : a > b ? 1 : 0 }

/** An int or uint beside a double, exactly; but 2^63 and 2^64 equal the largest int and uint, whose doubles they are, as CEL has it. */
function compareWhole(a: Value, d: f64): i32 {
  if (isNaN(d)) return UNORDERED
  if (a.kind == K.Int) {
    if (d >= 9223372036854775808.0) return d == 9223372036854775808.0 ? order<f64>(a.n as f64, d) : -1
    if (d < -9223372036854775808.0) return 1
    const whole = d as i64
    return a.n != whole ? order<i64>(a.n, whole) : order<f64>(0, d - (whole as f64))
  }
  if (d >= 18446744073709551616.0) return d == 18446744073709551616.0 ? order<f64>((a.n as u64) as f64, d) : -1
  if (d < 0) return 1
  const whole = d as u64
  return (a.n as u64) != whole ? order<u64>(a.n as u64, whole) : order<f64>(0, d - (whole as f64))
}

export function compareNumbers(a: Value, b: Value): i32 {
  if (a.kind == K.Double) {
    if (b.kind != K.Double) {
      const other = compareWhole(b, a.d)
      return other == UNORDERED ? other : -other
    }
    if (isNaN(a.d) || isNaN(b.d)) return UNORDERED
    return order<f64>(a.d, b.d)
  }
  if (b.kind == K.Double) return compareWhole(a, b.d)
  if (a.kind == b.kind) return a.kind == K.Int ? order<i64>(a.n, b.n) : order<u64>(a.n as u64, b.n as u64)
  if (a.kind == K.Int) return a.n < 0 ? -1 : order<u64>(a.n as u64, b.n as u64)
  return b.n < 0 ? 1 : order<u64>(a.n as u64, b.n as u64)
}

export function compareBytes(a: Value, b: Value): i32 {
  const common = a.length < b.length ? a.length : b.length
  isTooMuch((common >> 6) as i32)
  const first = memory.compare(a.ptr, b.ptr, common)
  return first != 0 ? (first < 0 ? -1 : 1) : order<usize>(a.length, b.length)
}

/** -1, 0 or 1; `UNORDERED` beside NaN; `NO_ORDER` for types without one. */
export function compare(a: Value, b: Value): i32 {
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b)
  if (a.kind != b.kind) return NO_ORDER
  if (a.kind == K.String || a.kind == K.Bytes) return compareBytes(a, b)
  if (a.kind == K.Bool || a.kind == K.Duration) return order<i64>(a.n, b.n)
  if (a.kind == K.Timestamp) return a.n != b.n ? order<i64>(a.n, b.n) : order<i32>(a.nanos, b.nanos)
  return NO_ORDER
}

export function isSame(a: Value, b: Value): bool {
  if (isNumber(a) && isNumber(b)) return compareNumbers(a, b) == 0
  if (a.kind != b.kind) return false
  if (a.kind == K.Null) return true
  if (a.kind == K.Type) return compareBytes(a, b) == 0
  if (a.kind == K.Optional) {
    if (a.items === null || b.items === null) return a.items === b.items
    return isSame(a.items![0], b.items![0])
  }
  if (a.kind == K.List) return isSameList(itemsOf(a), itemsOf(b))
  if (a.kind == K.Map) return isSameMap(a, b)
  return compare(a, b) == 0
}

function isSameList(a: Value[], b: Value[]): bool {
  if (a.length != b.length || isTooMuch(a.length)) return false
  for (let i = 0; i < a.length; i++) if (!isSame(a[i], b[i])) return false
  return true
}

function isSameMap(a: Value, b: Value): bool {
  const keys = keysOf(a)
  if (keys.length != keysOf(b).length) return false
  for (let i = 0; i < keys.length; i++) {
    // Most maps that are the same have the same order.
    const isThere = isSame(b.keys![i], keys[i])
    if (isTooMuch(isThere ? 1 : keys.length >> 2)) return false
    const other = isThere ? b.items![i] : entryOf(b, keys[i])
    if (other === null || !isSame(a.items![i], other)) return false
  }
  return true
}
