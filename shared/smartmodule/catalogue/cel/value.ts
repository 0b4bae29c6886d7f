/** What an expression computes with. A value lives until the next record: garbage is collected between records alone. */
import { leftGarbage } from 'dps'

export const enum K { Null, Bool, Int, Uint, Double, String, Bytes, List, Map, Timestamp, Duration, Type, Optional, Error }

const TYPE_NAMES: string[] = [
  'null_type', 'bool', 'int', 'uint', 'double', 'string', 'bytes', 'list', 'map', 'google.protobuf.Timestamp', 'google.protobuf.Duration', 'type',
  'optional_type', 'error',
]

export class Value {
  kind: K
  /** The bits of a bool, int or uint; a timestamp's seconds since 1970; a duration's nanoseconds. */
  n: i64 = 0
  /** Of a timestamp, beyond its seconds. */
  nanos: i32 = 0
  d: f64 = 0
  /** UTF-8 of a string, a type's name or an error's message; the bytes of a bytes value. */
  ptr: usize = 0
  length: usize = 0
  /** Keeps the bytes of a constant alive. */
  owner: ArrayBuffer | null = null
  /** Of a list; of a map, beside its keys; of an optional, its value. Null for JSON that is not opened yet (`json.ts`). */
  items: Value[] | null = null
  keys: Value[] | null = null
  /** The JSON that it was read from, written again as it is. */
  jsonStart: usize = 0
  jsonEnd: usize = 0
  constructor(kind: K) { this.kind = kind }
}

export const NULL: Value = new Value(K.Null)
export const TRUE: Value = constantBool(true)
export const FALSE: Value = constantBool(false)
export const NONE: Value = new Value(K.Optional)

function constantBool(yes: bool): Value {
  const value = new Value(K.Bool)
  value.n = yes ? 1 : 0
  return value
}

// @ts-ignore: decorator
@inline
export function ofBool(yes: bool): Value { return yes ? TRUE : FALSE }

/** Numbers and pieces of the record are used again with the next record: making objects would be a third of a small expression's time. */
const POOL: StaticArray<Value> = new StaticArray<Value>(128).fill(NULL)
for (let i = 0; i < POOL.length; i++) POOL[i] = new Value(K.Null)
/** All are in use while constants are made, which must last. */
let used: i32 = POOL.length

function fresh(kind: K): Value {
  if (used >= POOL.length) return made(kind)
  const value = unchecked(POOL[used++])
  value.kind = kind
  value.jsonStart = 0
  return value
}

/** Bytes of garbage that the current record has made, of an instance's 64 MiB. */
let garbage: i32 = 0
const GARBAGE_MAX: i32 = 32 << 20
/** A value with its header. */
const VALUE_BYTES: i32 = 100

/** Notes so many bytes of garbage; at most 16 MiB at once. */
export function spend(bytes: usize): void { garbage += bytes as i32 }

export function made(kind: K): Value {
  garbage += VALUE_BYTES
  return new Value(kind)
}

/** Values made from now on are kept. */
export function makeConstants(): void { used = POOL.length }

export function ofInt(n: i64): Value {
  const value = fresh(K.Int)
  value.n = n
  return value
}

export function ofUint(n: u64): Value {
  const value = fresh(K.Uint)
  value.n = n as i64
  return value
}

export function ofDouble(d: f64): Value {
  const value = fresh(K.Double)
  value.d = d
  return value
}

/** Bytes that something else keeps. */
export function bytesAt(kind: K, ptr: usize, length: usize): Value {
  const value = fresh(kind)
  value.ptr = ptr
  value.length = length
  return value
}

/** A piece of bytes of its own. A value beyond the pool holds on to them; the pool's values are used again before they are collected. */
export function pieceOf(kind: K, bytes: ArrayBuffer, length: usize): Value {
  const lasts = used >= POOL.length
  const value = bytesAt(kind, changetype<usize>(bytes), length)
  if (lasts) value.owner = bytes
  return value
}

export function owned(kind: K, bytes: ArrayBuffer): Value {
  const value = made(kind)
  spend(bytes.byteLength)
  value.ptr = changetype<usize>(bytes)
  value.length = bytes.byteLength
  value.owner = bytes
  return value
}

export function ofText(content: string): Value { return owned(K.String, String.UTF8.encode(content)) }
export function ofType(name: string): Value { return owned(K.Type, String.UTF8.encode(name)) }
export function fail(message: string): Value { return owned(K.Error, String.UTF8.encode(message)) }
export function stringOf(value: Value): string {
  spend(2 * value.length)
  return String.UTF8.decodeUnsafe(value.ptr, value.length)
}

/** The start of a text, for a message. */
export function excerptOf(value: Value): string {
  if (value.length <= EXCERPT) return stringOf(value)
  let end: usize = EXCERPT
  while ((load<u8>(value.ptr + end) & 0xc0) == 0x80) end--
  return String.UTF8.decodeUnsafe(value.ptr, end) + '…'
}
const EXCERPT: usize = 100

export function ofList(items: Value[]): Value {
  spend(64 + 12 * items.length)
  const value = made(K.List)
  value.items = items
  return value
}

export function ofMap(keys: Value[], items: Value[]): Value {
  spend(128 + 24 * items.length)
  const value = made(K.Map)
  value.keys = keys
  value.items = items
  return value
}

export function ofTimestamp(seconds: i64, nanos: i32): Value {
  const value = made(K.Timestamp)
  value.n = seconds
  value.nanos = nanos
  return value
}

export function ofDuration(nanos: i64): Value {
  const value = made(K.Duration)
  value.n = nanos
  return value
}

export function ofOptional(inner: Value): Value {
  spend(64)
  const value = made(K.Optional)
  value.items = [inner]
  return value
}

export function typeNameOf(value: Value): string { return TYPE_NAMES[value.kind as i32] }

/** The function has no form for these types. */
export function noOverload(name: string, a: Value | null = null, b: Value | null = null): Value {
  let types = a === null ? '' : typeNameOf(a)
  if (b !== null) types += ', ' + typeNameOf(b)
  return fail('no such overload: ' + name + '(' + types + ')')
}

/** Work for one record, in evaluated nodes, compared items, and pieces of 16 bytes of text. */
const STEPS_MAX: i32 = 400000
let steps: i32 = 0
export function startWork(): void {
  leftGarbage(garbage)
  garbage = 0
  steps = 0
  used = 0
}
/** True when the record has had its share. */
export function isTooMuch(more: i32): bool {
  steps += more
  return steps > STEPS_MAX || garbage > GARBAGE_MAX
}
export function tooMuch(): Value { return steps > STEPS_MAX ? TOO_MANY_STEPS : TOO_MUCH_MEMORY }
const TOO_MANY_STEPS = fail('the expression takes more than 400,000 steps for one record')
const TOO_MUCH_MEMORY = fail('the expression takes more than 32 MiB of memory for one record')
