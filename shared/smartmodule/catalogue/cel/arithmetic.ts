/** The operators + - * / % and the minus: 64-bit numbers fail where they would overflow. */
import { isNumber } from './compare'
import { itemsOf } from './json'
import { addDurations, addToTimestamp, betweenTimestamps } from './moments'
import { Op } from './node'
import { K, Value, bytesAt, fail, isTooMuch, noOverload, ofDouble, ofDuration, ofInt, ofList, ofUint, owned, tooMuch } from './value'

const OVERFLOW = 'integer overflow'
const SIGNS: string[] = ['_+_', '_-_', '_*_', '_/_', '_%_']

export function minus(a: Value): Value {
  if (a.kind == K.Int) return a.n == i64.MIN_VALUE ? fail(OVERFLOW) : ofInt(-a.n)
  if (a.kind == K.Double) return ofDouble(-a.d)
  if (a.kind == K.Duration) return a.n == i64.MIN_VALUE ? fail('the duration is out of range') : ofDuration(-a.n)
  return a.kind == K.Error ? a : noOverload('-_', a)
}

export function arithmetic(op: Op, a: Value, b: Value): Value {
  if (a.kind == K.Int && b.kind == K.Int) return ints(op, a.n, b.n)
  // Beyond CEL: JSON does not say whether 5 is an int or a double, so that a double beside it makes it one.
  if (isNumber(a) && isNumber(b) && (a.kind == K.Double || b.kind == K.Double) && op != Op.Modulo)
    return doubles(op, doubleOf(a), doubleOf(b))
  if (a.kind == K.Uint && b.kind == K.Uint) return uints(op, a.n as u64, b.n as u64)
  if (op == Op.Add) {
    if (a.kind == b.kind && (a.kind == K.String || a.kind == K.Bytes)) return joined(a, b)
    if (a.kind == K.List && b.kind == K.List)
      return isTooMuch(itemsOf(a).length + itemsOf(b).length) ? tooMuch() : ofList(itemsOf(a).concat(itemsOf(b)))
    if (a.kind == K.Timestamp && b.kind == K.Duration) return addToTimestamp(a, b.n)
    if (a.kind == K.Duration && b.kind == K.Timestamp) return addToTimestamp(b, a.n)
    if (a.kind == K.Duration && b.kind == K.Duration) return addDurations(a.n, b.n)
  }
  if (op == Op.Subtract) {
    if (a.kind == K.Timestamp && b.kind == K.Timestamp) return betweenTimestamps(a, b)
    if (a.kind == K.Timestamp && b.kind == K.Duration && b.n != i64.MIN_VALUE) return addToTimestamp(a, -b.n)
    if (a.kind == K.Duration && b.kind == K.Duration && b.n != i64.MIN_VALUE) return addDurations(a.n, -b.n)
  }
  return noOverload(SIGNS[op - Op.Add], a, b)
}

/** Bounds what a doubling text can grow to. */
const BYTES_MAX: usize = 16 << 20

function joined(a: Value, b: Value): Value {
  const length = a.length + b.length
  if (length > BYTES_MAX) return fail('a text would have more than 16 MiB')
  if (isTooMuch((length >> 4) as i32)) return tooMuch()
  if (a.length == 0) return b
  if (b.length == 0) return a
  const bytes = new ArrayBuffer(length as i32)
  memory.copy(changetype<usize>(bytes), a.ptr, a.length)
  memory.copy(changetype<usize>(bytes) + a.length, b.ptr, b.length)
  return a.kind == K.String ? owned(K.String, bytes) : bytesAt(K.Bytes, changetype<usize>(bytes), length)
}

function doubleOf(value: Value): f64 {
  return value.kind == K.Double ? value.d : value.kind == K.Int ? (value.n as f64) : (value.n as u64 as f64)
}

function doubles(op: Op, a: f64, b: f64): Value {
  if (op == Op.Add) return ofDouble(a + b)
  if (op == Op.Subtract) return ofDouble(a - b)
  return ofDouble(op == Op.Multiply ? a * b : a / b)
}

function ints(op: Op, a: i64, b: i64): Value {
  if (op == Op.Add) {
    const sum = a + b
    return ((a ^ sum) & (b ^ sum)) < 0 ? fail(OVERFLOW) : ofInt(sum)
  }
  if (op == Op.Subtract) {
    const rest = a - b
    return ((a ^ b) & (a ^ rest)) < 0 ? fail(OVERFLOW) : ofInt(rest)
  }
  if (op == Op.Multiply) {
    if (a == 0 || b == 0) return ofInt(0)
    if ((a == -1 && b == i64.MIN_VALUE) || (b == -1 && a == i64.MIN_VALUE)) return fail(OVERFLOW)
    const product = a * b
    return product / b != a ? fail(OVERFLOW) : ofInt(product)
  }
  if (b == 0) return fail(op == Op.Divide ? 'divide by zero' : 'modulus by zero')
  if (b == -1) return op == Op.Modulo ? (a == i64.MIN_VALUE ? fail(OVERFLOW) : ofInt(0)) : a == i64.MIN_VALUE ? fail(OVERFLOW) : ofInt(-a)
  return ofInt(op == Op.Divide ? a / b : a % b)
}

function uints(op: Op, a: u64, b: u64): Value {
  if (op == Op.Add) return a + b < a ? fail(OVERFLOW) : ofUint(a + b)
  if (op == Op.Subtract) return a < b ? fail(OVERFLOW) : ofUint(a - b)
  if (op == Op.Multiply) {
    if (a == 0 || b == 0) return ofUint(0)
    const product = a * b
    return product / b != a ? fail(OVERFLOW) : ofUint(product)
  }
  if (b == 0) return fail(op == Op.Divide ? 'divide by zero' : 'modulus by zero')
  return ofUint(op == Op.Divide ? a / b : a % b)
}
