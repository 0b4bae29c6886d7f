/**
 * Protobuf values as JSON and back, by protobufjs. A value is read as the message of the schema that it says it is of; what is written is
 * of the stream's own message. In JSON, bytes are base64, enums names, 64-bit integers numbers with all their digits, times
 * (google.protobuf.Timestamp) RFC 3339.
 */
import { createRequire } from 'node:module'
import type { Field, Type } from 'protobufjs'
import type { SchemaText } from '../model/schema-text.ts'
import { assertWellFormed, exactDouble, exactInteger, parseExactly } from '../model/exact-json.ts'
import type { Codec } from './codecs.ts'
import { createJsonBudget, type JsonBudget } from './expansion.ts'
import { messagesOf, type Protobuf } from './protobuf-files.ts'
import { messageAt, messageNamed, readMessageIndex, writeMessageIndex, type ListedMessage } from './protobuf-messages.ts'
import { enumOf, LONGS, membersOf, innerTypeOf, NANOS_PER_SECOND, TIMESTAMP } from './protobuf-write.ts'
import { instantOf } from '../model/times.ts'

// Loaded by the first stream that needs it, so that lanes of JSON streams start without it.
const load = createRequire(import.meta.url)

/**
 * Returns the codec of the schema. What it writes is of `message`, the name of a message without the package, or of the first message.
 * Throws an Error that says why the schema can't be used.
 */
export function openProtobuf({ text, references, message: name }: SchemaText): Codec {
  const protobuf = load('protobufjs') as Protobuf
  const messages = messagesOf(protobuf, text, references)
  const own = name === undefined ? { type: messageAt(messages, [0]), indices: [0] } : messageNamed(messages, name)
  const { type } = own
  const budget = createJsonBudget()
  const index = writeMessageIndex(own.indices)
  const nested = messagesWithin(typesOf(messages))
  const exact = messagesToShow(nested)
  const unreadable = containers(nested, (each) => each.fieldsArray.some(hasLongKeys))
  const assertReadable = (each: Type): void => {
    if (unreadable.has(each)) throw new Error(`the message ${each.name} has a map with keys of 64 bits`)
  }
  assertReadable(type)
  return {
    fields: Object.fromEntries(type.fieldsArray.map((field) => [field.name, `${typeNameOf(field)}?`])),
    toJson(value) {
      const { indices, end } = readMessageIndex(value)
      const of = messageAt(messages, indices)
      assertReadable(of)
      const message = of.decode(value.subarray(end))
      budget.begin(value.length)
      assertBounded(of, message, budget)
      const record = of.toObject(message, { longs: String, bytes: String, enums: String, defaults: true })
      return JSON.stringify(exact.has(of) ? shown(of, record, message, exact) : record, asFinite)
    },
    fromJson(json) {
      const given = parseExactly(json)
      assertWellFormed(json, given)
      const members = membersOf(type, given, [])
      return Buffer.concat([index, type.encode(type.fromObject(members)).finish()])
    },
  }
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

/** Whether the field is a map whose keys are 64-bit integers, which protobufjs reads as bytes. */
function hasLongKeys(field: Field): boolean {
  const { keyType } = field as { keyType?: string }
  return keyType !== undefined && LONGS.has(keyType)
}

const typesOf = (messages: readonly ListedMessage[]): Type[] =>
  messages.flatMap(({ type, nested }) => [...(type ? [type] : []), ...typesOf(nested ?? [])])

/** The messages reachable from these, including themselves, each with those that its own fields hold. */
function messagesWithin(types: readonly Type[]): ReadonlyMap<Type, readonly Type[]> {
  const nested = new Map<Type, Type[]>()
  const open = [...types]
  for (let type = open.pop(); type; type = open.pop()) {
    if (nested.has(type)) continue
    const below = type.fieldsArray.flatMap((field) => innerTypeOf(field) ?? [])
    nested.set(type, below)
    open.push(...below)
  }
  return nested
}

/** The messages that are so themselves, and those that contain such a message at any depth. */
function containers(nested: ReadonlyMap<Type, readonly Type[]>, isSo: (type: Type) => boolean): ReadonlySet<Type> {
  const holders = new Map<Type, Type[]>()
  for (const [type, below] of nested)
    for (const inner of below) {
      const known = holders.get(inner)
      if (known) known.push(type)
      else holders.set(inner, [type])
    }
  const found = new Set<Type>()
  const open = [...nested.keys()].filter(isSo)
  for (let type = open.pop(); type; type = open.pop()) {
    if (found.has(type)) continue
    found.add(type)
    open.push(...(holders.get(type) ?? []))
  }
  return found
}

function asFinite(_name: string, member: unknown): unknown {
  return typeof member === 'number' ? exactDouble(member) : member
}

/** Whether protobufjs shows a default where the field is absent, although that is not the same: `optional` of proto2. */
const isAbsentAsDefault = (field: Field): boolean => field.hasPresence && !field.partOf && !innerTypeOf(field)

/** A field whose JSON differs from what protobufjs makes of it. `inner`: of messages that have such a field. */
type ToShow = { field: Field; isLong: boolean; isAbsent: boolean; inner: Type | undefined }
type Shown = ReadonlyMap<Type, readonly ToShow[]>

/** Those of the messages whose JSON differs from what protobufjs makes of them, with the fields at cause. */
function messagesToShow(nested: ReadonlyMap<Type, readonly Type[]>): Shown {
  const found = containers(nested, (each) => each.fieldsArray.some((field) => LONGS.has(field.type) || isAbsentAsDefault(field)))
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
