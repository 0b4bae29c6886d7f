/** A double's digits with a given number of places, rounded half to even from its exact value, as printf does it. */

import { isTooMuch } from './value'

/** The exact decimal digits of the last double, without leading zeros. */
let exact: i32[] = []
/** How many of them are behind the point. */
let places: i32 = 0

function multiply(factor: i32): void {
  let carry = 0
  for (let i = exact.length - 1; i >= 0; i--) {
    const product = exact[i] * factor + carry
    exact[i] = product % 10
    carry = product / 10
  }
  while (carry > 0) {
    exact.unshift(carry % 10)
    carry /= 10
  }
}

/** A double is m × 2^e: below zero, m × 5^-e has the same digits with -e of them behind the point. */
function read(d: f64): void {
  const bits = reinterpret<u64>(d)
  const biased = ((bits >> 52) & 2047) as i32
  let m = bits & 0xfffffffffffff
  if (biased > 0) m |= 0x10000000000000
  let e = (biased == 0 ? 1 : biased) - 1075
  while (m != 0 && (m & 1) == 0 && e < 0) {
    m >>= 1
    e++
  }
  // Each of the steps below walks over all digits.
  isTooMuch((e * e) >> 8)
  exact = []
  const shown = m.toString()
  for (let i = 0; i < shown.length; i++) exact.push(shown.charCodeAt(i) - 48)
  places = e < 0 ? -e : 0
  for (let i = 0; i < e; i++) multiply(2)
  for (let i = 0; i < -e; i++) multiply(5)
}

/** Keeps `count` of the digits; true when rounding has made one more of them. */
function round(count: i32): bool {
  if (count >= exact.length) return false
  const next = exact[count]
  let isMore = false
  for (let i = count + 1; i < exact.length; i++) if (exact[i] != 0) isMore = true
  const isOdd = count > 0 && (exact[count - 1] & 1) == 1
  exact = exact.slice(0, count)
  if (next < 5 || (next == 5 && !isMore && !isOdd)) return false
  for (let i = count - 1; i >= 0; i--) {
    if (exact[i] < 9) {
      exact[i]++
      return false
    }
    exact[i] = 0
  }
  exact.unshift(1)
  return true
}

function shownDigits(from: i32, to: i32): string {
  let shown = ''
  for (let i = from; i < to; i++) shown += i < 0 || i >= exact.length ? '0' : String.fromCharCode(48 + exact[i])
  return shown
}

/** `%.<precision>f` of a finite double. */
export function fixed(d: f64, precision: i32): string {
  read(d)
  while (exact.length < places + 1) exact.unshift(0)
  let whole = exact.length - places
  if (round(whole + precision)) whole++
  while (whole > 1 && exact.length > 0 && exact[0] == 0) {
    exact.shift()
    whole--
  }
  const sign = d < 0 || (d == 0 && 1 / d < 0) ? '-' : ''
  return sign + shownDigits(0, whole) + (precision > 0 ? '.' + shownDigits(whole, whole + precision) : '')
}

/** `%.<precision>e` of a finite double. */
export function scientific(d: f64, precision: i32): string {
  read(d)
  let exponent = 0
  if (d != 0) {
    exponent = exact.length - places - 1
    if (round(precision + 1)) exponent++
  }
  const sign = d < 0 || (d == 0 && 1 / d < 0) ? '-' : ''
  const power = exponent < 0 ? -exponent : exponent
  return (
    sign +
    shownDigits(0, 1) +
    (precision > 0 ? '.' + shownDigits(1, 1 + precision) : '') +
    (exponent < 0 ? 'e-' : 'e+') +
    power.toString().padStart(2, '0')
  )
}
