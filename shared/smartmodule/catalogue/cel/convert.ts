/** Conversions: int() uint() double() string() bytes() bool() timestamp() duration(), and base64. */
import { Writer, isUtf8, numberOf } from 'dps'
import { doubleText, putBase64 } from './json'
import { durationFrom, textOfMoment, timestampAt, timestampFrom } from './moments'
import { K, Value, bytesAt, excerptOf, fail, noOverload, ofBool, ofDouble, ofInt, ofText, ofUint, owned, stringOf } from './value'

function noNumber(a: Value, type: string): Value {
  return fail('type conversion error: "' + excerptOf(a) + '" is no ' + type)
}
function rangeOf(type: string): Value {
  return fail('range error: the number does not fit into ' + type)
}

/** Reads digits up to the largest uint; sets `isNumeric`. */
let isNumeric: bool = false
function wholeOf(a: Value, from: usize): u64 {
  isNumeric = a.length > from
  let n: u64 = 0
  for (let i = from; i < a.length; i++) {
    const digit = (load<u8>(a.ptr + i) as u64) - 48
    if (digit > 9 || n > (u64.MAX_VALUE - digit) / 10) {
      isNumeric = false
      return 0
    }
    n = n * 10 + digit
  }
  return n
}

export function toInt(a: Value): Value {
  if (a.kind == K.Int) return a
  if (a.kind == K.Uint) return a.n < 0 ? rangeOf('int') : ofInt(a.n)
  if (a.kind == K.Double) return a.d > -9223372036854775808.0 && a.d < 9223372036854775808.0 ? ofInt(a.d as i64) : rangeOf('int')
  if (a.kind == K.Timestamp) return ofInt(a.n)
  if (a.kind == K.String) {
    const isNegative = a.length > 0 && load<u8>(a.ptr) == 45
    const isSigned = isNegative || (a.length > 0 && load<u8>(a.ptr) == 43)
    const n = wholeOf(a, isSigned ? 1 : 0)
    if (!isNumeric || n > (isNegative ? 0x8000000000000000 : (i64.MAX_VALUE as u64))) return noNumber(a, 'int')
    return ofInt(isNegative ? 0 - (n as i64) : (n as i64))
  }
  return noOverload('int', a)
}

export function toUint(a: Value): Value {
  if (a.kind == K.Uint) return a
  if (a.kind == K.Int) return a.n < 0 ? rangeOf('uint') : ofUint(a.n as u64)
  if (a.kind == K.Double) return a.d >= 0 && a.d < 18446744073709551616.0 ? ofUint(a.d as u64) : rangeOf('uint')
  if (a.kind == K.String) {
    const n = wholeOf(a, 0)
    return isNumeric ? ofUint(n) : noNumber(a, 'uint')
  }
  return noOverload('uint', a)
}

/** Whether a text is a decimal number, as strconv.ParseFloat of Go reads it. */
function isDecimal(shown: string): bool {
  let i = shown.startsWith('-') || shown.startsWith('+') ? 1 : 0
  let count = 0
  for (; i < shown.length; i++, count++) if (shown.charCodeAt(i) < 48 || shown.charCodeAt(i) > 57) break
  if (i < shown.length && shown.charCodeAt(i) == 46) {
    i++
    for (; i < shown.length; i++, count++) if (shown.charCodeAt(i) < 48 || shown.charCodeAt(i) > 57) break
  }
  if (count == 0) return false
  if (i == shown.length) return true
  if ((shown.charCodeAt(i++) | 32) != 101) return false
  if (i < shown.length && (shown.charCodeAt(i) == 43 || shown.charCodeAt(i) == 45)) i++
  if (i == shown.length) return false
  for (; i < shown.length; i++) if (shown.charCodeAt(i) < 48 || shown.charCodeAt(i) > 57) return false
  return true
}

export function toDouble(a: Value): Value {
  if (a.kind == K.Double) return a
  if (a.kind == K.Int) return ofDouble(a.n as f64)
  if (a.kind == K.Uint) return ofDouble(a.n as u64 as f64)
  if (a.kind == K.String) {
    const shown = stringOf(a)
    if (isDecimal(shown)) return ofDouble(numberOf(a.ptr, a.ptr + a.length))
    const bare = (shown.startsWith('-') || shown.startsWith('+') ? shown.substring(1) : shown).toLowerCase()
    if (bare == 'nan') return ofDouble(NaN)
    if (bare == 'inf' || bare == 'infinity') return ofDouble(shown.startsWith('-') ? -Infinity : Infinity)
    return noNumber(a, 'double')
  }
  return noOverload('double', a)
}

export function toText(a: Value): Value {
  if (a.kind == K.String) return a
  if (a.kind == K.Int) return ofText(a.n.toString())
  if (a.kind == K.Uint) return ofText((a.n as u64).toString())
  if (a.kind == K.Double) return ofText(doubleText(a.d))
  if (a.kind == K.Bool) return ofText(a.n != 0 ? 'true' : 'false')
  if (a.kind == K.Timestamp || a.kind == K.Duration) return ofText(textOfMoment(a))
  if (a.kind == K.Bytes) {
    if (!isUtf8(a.ptr, a.ptr + a.length)) return fail('invalid UTF-8 in bytes, cannot convert to string')
    return bytesAt(K.String, a.ptr, a.length)
  }
  return noOverload('string', a)
}

export function toBytes(a: Value): Value {
  if (a.kind == K.Bytes) return a
  return a.kind == K.String ? bytesAt(K.Bytes, a.ptr, a.length) : noOverload('bytes', a)
}

const YES: string[] = ['1', 't', 'true', 'TRUE', 'True']
const NO: string[] = ['0', 'f', 'false', 'FALSE', 'False']

export function toBool(a: Value): Value {
  if (a.kind == K.Bool) return a
  if (a.kind != K.String) return noOverload('bool', a)
  const shown = stringOf(a)
  if (YES.includes(shown)) return ofBool(true)
  return NO.includes(shown) ? ofBool(false) : noNumber(a, 'bool')
}

export function toTimestamp(a: Value): Value {
  if (a.kind == K.Timestamp) return a
  if (a.kind == K.String) return timestampFrom(stringOf(a))
  return a.kind == K.Int ? timestampAt(a.n, 0) : noOverload('timestamp', a)
}

export function toDuration(a: Value): Value {
  if (a.kind == K.Duration) return a
  return a.kind == K.String ? durationFrom(stringOf(a)) : noOverload('duration', a)
}

const out = new Writer()

export function toBase64(a: Value): Value {
  if (a.kind != K.Bytes) return noOverload('base64.encode', a)
  out.clear()
  putBase64(out, a.ptr, a.length)
  return ofText(String.UTF8.decodeUnsafe(out.start, out.length))
}

export function fromBase64(a: Value): Value {
  if (a.kind != K.String) return noOverload('base64.decode', a)
  let end = a.length
  while (end > 0 && a.length - end < 2 && load<u8>(a.ptr + end - 1) == 61) end--
  const bytes = new ArrayBuffer(((end * 3) / 4) as i32)
  let to = changetype<usize>(bytes)
  let bits: u32 = 0
  let have = 0
  for (let i: usize = 0; i < end; i++) {
    const c: u32 = load<u8>(a.ptr + i)
    const six = c - 65 < 26 ? c - 65 : c - 97 < 26 ? c - 71 : c - 48 < 10 ? c + 4 : c == 43 || c == 45 ? 62 : c == 47 || c == 95 ? 63 : 64
    if (six > 63 || end % 4 == 1) return fail('the text is not base64')
    bits = (bits << 6) | six
    have += 6
    if (have < 8) continue
    have -= 8
    store<u8>(to++, ((bits >> have) & 255) as u8)
  }
  return owned(K.Bytes, bytes)
}
