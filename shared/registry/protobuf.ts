/**
 * Protobuf values as JSON and back, by protobufjs: values of the schema's first message. In JSON, bytes are base64, enums names, 64-bit
 * integers numbers with all their digits, times (google.protobuf.Timestamp) RFC 3339.
 */
import { createRequire } from 'node:module'
import type { Field, Type } from 'protobufjs'
import type { SchemaText } from '../model/schema-text.ts'
import {
  assertWellFormed,
  doubleOf,
  exactDouble,
  exactInteger,
  FLOAT_MAX,
  integerOf,
  isRawJSON,
  parseExactly,
} from '../model/exact-json.ts'
import { fromBase64 } from './base64.ts'
import type { Codec } from './codecs.ts'
import { MemberRefused } from './member-refused.ts'
import { firstTypeOf, type Protobuf } from './protobuf-files.ts'
import { instantOf, unitsOf } from '../model/times.ts'

// Loaded by the first stream that needs it, so that lanes of JSON streams start without it.
const load = createRequire(import.meta.url)

/** Message index of the first message of a file, written as a single zero. */
const FIRST_MESSAGE = 0
/** The names of members, and indices of lists, that lead to a value. */
type Path = readonly string[]

const LONGS = new Set(['int64', 'uint64', 'sint64', 'fixed64', 'sfixed64'])

/** Returns the codec of the schema's first message. Throws an Error that says why the schema can't be used. */
export function openProtobuf({ text, references }: SchemaText): Codec {
  const protobuf = load('protobufjs') as Protobuf
  const type = firstTypeOf(protobuf, text, references)
  const exact = messagesToShow(type)
  assertKeysReadable(type, new Set())
  return {
    fields: Object.fromEntries(type.fieldsArray.map((field) => [field.name, `${typeNameOf(protobuf, field)}?`])),
    toJson(value) {
      if (value[0] !== FIRST_MESSAGE) throw new Error('the value is not of the first message of its schema')
      const message = type.decode(value.subarray(1))
      assertBounded(type, message, EXPANSION * value.length + EXPANSION_FLOOR)
      const record = type.toObject(message, { longs: String, bytes: String, enums: String, defaults: true })
      return JSON.stringify(exact.has(type) ? shown(type, record, exact) : record, asFinite)
    },
    fromJson(json) {
      const given = parseExactly(json)
      assertWellFormed(json, given)
      const members = shaped(protobuf, type, given, [])
      const wrong = type.verify(members)
      if (wrong !== null) throw new Error(`the value does not fit the stream's Protobuf schema: ${wrong}`)
      return Buffer.concat([Buffer.from([FIRST_MESSAGE]), type.encode(type.fromObject(members)).finish()])
    },
  }
}

/**
 * How many bytes of JSON a value may become, per byte and at least: each message has a member for every field of its type, so a list of
 * empty ones, two bytes each, could become gigabytes.
 */
const EXPANSION = 64
const EXPANSION_FLOOR = 8 << 20

/** Throws when the members of the message and of nested ones, with their names, take more bytes than given; returns what is left. */
function assertBounded(type: Type, message: object, bytesLeft: number): number {
  let left = bytesLeft
  for (const field of type.fieldsArray) {
    left -= field.name.length + 8
    if (left < 0) throw new Error('the value would become too much JSON, because its messages have many fields that it does not set')
    const inner = field.resolvedType && 'fieldsArray' in field.resolvedType ? field.resolvedType : undefined
    const held: unknown = Object.hasOwn(message, field.name) ? (message as Record<string, unknown>)[field.name] : undefined
    if (!inner || typeof held !== 'object' || held === null) continue
    for (const each of field.repeated || field.map ? Object.values(held) : [held]) left = assertBounded(inner, each as object, left)
  }
  return left
}

const messageOf = (protobuf: Protobuf, field: Field): Type | undefined =>
  field.resolvedType instanceof protobuf.Type ? field.resolvedType : undefined

/** Throws for maps whose keys are 64-bit integers, which protobufjs reads as bytes. */
function assertKeysReadable(type: Type, seen: Set<Type>): void {
  if (seen.has(type)) return
  seen.add(type)
  for (const field of type.fieldsArray) {
    const { keyType } = field as { keyType?: string }
    if (keyType !== undefined && LONGS.has(keyType)) throw new Error(`the map "${field.name}" has keys of 64 bits`)
    if (field.resolvedType && 'fieldsArray' in field.resolvedType) assertKeysReadable(field.resolvedType, seen)
  }
}

function asFinite(_name: string, member: unknown): unknown {
  return typeof member === 'number' ? exactDouble(member) : member
}

const RANGES: Record<string, [min: number, max: number]> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  sint32: [-(2 ** 31), 2 ** 31 - 1],
  sfixed32: [-(2 ** 31), 2 ** 31 - 1],
  uint32: [0, 2 ** 32 - 1],
  fixed32: [0, 2 ** 32 - 1],
  float: [-FLOAT_MAX, FLOAT_MAX],
}

/** Throws, naming the member, for a number out of range, which protobufjs would truncate. */
function assertFits(type: string, value: number, at: Path): void {
  const range = RANGES[type]
  if (range && !(value >= range[0] && value <= range[1])) throw new MemberRefused(at, `is out of the range of ${type}`)
}

const LONG_RANGE = { signed: [-(2n ** 63n), 2n ** 63n - 1n], unsigned: [0n, 2n ** 64n - 1n] } as const

/** The two 32-bit halves in which protobufjs represents a 64-bit integer. */
const halvesOf = (value: bigint, unsigned: boolean) => ({
  low: Number(BigInt.asIntN(32, value)),
  high: Number(BigInt.asIntN(32, value >> 32n)),
  unsigned,
})

/** A 64-bit integer as protobufjs accepts it. Throws, naming the member, for anything else. */
function longOf(type: string, value: unknown, at: Path): unknown {
  const integer = integerOf(value)
  const isUnsigned = type === 'uint64' || type === 'fixed64'
  const [min, max] = isUnsigned ? LONG_RANGE.unsigned : LONG_RANGE.signed
  if (integer === undefined || integer < min || integer > max) throw new MemberRefused(at, `is out of the range of ${type}`)
  return halvesOf(integer, isUnsigned)
}

const TIMESTAMP = '.google.protobuf.Timestamp'
const NANOS_PER_SECOND = 10n ** 9n

/** The messages reachable from the type, including itself, whose JSON differs from what protobufjs makes of them. */
function messagesToShow(type: Type): Set<Type> {
  const nested = new Map<Type, Type[]>()
  const visit = (each: Type): void => {
    if (nested.has(each)) return
    const below = each.fieldsArray.flatMap(({ resolvedType }) => (resolvedType && 'fieldsArray' in resolvedType ? [resolvedType] : []))
    nested.set(each, below)
    below.forEach(visit)
  }
  visit(type)
  const found = new Set([...nested.keys()].filter((each) => each.fieldsArray.some((field) => LONGS.has(field.type))))
  // A message that contains one of them is one of them too.
  for (let size = -1; size !== found.size;) {
    size = found.size
    for (const [each, below] of nested) if (below.some((inner) => found.has(inner))) found.add(each)
  }
  return found
}

/** Returns the record with its 64-bit integers and times in their JSON form; changes it in place. */
function shown(type: Type, record: Record<string, unknown>, exact: ReadonlySet<Type>): unknown {
  if (type.fullName === TIMESTAMP)
    return instantOf(BigInt(String(record.seconds)) * NANOS_PER_SECOND + BigInt(Number(record.nanos)), 9).replace(
      /(\.\d{3})000000Z|(\.\d{6})000Z/,
      '$1$2Z',
    )
  for (const field of type.fieldsArray) {
    const value = record[field.name]
    if (value === undefined || value === null) continue
    const inner = field.resolvedType && 'fieldsArray' in field.resolvedType ? field.resolvedType : undefined
    const one = LONGS.has(field.type)
      ? (item: unknown) => exactInteger(BigInt(String(item)))
      : inner && exact.has(inner)
        ? (item: unknown) => shown(inner, item as Record<string, unknown>, exact)
        : undefined
    if (!one) continue
    if (field.repeated) record[field.name] = (value as unknown[]).map(one)
    else if (field.map) record[field.name] = Object.fromEntries(Object.entries(value).map(([key, item]) => [key, one(item)]))
    else record[field.name] = one(value)
  }
  return record
}

/** The Timestamp of a text. Throws, naming the member, when it is not a time. */
function timestampOf(text: string, at: Path): Record<string, unknown> {
  const nanos = unitsOf(text, 9)
  if (nanos === undefined) throw new MemberRefused(at, 'is not a time (RFC 3339, at most nine digits of a second)')
  const fraction = ((nanos % NANOS_PER_SECOND) + NANOS_PER_SECOND) % NANOS_PER_SECOND
  return { seconds: halvesOf((nanos - fraction) / NANOS_PER_SECOND, false), nanos: Number(fraction) }
}

/**
 * Converts a JSON value to what protobufjs accepts: bytes as buffers, enums as numbers, nulls left out. Throws MemberRefused for what
 * does not fit; `path` leads to the value.
 */
function shaped(protobuf: Protobuf, type: Type, value: unknown, path: Path): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || isRawJSON(value))
    throw path.length === 0 ? new Error('the value is not a JSON object') : new MemberRefused(path, 'is not an object')
  const members: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) {
    if (member === null) continue
    const at = [...path, name]
    const field = Object.hasOwn(type.fields, name) ? type.fields[name] : undefined
    if (!field) throw new MemberRefused(at, "is not in the stream's Protobuf schema")
    const one = (item: unknown, at: Path): unknown => {
      const message = messageOf(protobuf, field)
      if (message?.fullName === TIMESTAMP && typeof item === 'string') return timestampOf(item, at)
      if (message) return shaped(protobuf, message, item, at)
      if (LONGS.has(field.type)) return longOf(field.type, item, at)
      if (field.resolvedType instanceof protobuf.Enum && typeof item === 'string') {
        const number = field.resolvedType.values[item]
        if (number === undefined) throw new MemberRefused(at, 'is not a name in its enum')
        return number
      }
      if (typeof item === 'number' || isRawJSON(item)) {
        const number = doubleOf(item)
        if (number === undefined) throw new MemberRefused(at, 'is a number that would lose digits')
        assertFits(field.type, number, at)
        return number
      }
      if (field.type !== 'bytes' || typeof item !== 'string') return item
      const bytes = fromBase64(item)
      if (!bytes) throw new MemberRefused(at, 'is not base64')
      return bytes
    }
    if (field.repeated) members[name] = Array.isArray(member) ? member.map((item, index) => one(item, [...at, String(index)])) : member
    else if (field.map && (typeof member !== 'object' || Array.isArray(member) || isRawJSON(member)))
      throw new MemberRefused(at, 'is not an object')
    else if (field.map) members[name] = Object.fromEntries(Object.entries(member).map(([key, item]) => [key, one(item, [...at, key])]))
    else members[name] = one(member, at)
  }
  return members
}

const SCALARS: Record<string, string> = { string: 'string', bool: 'boolean', bytes: 'bytes', float: 'number', double: 'number' }

function typeNameOf(protobuf: Protobuf, field: Field): string {
  if (field.map) return 'object'
  if (messageOf(protobuf, field)?.fullName === TIMESTAMP) return field.repeated ? 'array<datetime>' : 'datetime'
  const one = messageOf(protobuf, field) ? 'object' : field.resolvedType ? 'string' : (SCALARS[field.type] ?? 'integer')
  return field.repeated ? `array<${one}>` : one
}
