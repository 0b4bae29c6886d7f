/** CEL's strings extension. Positions count code points; texts are UTF-8, so most functions work on bytes. */
import { Writer } from 'dps'
import { spaceAt } from 'dps/text'
import { itemsOf } from './json'
import { K, Value, bytesAt, fail, isTooMuch, noOverload, ofInt, ofList, owned, tooMuch } from './value'

const out = new Writer()

function taken(): Value {
  const bytes = new ArrayBuffer(out.length as i32)
  memory.copy(changetype<usize>(bytes), out.start, out.length)
  return owned(K.String, bytes)
}

/** The part of a text between two of its bytes. */
function part(target: Value, from: usize, to: usize): Value {
  return bytesAt(K.String, target.ptr + from, to - from)
}

function isContinuation(byte: u8): bool {
  return (byte & 0xc0) == 0x80
}

export function countOf(value: Value): i64 {
  let count: i64 = 0
  isTooMuch((value.length >> 4) as i32)
  for (let i: usize = 0; i < value.length; i++) if (!isContinuation(load<u8>(value.ptr + i))) count++
  return count
}

/** Where the code point `index` starts; beyond the text for one that it does not have. */
function byteAt(value: Value, index: i64): usize {
  let count: i64 = -1
  isTooMuch((value.length >> 4) as i32)
  for (let i: usize = 0; i < value.length; i++) {
    if (!isContinuation(load<u8>(value.ptr + i)) && ++count == index) return i
  }
  return index == count + 1 ? value.length : value.length + 1
}

function outOfRange(index: i64): Value {
  return fail('index out of range: ' + index.toString())
}

/** The byte where `needle` is found from byte `from` on, -1 where it is not. */
export function find(value: Value, needle: Value, from: usize): i64 {
  const length = needle.length
  if (length == 0) return from <= value.length ? (from as i64) : -1
  if (isTooMuch(((value.length - from) >> 4) as i32)) return -1
  for (let i = from; i + length <= value.length; i++) if (isAt(value, needle, i)) return i as i64
  return -1
}

/** Texts that differ only far behind their beginnings cost what they are compared for. */
function isAt(value: Value, needle: Value, i: usize): bool {
  const p = value.ptr + i
  const last = needle.length - 1
  if (load<u8>(p) != load<u8>(needle.ptr) || load<u8>(p + last) != load<u8>(needle.ptr + last)) return false
  return !isTooMuch(1 + ((last >> 4) as i32)) && memory.compare(p, needle.ptr, last + 1) == 0
}

export function startsWith(value: Value, start: Value): bool {
  return value.length >= start.length && memory.compare(value.ptr, start.ptr, start.length) == 0
}

export function endsWith(value: Value, end: Value): bool {
  return value.length >= end.length && memory.compare(value.ptr + value.length - end.length, end.ptr, end.length) == 0
}

export function charAt(value: Value, index: i64): Value {
  const from = index < 0 ? value.length + 1 : byteAt(value, index)
  if (from > value.length) return outOfRange(index)
  let to = from < value.length ? from + 1 : from
  while (to < value.length && isContinuation(load<u8>(value.ptr + to))) to++
  return part(value, from, to)
}

function indexOfByte(value: Value, byte: usize): Value {
  return ofInt(countOf(part(value, 0, byte)))
}

export function indexOf(value: Value, needle: Value, from: i64): Value {
  const start = from < 0 ? value.length + 1 : byteAt(value, from)
  if (start > value.length) return outOfRange(from)
  if (isTooMuch((value.length >> 4) as i32)) return tooMuch()
  const at = find(value, needle, start)
  return at < 0 ? ofInt(-1) : indexOfByte(value, at as usize)
}

export function lastIndexOf(value: Value, needle: Value, from: i64, isGiven: bool): Value {
  let last = value.length
  if (isGiven) {
    last = from < 0 ? value.length + 1 : byteAt(value, from)
    if (last > value.length) return outOfRange(from)
  }
  if (needle.length > value.length || isTooMuch((value.length >> 4) as i32)) return ofInt(-1)
  let i = last + needle.length > value.length ? value.length - needle.length : last
  while (true) {
    if (needle.length == 0 || isAt(value, needle, i)) return indexOfByte(value, i)
    if (i == 0) return ofInt(-1)
    i--
  }
}

export function substring(value: Value, from: i64, to: i64, hasEnd: bool): Value {
  const start = from < 0 ? value.length + 1 : byteAt(value, from)
  if (start > value.length) return outOfRange(from)
  if (!hasEnd) return part(value, start, value.length)
  const end = to < 0 ? value.length + 1 : byteAt(value, to)
  if (end > value.length) return outOfRange(to)
  if (end < start) return fail('invalid substring range. start: ' + from.toString() + ', end: ' + to.toString())
  return part(value, start, end)
}

/** With ASCII letters in the other case. */
export function recased(value: Value, toUpper: bool): Value {
  if (isTooMuch((value.length >> 4) as i32)) return tooMuch()
  const bytes = new ArrayBuffer(value.length as i32)
  const to = changetype<usize>(bytes)
  for (let i: usize = 0; i < value.length; i++) {
    const c: u32 = load<u8>(value.ptr + i)
    store<u8>(to + i, (toUpper ? (c - 97 < 26 ? c - 32 : c) : c - 65 < 26 ? c + 32 : c) as u8)
  }
  return owned(K.String, bytes)
}

export function trim(value: Value): Value {
  const end = value.ptr + value.length
  let from = value.ptr
  while (from < end && spaceAt(from, end) > 0) from += spaceAt(from, end)
  let to = end
  while (to > from) {
    let before = to - 1
    while (before > from && isContinuation(load<u8>(before))) before--
    if (spaceAt(before, end) != to - before) break
    to = before
  }
  return part(value, from - value.ptr, to - value.ptr)
}

export function reverse(value: Value): Value {
  out.clear()
  out.room(value.length)
  let end = value.length
  for (let i = value.length; i > 0; i--) {
    if (isContinuation(load<u8>(value.ptr + i - 1))) continue
    out.bytes(value.ptr + i - 1, end - i + 1)
    end = i - 1
  }
  return taken()
}

/** The length of the code point at `i`; 0 at the end. */
function pointLength(value: Value, i: usize): usize {
  if (i >= value.length) return 0
  let to = i + 1
  while (to < value.length && isContinuation(load<u8>(value.ptr + to))) to++
  return to - i
}

const RESULT_MAX: usize = 16 << 20

/** `limit` is below zero for all. */
export function replace(value: Value, what: Value, by: Value, limit: i64): Value {
  out.clear()
  out.room(16)
  let at: usize = 0
  while (limit != 0) {
    const found = find(value, what, at)
    if (found < 0) break
    out.bytes(value.ptr + at, (found as usize) - at)
    out.bytes(by.ptr, by.length)
    if (out.length > RESULT_MAX || isTooMuch(1 + ((by.length >> 4) as i32))) return tooMuch()
    at = (found as usize) + what.length
    limit--
    if (what.length > 0) continue
    // An empty text is found between all code points.
    const length = pointLength(value, at)
    if (length == 0) return taken()
    out.bytes(value.ptr + at, length)
    at += length
  }
  out.bytes(value.ptr + at, value.length - at)
  return taken()
}

export function split(value: Value, by: Value, limit: i64): Value {
  const items: Value[] = []
  if (limit == 0) return ofList(items)
  let at: usize = 0
  while (limit < 0 || (items.length as i64) + 1 < limit) {
    let end = at
    if (by.length == 0) {
      end = at + pointLength(value, at)
      if (end >= value.length) break
    } else {
      const found = find(value, by, at)
      if (found < 0) break
      end = found as usize
    }
    if (isTooMuch(1)) return tooMuch()
    items.push(part(value, at, end))
    at = end + by.length
  }
  if (by.length > 0 || at < value.length) items.push(part(value, at, value.length))
  return ofList(items)
}

export function join(value: Value, between: Value | null): Value {
  const items = itemsOf(value)
  out.clear()
  out.room(16)
  for (let i = 0; i < items.length; i++) {
    if (items[i].kind != K.String) return noOverload('join', items[i])
    if (i > 0 && between !== null) out.bytes(between.ptr, between.length)
    out.bytes(items[i].ptr, items[i].length)
    if (out.length > RESULT_MAX || isTooMuch(1)) return tooMuch()
  }
  return taken()
}

/** Letters for the codes from 7 on. */
const LETTERS = 'abtnvfr'

/** The text as a literal. */
export function quote(value: Value): Value {
  if (isTooMuch((value.length >> 4) as i32)) return tooMuch()
  out.clear()
  out.room(2 * value.length + 2)
  out.byte(34)
  for (let i: usize = 0; i < value.length; i++) {
    const c: u32 = load<u8>(value.ptr + i)
    const isSpecial = c == 34 || c == 92 || c - 7 < 7
    if (isSpecial) out.byte(92)
    out.byte(isSpecial && c < 32 ? LETTERS.charCodeAt(c - 7) : c)
  }
  out.byte(34)
  return taken()
}
