/**
 * Protobuf values as JSON and back, by protobufjs: values of the schema's first message. In JSON, bytes are base64, enums names, 64-bit
 * integers numbers with all their digits, times (google.protobuf.Timestamp) RFC 3339.
 */
import { createRequire } from 'node:module'
import type { Field, Type } from 'protobufjs'
import type { SchemaText } from '../model/schema-text.ts'
import { assertWellFormed, exactDouble, exactInteger, parseExactly } from '../model/exact-json.ts'
import type { Codec } from './codecs.ts'
import { createJsonBudget, type JsonBudget } from './expansion.ts'
import { firstTypeOf, type Protobuf } from './protobuf-files.ts'
import { enumOf, LONGS, membersOf, innerTypeOf, NANOS_PER_SECOND, TIMESTAMP } from './protobuf-write.ts'
import { instantOf } from '../model/times.ts'

// Loaded by the first stream that needs it, so that lanes of JSON streams start without it.
const load = createRequire(import.meta.url)

/** Message index of the first message of a file, written as a single zero. */
const FIRST_MESSAGE = 0

/** Returns the codec of the schema's first message. Throws an Error that says why the schema can't be used. */
export function openProtobuf({ text, references }: SchemaText): Codec {
  const protobuf = load('protobufjs') as Protobuf
  const type = firstTypeOf(protobuf, text, references)
  const exact = messagesToShow(type)
  const budget = createJsonBudget()
  assertKeysReadable(type, new Set())
  return {
    fields: Object.fromEntries(type.fieldsArray.map((field) => [field.name, `${typeNameOf(field)}?`])),
    toJson(value) {
      const message = type.decode(value.subarray(endOfIndex(value)))
      budget.begin(value.length)
      assertBounded(type, message, budget)
      const record = type.toObject(message, { longs: String, bytes: String, enums: String, defaults: true })
      return JSON.stringify(exact.has(type) ? shown(type, record, message, exact) : record, asFinite)
    },
    fromJson(json) {
      const given = parseExactly(json)
      assertWellFormed(json, given)
      const members = membersOf(type, given, [])
      return Buffer.concat([Buffer.from([FIRST_MESSAGE]), type.encode(type.fromObject(members)).finish()])
    },
  }
}

/**
 * Where the message begins, after the path of its type: how many indices, and each of them, as zigzag varints (Confluent wire format). The
 * path of the first message is usually a single zero, and may be written in full. Throws for another message.
 */
function endOfIndex(value: Uint8Array): number {
  if (value[0] === FIRST_MESSAGE) return 1
  if (value[0] === 2 && value[1] === FIRST_MESSAGE) return 2
  throw new Error('the value is not of the first message of its schema')
}

/** What the members of a message take in JSON without their values, and the fields whose values count too. */
type Cost = { members: number; fields: Field[] }
const costs = new WeakMap<Type, Cost>()

function costOf(type: Type): Cost {
  const members = type.fieldsArray.reduce((sum, { name }) => sum + name.length + 8, 0)
  const cost = { members, fields: type.fieldsArray.filter((field) => field.resolvedType) }
  costs.set(type, cost)
  return cost
}

/** Spends what the members of the message and of nested ones take with their names, whether they are set or not. */
function assertBounded(type: Type, message: object, budget: JsonBudget): void {
  const { members, fields } = costs.get(type) ?? costOf(type)
  budget.spend(members)
  for (const field of fields) {
    const inner = innerTypeOf(field)
    const names = enumOf(field)
    const held: unknown = Object.hasOwn(message, field.name) ? (message as Members)[field.name] : names && field.typeDefault
    const items = field.repeated || field.map ? Object.values(held ?? {}) : [held]
    for (const each of items) {
      if (inner && typeof each === 'object' && each !== null) assertBounded(inner, each, budget)
      else if (names) budget.spend((names.valuesById[Number(each)]?.length ?? 8) + 3)
    }
  }
}

/** Throws for maps whose keys are 64-bit integers, which protobufjs reads as bytes. */
function assertKeysReadable(type: Type, seen: Set<Type>): void {
  if (seen.has(type)) return
  seen.add(type)
  for (const field of type.fieldsArray) {
    const { keyType } = field as { keyType?: string }
    if (keyType !== undefined && LONGS.has(keyType)) throw new Error(`the map "${field.name}" has keys of 64 bits`)
    const inner = innerTypeOf(field)
    if (inner) assertKeysReadable(inner, seen)
  }
}

function asFinite(_name: string, member: unknown): unknown {
  return typeof member === 'number' ? exactDouble(member) : member
}

/** Whether protobufjs shows a default where the field is absent, although that is not the same: `optional` of proto2. */
const isAbsentAsDefault = (field: Field): boolean => field.hasPresence && !field.partOf && !innerTypeOf(field)

/** A field whose JSON differs from what protobufjs makes of it. `inner`: of messages that have such a field. */
type ToShow = { field: Field; isLong: boolean; isAbsent: boolean; inner: Type | undefined }
type Shown = ReadonlyMap<Type, readonly ToShow[]>

/**
 * The messages reachable from the type, including itself, whose JSON differs from what protobufjs makes of them, with the fields at cause.
 */
function messagesToShow(type: Type): Shown {
  const nested = new Map<Type, Type[]>()
  const visit = (each: Type): void => {
    if (nested.has(each)) return
    const below = each.fieldsArray.flatMap((field) => innerTypeOf(field) ?? [])
    nested.set(each, below)
    below.forEach(visit)
  }
  visit(type)
  const found = new Set(
    [...nested.keys()].filter((each) => each.fieldsArray.some((field) => LONGS.has(field.type) || isAbsentAsDefault(field))),
  )
  // A message that contains one of them is one of them too.
  for (let size = -1; size !== found.size;) {
    size = found.size
    for (const [each, below] of nested) if (below.some((inner) => found.has(inner))) found.add(each)
  }
  const toShow = (field: Field): ToShow => {
    const inner = innerTypeOf(field)
    return {
      field,
      isLong: LONGS.has(field.type),
      isAbsent: isAbsentAsDefault(field),
      inner: inner && found.has(inner) ? inner : undefined,
    }
  }
  return new Map(
    [...found].map((each) => [each, each.fieldsArray.map(toShow).filter(({ isLong, isAbsent, inner }) => isLong || isAbsent || inner)]),
  )
}

type Members = Record<string, unknown>

/** Returns the record with 64-bit integers and times in their JSON form, and without what the message has not; changes it in place. */
function shown(type: Type, record: Members, message: object, exact: Shown): unknown {
  if (type.fullName === TIMESTAMP)
    return instantOf(BigInt(String(record.seconds)) * NANOS_PER_SECOND + BigInt(Number(record.nanos)), 9).replace(
      /(\.\d{3})000000Z|(\.\d{6})000Z/,
      '$1$2Z',
    )
  for (const { field, isLong, isAbsent, inner } of exact.get(type)!) {
    const { name } = field
    if (isAbsent && !Object.hasOwn(message, name)) delete record[name]
    if (!Object.hasOwn(record, name) || record[name] === null || !(isLong || inner)) continue
    const held = (message as Members)[name]
    const one = (item: unknown, of: unknown): unknown =>
      inner ? shown(inner, item as Members, of as object, exact) : exactInteger(BigInt(String(item)))
    const value = record[name]
    if (field.repeated) record[name] = (value as unknown[]).map((item, index) => one(item, (held as unknown[])[index]))
    else if (field.map)
      record[name] = Object.fromEntries(Object.entries(value as Members).map(([key, item]) => [key, one(item, (held as Members)[key])]))
    else record[name] = one(value, held)
  }
  return record
}

const SCALARS: Record<string, string> = { string: 'string', bool: 'boolean', bytes: 'bytes', float: 'number', double: 'number' }

function typeNameOf(field: Field): string {
  if (field.map) return 'object'
  const message = innerTypeOf(field)
  if (message?.fullName === TIMESTAMP) return field.repeated ? 'array<datetime>' : 'datetime'
  const one = message ? 'object' : field.resolvedType ? 'string' : (SCALARS[field.type] ?? 'integer')
  return field.repeated ? `array<${one}>` : one
}
