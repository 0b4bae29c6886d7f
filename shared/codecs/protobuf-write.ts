/** JSON values as what protobufjs encodes: bytes as buffers, enums as numbers, 64-bit integers as two halves, nulls left out. */
import type { Enum, Field, Type } from 'protobufjs'
import { doubleOf, FLOAT_MAX, integerOf, isObject, isRawJSON } from '../model/exact-json.ts'
import { unitsOf } from '../model/times.ts'
import { fromBase64 } from './base64.ts'
import { MemberRefused } from './member-refused.ts'

/** The 64-bit integers, which JavaScript's numbers can't hold. */
export const LONGS = new Set(['int64', 'uint64', 'sint64', 'fixed64', 'sfixed64'])
/** The full name of the message that is a time in JSON. */
export const TIMESTAMP = '.google.protobuf.Timestamp'
/** How many nanoseconds a second has. */
export const NANOS_PER_SECOND = 10n ** 9n

/** The names of members, and indices of lists, that lead to a value. */
type Path = readonly string[]
type Members = Record<string, unknown>

/** The type of a field that holds messages. */
export const innerTypeOf = ({ resolvedType }: Field): Type | undefined =>
  resolvedType && 'fieldsArray' in resolvedType ? resolvedType : undefined
/** The type of a field that holds names of an enum. */
export const enumOf = ({ resolvedType }: Field): Enum | undefined => (resolvedType && 'values' in resolvedType ? resolvedType : undefined)

const INT32: [min: number, max: number] = [-(2 ** 31), 2 ** 31 - 1]
const UINT32: [min: number, max: number] = [0, 2 ** 32 - 1]
const INTEGERS: Record<string, [min: number, max: number]> = {
  int32: INT32,
  sint32: INT32,
  sfixed32: INT32,
  uint32: UINT32,
  fixed32: UINT32,
}

/** The number of a member. Throws for one that protobufjs would truncate. */
function numberOf(type: string, value: unknown, at: Path): number {
  if (typeof value !== 'number' && !isRawJSON(value)) throw new MemberRefused(at, 'is not a number')
  const number = doubleOf(value)
  if (number === undefined) throw new MemberRefused(at, 'is a number that would lose digits')
  const range = INTEGERS[type]
  if (range && !Number.isInteger(number)) throw new MemberRefused(at, 'is not an integer')
  const [min, max] = range ?? (type === 'float' ? [-FLOAT_MAX, FLOAT_MAX] : [-Number.MAX_VALUE, Number.MAX_VALUE])
  if (!(number >= min && number <= max)) throw new MemberRefused(at, `is out of the range of ${type}`)
  return number
}

const LONG_RANGE = { signed: [-(2n ** 63n), 2n ** 63n - 1n], unsigned: [0n, 2n ** 64n - 1n] } as const

/** The two 32-bit halves in which protobufjs represents a 64-bit integer. */
const halvesOf = (value: bigint, unsigned: boolean) => ({
  low: Number(BigInt.asIntN(32, value)),
  high: Number(BigInt.asIntN(32, value >> 32n)),
  unsigned,
})

function longOf(type: string, value: unknown, at: Path): unknown {
  if (typeof value !== 'number' && !isRawJSON(value)) throw new MemberRefused(at, 'is not a number')
  const integer = integerOf(value)
  if (integer === undefined) throw new MemberRefused(at, `is not an integer in the range of ${type}`)
  const isUnsigned = type === 'uint64' || type === 'fixed64'
  const [min, max] = isUnsigned ? LONG_RANGE.unsigned : LONG_RANGE.signed
  if (integer < min || integer > max) throw new MemberRefused(at, `is out of the range of ${type}`)
  return halvesOf(integer, isUnsigned)
}

function bytesOf(value: unknown, at: Path): Buffer {
  const bytes = typeof value === 'string' ? fromBase64(value) : undefined
  if (!bytes) throw new MemberRefused(at, 'is not base64')
  return bytes
}

/** The number of an enum's name. An open enum, as in proto3, holds every number; a closed one those that have a name. */
function enumNumberOf(type: Enum, value: unknown, at: Path): number {
  if (typeof value === 'string') {
    if (!Object.hasOwn(type.values, value)) throw new MemberRefused(at, 'is not a name in its enum')
    return type.values[value]!
  }
  const number = numberOf('int32', value, at)
  const { enum_type } = (type as { _features?: { enum_type?: string } })._features ?? {}
  if (enum_type !== 'OPEN' && type.valuesById[number] === undefined) throw new MemberRefused(at, 'is not a number in its enum')
  return number
}

/** The Timestamp of a text. */
function timestampOf(text: string, at: Path): Members {
  const nanos = unitsOf(text, 9)
  if (nanos === undefined) throw new MemberRefused(at, 'is not a time (RFC 3339, at most nine digits of a second)')
  const fraction = ((nanos % NANOS_PER_SECOND) + NANOS_PER_SECOND) % NANOS_PER_SECOND
  return { seconds: halvesOf((nanos - fraction) / NANOS_PER_SECOND, false), nanos: Number(fraction) }
}

/** One value of a field: an item of a repeated one, a value of a map. */
function oneOf(field: Field, value: unknown, at: Path): unknown {
  const message = innerTypeOf(field)
  if (message) return message.fullName === TIMESTAMP && typeof value === 'string' ? timestampOf(value, at) : membersOf(message, value, at)
  const names = enumOf(field)
  if (names) return enumNumberOf(names, value, at)
  if (LONGS.has(field.type)) return longOf(field.type, value, at)
  switch (field.type) {
    case 'bytes':
      return bytesOf(value, at)
    case 'string':
      if (typeof value !== 'string') throw new MemberRefused(at, 'is not a string')
      return value
    case 'bool':
      if (typeof value !== 'boolean') throw new MemberRefused(at, 'is not true or false')
      return value
    default:
      return numberOf(field.type, value, at)
  }
}

/** The key of a map as protobufjs writes it: whatever it doesn't understand, it would write as another key. */
function keyOf(type: string, key: string, at: Path): string {
  // Of the texts, only the empty one is written as false.
  if (type === 'bool' && (key === 'true' || key === 'false')) return key === 'true' ? key : ''
  if (type === 'bool') throw new MemberRefused(at, 'is not true or false')
  const range = INTEGERS[type]
  if (!range) return key
  const number = Number(key)
  if (String(number) !== key || !Number.isInteger(number)) throw new MemberRefused(at, 'has a name that is not an integer')
  if (number < range[0] || number > range[1]) throw new MemberRefused(at, `has a name out of the range of ${type}`)
  return key
}

function memberOf(field: Field, value: unknown, at: Path): unknown {
  if (field.repeated) {
    if (!Array.isArray(value)) throw new MemberRefused(at, 'is not a list')
    return value.map((item, index) => oneOf(field, item, [...at, String(index)]))
  }
  if (!field.map) return oneOf(field, value, at)
  if (!isObject(value)) throw new MemberRefused(at, 'is not an object')
  const { keyType } = field as Field & { keyType: string }
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      const within = [...at, key]
      return [keyOf(keyType, key, within), oneOf(field, item, within)]
    }),
  )
}

/**
 * The members of a message, for `type.fromObject`, which needs no further check. Throws MemberRefused for what does not fit the type, and
 * an Error for a value that is not an object; `path` leads to the value.
 */
export function membersOf(type: Type, value: unknown, path: Path): Members {
  if (!isObject(value)) throw path.length === 0 ? new Error('the value is not a JSON object') : new MemberRefused(path, 'is not an object')
  // Without a prototype: protobufjs would take what a member named "toString" or "constructor" inherits for its value.
  const members = Object.create(null) as Members
  for (const [name, member] of Object.entries(value)) {
    if (member === null) continue
    const at = [...path, name]
    const field = Object.hasOwn(type.fields, name) ? type.fields[name] : undefined
    if (!field) throw new MemberRefused(at, "is not in the stream's Protobuf schema")
    const other = field.partOf?.oneof.find((each) => each in members)
    if (other !== undefined) throw new MemberRefused(at, `can't be there together with "${other}": at most one of them is set`)
    members[name] = memberOf(field, member, at)
  }
  for (const { required, name } of type.fieldsArray)
    if (required && !(name in members)) throw new MemberRefused([...path, name], 'is missing, and required')
  return members
}
