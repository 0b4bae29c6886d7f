/** JSON as values, looked into only as far as an expression asks; and values as JSON. */
import { Kind, Segment, Slice, Writer, closeOf, findIn, hasBackslash, kindAt, numberOf, skipChecked, skipSpace, unescape } from 'dps'
import { TOO_LARGE, fits } from 'dps/abi'
import { shortestText } from 'dps/shortest'
import { behindPoint, powerOfTen, shortDigits } from 'dps/text'
import { isSame } from './compare'
import { putDuration, putTimestampText } from './moments'
import { FALSE, K, NULL, TRUE, Value, bytesAt, fail, isTooMuch, made, ofDouble, ofInt, ofText, pieceOf, spend } from './value'

/** The checked JSON value [start, end). */
export function fromJson(start: usize, end: usize): Value { return fromJsonOf(kindAt(start), start, end) }

/** The same of a value whose kind is known. */
export function fromJsonOf(kind: Kind, start: usize, end: usize): Value {
  if (kind == Kind.Null) return NULL
  if (kind == Kind.True) return TRUE
  if (kind == Kind.False) return FALSE
  const value =
    kind == Kind.Number
      ? numberFrom(start, end)
      : kind == Kind.String
        ? stringFrom(start, end)
        : made(kind == Kind.Array ? K.List : K.Map)
  value.jsonStart = start
  value.jsonEnd = end
  return value
}

function stringFrom(start: usize, end: usize): Value {
  if (!hasBackslash(start + 1, end - 1)) return bytesAt(K.String, start + 1, end - start - 2)
  if (isTooMuch(((end - start) >> 4) as i32)) return ofText('')
  spend(end - start + 32)
  const plain = new ArrayBuffer((end - start) as i32)
  const p = changetype<usize>(plain)
  return pieceOf(K.String, plain, unescape(start + 1, end - 1, p) - p)
}

/** So many digits always fit. */
const DIGITS_SAFE: usize = 18

/** A whole number is an int where it fits; every other number is a double. */
function numberFrom(start: usize, end: usize): Value {
  const digits = shortDigits(start, end)
  if (digits >= 0) return behindPoint > 0 ? ofDouble((digits as f64) / powerOfTen(behindPoint)) : ofInt(digits)
  const isNegative = load<u8>(start) == 45
  let p = isNegative ? start + 1 : start
  let n: u64 = 0
  const mayOverflow = end - p > DIGITS_SAFE
  for (; p < end; p++) {
    const digit = ((load<u8>(p) as u32) - 48) as u32
    if (digit > 9) return ofDouble(numberOf(start, end))
    if (mayOverflow && n > (<u64>0x8000000000000000 - digit) / 10) return ofDouble(numberOf(start, end))
    n = n * 10 + digit
  }
  if (isNegative) return n > 0x8000000000000000 ? ofDouble(numberOf(start, end)) : ofInt(0 - (n as i64))
  return n > (i64.MAX_VALUE as u64) ? ofDouble(numberOf(start, end)) : ofInt(n as i64)
}

/** The items of a list, the values of a map. */
export function itemsOf(value: Value): Value[] {
  if (value.items === null) open(value)
  return value.items!
}

export function keysOf(value: Value): Value[] {
  if (value.keys === null) open(value)
  return value.keys!
}

function open(value: Value): void {
  const items: Value[] = []
  value.items = items
  const end = value.jsonEnd
  let p = skipSpace(value.jsonStart + 1, end)
  if (value.kind == K.List) {
    // Beyond the record's share the list stays cut; `result` then says so.
    while (load<u8>(p) != 93 && !isTooMuch(1)) {
      const after = skipChecked(p)
      items.push(fromJson(p, after))
      p = skipSpace(after, end)
      if (load<u8>(p) == 44) p = skipSpace(p + 1, end)
    }
    return
  }
  const keys: Value[] = []
  value.keys = keys
  while (load<u8>(p) == 34 && !isTooMuch(3)) {
    const close = closeOf(p + 1) + 1
    const key = stringFrom(p, close)
    p = skipSpace(skipSpace(close, end) + 1, end)
    const after = skipChecked(p)
    const known = keys.length < FEW ? indexOfKey(keys, key) : placeOf(keys, key)
    if (known >= 0) items[known] = fromJson(p, after)
    else {
      keys.push(key)
      items.push(fromJson(p, after))
    }
    p = skipSpace(after, end)
    if (load<u8>(p) == 44) p = skipSpace(p + 1, end)
  }
}

/** Few keys are compared one by one; the places of many are looked up by a hash of their bytes (FNV-1a). */
const FEW: i32 = 32
const places: Map<u32, i32> = new Map<u32, i32>()

function hashOf(key: Value): u32 {
  let hash: u32 = 2166136261
  for (let i: usize = 0; i < key.length; i++) hash = (hash ^ (load<u8>(key.ptr + i) as u32)) * 16777619
  return hash
}

/** The place of a key that was there before, -1 for a new one, which is then known. */
function placeOf(keys: Value[], key: Value): i32 {
  if (keys.length == FEW) {
    places.clear()
    for (let i = 0; i < FEW; i++) places.set(hashOf(keys[i]), i)
  }
  spend(32)
  const hash = hashOf(key)
  if (!places.has(hash)) {
    places.set(hash, keys.length)
    return -1
  }
  const place = places.get(hash)
  return isSame(keys[place], key) ? place : indexOfKey(keys, key)
}

function indexOfKey(keys: Value[], key: Value): i32 {
  if (isTooMuch(keys.length >> 3)) return -1
  for (let i = 0; i < keys.length; i++) if (isSame(keys[i], key)) return i
  return -1
}

const slice = new Slice()

/** The value of a map's key that is a name; null where it has none. */
export function fieldOf(target: Value, name: Segment): Value | null {
  if (target.items === null) return findIn(target.jsonStart, name, slice) ? fromJson(slice.start, slice.end) : null
  const keys = target.keys!
  const p = changetype<usize>(name.bytes)
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]
    if (key.kind == K.String && key.length == name.length && memory.compare(key.ptr, p, key.length) == 0) return target.items![i]
  }
  return null
}

const asked = new Segment('')

/** The value of a member of a JSON object that is not opened yet; null where it has none. */
export function memberOf(from: Value, key: Value): Value | null {
  if (isTooMuch(((from.jsonEnd - from.jsonStart) >> 4) as i32)) return null
  asked.take(key.ptr, key.length)
  return findIn(from.jsonStart, asked, slice) ? fromJson(slice.start, slice.end) : null
}

/** The value of a map's key; null where it has none. Numbers of different types are the same key. */
export function entryOf(target: Value, key: Value): Value | null {
  const keys = keysOf(target)
  for (let i = 0; i < keys.length; i++) if (isSame(keys[i], key)) return target.items![i]
  return null
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

export function putBase64(out: Writer, ptr: usize, length: usize): void {
  out.room((length * 4) / 3 + 8)
  for (let i: usize = 0; i < length; i += 3) {
    const left = length - i
    const bits =
      ((load<u8>(ptr + i) as u32) << 16) |
      (left > 1 ? (load<u8>(ptr + i + 1) as u32) << 8 : 0) |
      (left > 2 ? (load<u8>(ptr + i + 2) as u32) : 0)
    out.byte(BASE64.charCodeAt(bits >> 18))
    out.byte(BASE64.charCodeAt((bits >> 12) & 63))
    out.byte(left > 1 ? BASE64.charCodeAt((bits >> 6) & 63) : 61)
    out.byte(left > 2 ? BASE64.charCodeAt(bits & 63) : 61)
  }
}

function putAscii(out: Writer, content: string): void {
  out.room(content.length)
  for (let i = 0; i < content.length; i++) out.byte(content.charCodeAt(i))
}

/** Shortest text that reads as the same double: `1.5`, `3`, `1e+21`. */
export function doubleText(d: f64): string {
  if (isNaN(d)) return 'NaN'
  if (!isFinite(d)) return d < 0 ? '-Infinity' : 'Infinity'
  if (d == 0) return 1 / d < 0 ? '-0' : '0'
  return shortestText(d)
}

/** Writes a value as JSON; null, or why it is none. What came as JSON and was not changed keeps its bytes. */
export function putJson(out: Writer, value: Value): Value | null {
  if (value.jsonStart != 0) {
    // Many copies of one text take no memory until they are written.
    if (!fits(out.length + (value.jsonEnd - value.jsonStart))) return fail(TOO_LARGE)
    out.bytes(value.jsonStart, value.jsonEnd - value.jsonStart)
    return null
  }
  const kind = value.kind
  if (kind == K.Null) putAscii(out, 'null')
  else if (kind == K.Bool) putAscii(out, value.n != 0 ? 'true' : 'false')
  else if (kind == K.Int) putAscii(out, value.n.toString())
  else if (kind == K.Uint) putAscii(out, (value.n as u64).toString())
  else if (kind == K.Double) {
    if (!isFinite(value.d)) return fail(doubleText(value.d) + ' is no JSON number')
    putAscii(out, doubleText(value.d))
  } else if (kind == K.String || kind == K.Type) {
    if (!fits(out.length + value.length)) return fail(TOO_LARGE)
    out.quoted(value.ptr, value.length)
  } else if (kind == K.Bytes) {
    if (!fits(out.length + value.length)) return fail(TOO_LARGE)
    out.byte(34)
    putBase64(out, value.ptr, value.length)
    out.byte(34)
  } else if (kind == K.Timestamp || kind == K.Duration) {
    out.byte(34)
    if (kind == K.Timestamp) putTimestampText(out, value)
    else putDuration(out, value)
    out.byte(34)
  } else if (kind == K.List) return putList(out, value)
  else if (kind == K.Map) return putMap(out, value)
  else if (kind == K.Optional) {
    if (value.items !== null) return putJson(out, value.items![0])
    putAscii(out, 'null')
  } else return value
  return null
}

function putList(out: Writer, value: Value): Value | null {
  const items = value.items!
  out.byte(91)
  for (let i = 0; i < items.length; i++) {
    if (i > 0) out.byte(44)
    const problem = putJson(out, items[i])
    if (problem !== null) return problem
  }
  out.byte(93)
  return null
}

function nameOf(key: Value): Value {
  if (key.kind == K.String) return key
  return ofText(key.kind == K.Bool ? (key.n != 0 ? 'true' : 'false') : key.kind == K.Uint ? (key.n as u64).toString() : key.n.toString())
}

/** Whether keys of different types have the same name as text. */
function hasTwins(keys: Value[]): bool {
  let isMixed = false
  for (let i = 1; i < keys.length; i++) if (keys[i].kind != keys[0].kind) isMixed = true
  if (!isMixed) return false
  const names: Value[] = []
  for (let i = 0; i < keys.length; i++) {
    const name = nameOf(keys[i])
    if (indexOfKey(names, name) >= 0) return true
    names.push(name)
  }
  return false
}

function putMap(out: Writer, value: Value): Value | null {
  const keys = value.keys!
  if (hasTwins(keys)) return fail('two keys of a map would have the same name in JSON')
  out.byte(123)
  for (let i = 0; i < keys.length; i++) {
    if (i > 0) out.byte(44)
    const name = nameOf(keys[i])
    if (!fits(out.length + name.length)) return fail(TOO_LARGE)
    out.quoted(name.ptr, name.length)
    out.byte(58)
    const problem = putJson(out, value.items![i])
    if (problem !== null) return problem
  }
  out.byte(125)
  return null
}
