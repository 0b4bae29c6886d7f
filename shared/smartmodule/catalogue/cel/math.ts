/** CEL's math extension. */
import { compareNumbers, isNumber } from './compare'
import { K, Value, fail, noOverload, ofBool, ofDouble, ofInt, ofUint } from './value'

export const enum M {
  Ceil,
  Floor,
  Round,
  Trunc,
  Abs,
  Sign,
  Sqrt,
  IsNaN,
  IsInf,
  IsFinite,
  BitAnd,
  BitOr,
  BitXor,
  BitNot,
  ShiftLeft,
  ShiftRight,
}

/** The largest of the values, or the smallest; of equal ones the first. */
export function extreme(name: string, isGreatest: bool, values: Value[]): Value {
  if (values.length == 0) return fail(name + '() of an empty list')
  let best = values[0]
  for (let i = 0; i < values.length; i++) {
    if (!isNumber(values[i])) return noOverload(name, values[i])
    const order = compareNumbers(values[i], best)
    if (isGreatest ? order == 1 : order == -1) best = values[i]
  }
  return best
}

export function math(fn: M, a: Value): Value {
  if (fn == M.BitNot) return a.kind == K.Int ? ofInt(~a.n) : a.kind == K.Uint ? ofUint(~a.n as u64) : noOverload('math.bitNot', a)
  if (fn == M.Abs && a.kind == K.Int) return a.n == i64.MIN_VALUE ? fail('integer overflow') : ofInt(a.n < 0 ? -a.n : a.n)
  if (fn == M.Sign && a.kind == K.Int) return ofInt(a.n < 0 ? -1 : a.n > 0 ? 1 : 0)
  if (fn == M.Abs && a.kind == K.Uint) return a
  if (fn == M.Sign && a.kind == K.Uint) return ofUint(a.n != 0 ? 1 : 0)
  if (fn == M.Sqrt && isNumber(a))
    return ofDouble(Math.sqrt(a.kind == K.Double ? a.d : a.kind == K.Int ? (a.n as f64) : (a.n as u64 as f64)))
  if (a.kind != K.Double) return noOverload('math', a)
  const d = a.d
  if (fn == M.Ceil) return ofDouble(Math.ceil(d))
  if (fn == M.Floor) return ofDouble(Math.floor(d))
  if (fn == M.Trunc) return ofDouble(Math.trunc(d))
  // Halves away from zero, as Go's math.Round does it.
  if (fn == M.Round) {
    const whole = Math.trunc(d)
    return ofDouble(Math.abs(d - whole) >= 0.5 ? whole + (d < 0 ? -1 : 1) : whole)
  }
  if (fn == M.Abs) return ofDouble(Math.abs(d))
  if (fn == M.Sign) return ofDouble(isNaN(d) ? d : d > 0 ? 1 : d < 0 ? -1 : 0)
  if (fn == M.IsNaN) return ofBool(isNaN(d))
  if (fn == M.IsInf) return ofBool(!isNaN(d) && !isFinite(d))
  return ofBool(isFinite(d))
}

export function bits(fn: M, a: Value, b: Value): Value {
  const isShift = fn == M.ShiftLeft || fn == M.ShiftRight
  const isWhole = a.kind == K.Int || a.kind == K.Uint
  if (!isWhole || b.kind != (isShift ? K.Int : a.kind)) return noOverload('math.bit', a, b)
  if (isShift && b.n < 0) return fail('math.bitShift: negative offset')
  let n: i64 = 0
  if (fn == M.BitAnd) n = a.n & b.n
  else if (fn == M.BitOr) n = a.n | b.n
  else if (fn == M.BitXor) n = a.n ^ b.n
  else if (b.n < 64) n = fn == M.ShiftLeft ? a.n << b.n : (((a.n as u64) >> (b.n as u64)) as i64)
  return a.kind == K.Int ? ofInt(n) : ofUint(n as u64)
}
