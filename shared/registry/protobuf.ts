/** Protobuf values as JSON and back, by protobufjs: the first message of the schema. Bytes are base64, enums names, 64-bit integers numbers. */
import { createRequire } from 'node:module'
import type { Field, NamespaceBase, Type } from 'protobufjs'
import type { SchemaText } from '../model/schema-text.ts'
import { fromBase64 } from './base64.ts'
import type { Codec } from './codecs.ts'

// Loaded with the first stream that needs it: lanes of JSON streams start without.
const load = createRequire(import.meta.url)

/** One message of a file, the first: its index is written as a single zero. */
const FIRST_MESSAGE = 0
const LONGS = new Set(['int64', 'uint64', 'sint64', 'fixed64', 'sfixed64'])

type Protobuf = typeof import('protobufjs')

export function openProtobuf({ text, references }: SchemaText): Codec {
  const protobuf = load('protobufjs') as Protobuf
  const type = firstMessage(protobuf, text, references)
  const holdsLongs = messagesWithLongs(type)
  assertKeysReadable(type, new Set())
  return {
    fields: Object.fromEntries(type.fieldsArray.map((field) => [field.name, `${typeNameOf(protobuf, field)}?`])),
    toJson(value) {
      if (value[0] !== FIRST_MESSAGE) throw new Error('the value is of another message than the first of its schema')
      const record = type.toObject(type.decode(value.subarray(1)), { longs: Number, bytes: String, enums: String, defaults: true })
      if (holdsLongs.has(type)) assertExact(type, record, holdsLongs)
      return JSON.stringify(record, asFinite)
    },
    fromJson(json) {
      const members = shaped(protobuf, type, JSON.parse(json), '')
      const wrong = type.verify(members)
      if (wrong !== null) throw new Error(`the value does not fit the stream's Protobuf schema: ${wrong}`)
      return Buffer.concat([Buffer.from([FIRST_MESSAGE]), type.encode(type.fromObject(members)).finish()])
    },
  }
}

/** Throws an Error when the text has no message, or names what is not there. */
function firstMessage(protobuf: Protobuf, text: string, references: SchemaText['references']): Type {
  const root = new protobuf.Root()
  const main = protobuf.parse(text, root, { keepCase: true })
  const space = main.package === undefined ? root : (root.lookup(main.package) as NamespaceBase)
  const type = space.nestedArray.find((each): each is Type => each instanceof protobuf.Type)
  if (!type) throw new Error('the schema has no message')
  const imports = [...(main.imports ?? [])]
  for (const reference of references) imports.push(...(protobuf.parse(reference.text, root, { keepCase: true }).imports ?? []))
  // Google's own types come with the library.
  for (const name of new Set(imports)) {
    const common = protobuf.common.get(name)
    if (common?.nested) root.addJSON(common.nested)
  }
  root.resolveAll()
  return type
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
  if (typeof member === 'number' && !Number.isFinite(member)) throw new Error('the value has a number that is not finite')
  return member
}

const RANGES: Record<string, [min: number, max: number]> = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  sint32: [-(2 ** 31), 2 ** 31 - 1],
  sfixed32: [-(2 ** 31), 2 ** 31 - 1],
  uint32: [0, 2 ** 32 - 1],
  fixed32: [0, 2 ** 32 - 1],
  int64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  sint64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  sfixed64: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  uint64: [0, Number.MAX_SAFE_INTEGER],
  fixed64: [0, Number.MAX_SAFE_INTEGER],
  // The largest float (IEEE 754 binary32).
  float: [-3.4028234663852886e38, 3.4028234663852886e38],
}

/** protobufjs cuts off what does not fit. */
function assertFits(type: string, value: number, at: string): void {
  const range = RANGES[type]
  if (range && !(value >= range[0] && value <= range[1])) throw new Error(`the member "${at}" is out of the range of ${type}`)
}

/** Messages below the type, itself too, that have 64-bit integers somewhere inside. */
function messagesWithLongs(type: Type): Set<Type> {
  const nested = new Map<Type, Type[]>()
  const visit = (each: Type): void => {
    if (nested.has(each)) return
    const below = each.fieldsArray.flatMap(({ resolvedType }) => (resolvedType && 'fieldsArray' in resolvedType ? [resolvedType] : []))
    nested.set(each, below)
    below.forEach(visit)
  }
  visit(type)
  const found = new Set([...nested.keys()].filter((each) => each.fieldsArray.some((field) => LONGS.has(field.type))))
  // A message that holds one of them is one of them.
  for (let size = -1; size !== found.size;) {
    size = found.size
    for (const [each, below] of nested) if (below.some((inner) => found.has(inner))) found.add(each)
  }
  return found
}

/** Throws where a 64-bit integer would lose digits as a number. */
function assertExact(type: Type, record: Record<string, unknown>, holdsLongs: ReadonlySet<Type>): void {
  for (const field of type.fieldsArray) {
    const value = record[field.name]
    if (value === undefined || value === null) continue
    const isLong = LONGS.has(field.type)
    const inner = field.resolvedType && 'fieldsArray' in field.resolvedType ? field.resolvedType : undefined
    if (!isLong && !(inner && holdsLongs.has(inner))) continue
    for (const item of field.repeated || field.map ? Object.values(value) : [value]) {
      if (inner) assertExact(inner, item as Record<string, unknown>, holdsLongs)
      else if (!Number.isSafeInteger(item)) throw new Error(`the member "${field.name}" is a number that would lose digits`)
    }
  }
}

/** The JSON value as protobufjs takes it: bytes as buffers, enums as numbers, nothing for null. Throws naming a member that is not known. */
function shaped(protobuf: Protobuf, type: Type, value: unknown, path: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(path === '' ? 'the value is not a JSON object' : `the member "${path}" is not an object`)
  const members: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) {
    if (member === null) continue
    const at = path === '' ? name : `${path}.${name}`
    const field = Object.hasOwn(type.fields, name) ? type.fields[name] : undefined
    if (!field) throw new Error(`the member "${at}" is not in the stream's Protobuf schema`)
    const one = (item: unknown): unknown => {
      const message = messageOf(protobuf, field)
      if (message) return shaped(protobuf, message, item, at)
      if (field.resolvedType instanceof protobuf.Enum && typeof item === 'string') {
        const number = field.resolvedType.values[item]
        if (number === undefined) throw new Error(`the member "${at}" is none of the names of its enum`)
        return number
      }
      if (typeof item === 'number') assertFits(field.type, item, at)
      return field.type === 'bytes' && typeof item === 'string' ? fromBase64(item) : item
    }
    if (field.repeated) members[name] = Array.isArray(member) ? member.map(one) : member
    else if (field.map && typeof member === 'object')
      members[name] = Object.fromEntries(Object.entries(member).map(([key, item]) => [key, one(item)]))
    else members[name] = one(member)
  }
  return members
}

const SCALARS: Record<string, string> = { string: 'string', bool: 'boolean', bytes: 'bytes', float: 'number', double: 'number' }

function typeNameOf(protobuf: Protobuf, field: Field): string {
  if (field.map) return 'object'
  const one = messageOf(protobuf, field) ? 'object' : field.resolvedType ? 'string' : (SCALARS[field.type] ?? 'integer')
  return field.repeated ? `array<${one}>` : one
}
