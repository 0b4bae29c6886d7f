/**
 * Avro values as JSON and back, by avsc. In JSON, times are ISO 8601 strings, decimals strings of digits, bytes base64. A value of a union
 * whose branches JSON can't tell apart is `{"<type>": value}`.
 */
import { createRequire } from 'node:module'
import type { Type } from 'avsc'
import type { SchemaText } from '../model/schema-text.ts'
import { assertWellFormed, doubleOf, exactDouble, FLOAT_MAX, integerOf, isRawJSON, parseExactly } from '../model/exact-json.ts'
import { exactLong, logicalTypes } from './avro-types.ts'
import { fromBase64 } from './base64.ts'
import type { Codec } from './codecs.ts'
import { MemberRefused } from './member-refused.ts'

// Loaded by the first stream that needs it, so that lanes of JSON streams start without it.
const load = createRequire(import.meta.url)

/** Members of avsc's types that are missing from its declarations. */
type Shape = Type & {
  fields?: { name: string; type: Shape; defaultValue(): unknown }[]
  itemsType?: Shape
  valuesType?: Shape
  types?: Shape[]
}

/** avsc's name for the 64-bit type made by `exactLong`. */
const LONG = 'abstract:long'
const NUMBERS = new Set(['int', 'long', 'float', 'double'])
/** Whether a branch of a union is a number in JSON. */
const isNumeric = (branch: unknown): boolean =>
  typeof branch === 'string'
    ? NUMBERS.has(branch)
    : isObject(branch) && NUMBERS.has(String(branch.type)) && !TEXT_TYPES.has(String(branch.logicalType))

/** Returns the codec of an Avro schema. Throws an Error that says why the schema can't be used. */
export function openAvro({ text, references }: SchemaText): Codec {
  const avro = load('avsc') as typeof import('avsc')
  const options = { wrapUnions: 'auto', logicalTypes: logicalTypes(avro.types), registry: {}, typeHook } as never
  const long = exactLong(avro.types)
  const opened = new Set<object>()
  /** Whether avsc should make a logical type of the schema. It then asks again for the underlying long, which is answered with false. */
  function isLogical(schema: Record<string, unknown>): boolean {
    if (!TIMES.has(String(schema.logicalType)) || opened.delete(schema)) return false
    opened.add(schema)
    return true
  }
  /**
   * Makes longs exact, and wraps unions with several branches that are strings in JSON, or several that are numbers: JSON can't tell those
   * apart, although avsc may tell their bytes apart.
   */
  function typeHook(schema: unknown, given: { registry: Record<string, Shape>; namespace?: string }): Type | undefined {
    if (schema === 'long' || (isObject(schema) && schema.type === 'long' && !isLogical(schema))) return long
    if (!Array.isArray(schema)) return undefined
    const isClear = schema.filter((branch) => isText(branch, given)).length < 2 && schema.filter(isNumeric).length < 2
    if (isClear) return undefined
    return new avro.types.WrappedUnionType(schema as never, given as never)
  }
  for (const reference of references) avro.Type.forSchema(JSON.parse(reference.text), options)
  const type = avro.Type.forSchema(JSON.parse(text), options) as Shape
  assertNoEmptyItems(type, new Set())
  return {
    fields: Object.fromEntries((type.fields ?? []).map((field) => [field.name, fieldType(field)])),
    toJson(value) {
      const record: unknown = type.fromBuffer(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
      return JSON.stringify(record, asPlain)
    },
    fromJson(json) {
      const given = parseExactly(json)
      assertWellFormed(json, given)
      const record = shaped(type, given, [])
      let wrong: string[] | undefined
      if (!type.isValid(record, { errorHook: (path) => void (wrong ??= [...path]) }))
        throw new MemberRefused(wrong ?? [], "does not fit the stream's Avro schema")
      return type.toBuffer(record)
    },
  }
}

/**
 * A replacer for JSON.stringify. It looks the member up in its holder (`this`), because `member` has already been through a buffer's own
 * toJSON.
 */
function asPlain(this: unknown, name: string, member: unknown): unknown {
  const before = (this as Record<string, unknown>)[name]
  if (Buffer.isBuffer(before)) return before.toString('base64')
  return typeof member === 'number' ? exactDouble(member) : member
}

const TIMES = new Set(['timestamp-millis', 'timestamp-micros', 'timestamp-nanos'])
/** Logical types that are strings in JSON. */
const TEXT_TYPES = new Set([...TIMES, 'date', 'decimal'])
const TEXTS = new Set(['string', 'bytes', 'fixed', 'enum'])

/** Whether a branch of a union is a string in JSON. */
function isText(branch: unknown, { registry, namespace }: { registry: Record<string, Shape>; namespace?: string }): boolean {
  if (typeof branch === 'string') {
    const known = registry[branch] ?? registry[`${namespace ?? ''}.${branch}`]
    return TEXTS.has(branch) || (known !== undefined && TEXTS.has(known.typeName))
  }
  if (!isObject(branch)) return false
  const { type, logicalType } = branch
  return TEXT_TYPES.has(String(logicalType)) || TEXTS.has(String(type))
}

/** Throws for lists whose items take no bytes: a value of five bytes could have a billion of them. */
function assertNoEmptyItems(type: Shape, seen: Set<Shape>): void {
  if (seen.has(type)) return
  seen.add(type)
  if (type.itemsType && isEmpty(type.itemsType, new Set())) throw new Error('it has a list of items that take no bytes')
  const inner = [type.itemsType, type.valuesType, ...(type.types ?? []), ...(type.fields ?? []).map((field) => field.type)]
  for (const each of inner) if (each) assertNoEmptyItems(each, seen)
}

function isEmpty(type: Shape, seen: Set<Shape>): boolean {
  if (type.typeName === 'null' || (type.typeName === 'fixed' && (type as { size?: number }).size === 0)) return true
  if (type.typeName !== 'record' || seen.has(type)) return false
  seen.add(type)
  return type.fields!.every((field) => isEmpty(field.type, seen))
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !isRawJSON(value)

/**
 * A number with more digits than JavaScript keeps, as its type accepts it. For other types it becomes a value that does not fit, so that
 * the error names the member.
 */
function numberFor({ typeName }: Shape, value: { rawJSON: string }): unknown {
  if (typeName === LONG && integerOf(value) !== undefined) return value
  return typeName === 'float' || typeName === 'double' ? doubleOf(value) : Number(value.rawJSON)
}

/** avsc writes a number out of a float's range as infinity. As a text it does not fit. */
function floatFor(value: unknown): unknown {
  return typeof value === 'number' && Math.abs(value) > FLOAT_MAX ? String(value) : value
}

/**
 * Converts a JSON value to what avsc accepts: bytes as buffers, null for a missing member without a default. Throws MemberRefused for an
 * unknown member; `path` leads to the value.
 */
function shaped(type: Shape, value: unknown, path: readonly string[]): unknown {
  if (isRawJSON(value) && !type.types) {
    const number = numberFor(type, value)
    return type.typeName === 'float' ? floatFor(number) : number
  }
  switch (type.typeName) {
    case 'float':
      return floatFor(value)
    case 'bytes':
    case 'fixed':
      return typeof value === 'string' ? bytesOf(value, path) : value
    case 'array':
      return Array.isArray(value) ? value.map((item, index) => shaped(type.itemsType!, item, [...path, String(index)])) : value
    case 'map':
      return isObject(value) ? mapped(value, (key, item) => shaped(type.valuesType!, item, [...path, key])) : value
    case 'record': {
      if (!isObject(value)) return value
      const members: Record<string, unknown> = { ...value }
      const unknown = Object.keys(members).find((name) => !type.fields!.some((field) => field.name === name))
      if (unknown !== undefined) throw new MemberRefused([...path, unknown], "is not in the stream's Avro schema")
      for (const field of type.fields!) {
        if (members[field.name] !== undefined) members[field.name] = shaped(field.type, members[field.name], [...path, field.name])
        else if (field.defaultValue() === undefined) members[field.name] = null
      }
      return members
    }
    case 'union:unwrapped': {
      if (value === null) return value
      const fitting = type.types!.filter((each) => canHold(each, value))
      if (fitting.length === 1) return shaped(fitting[0]!, value, path)
      return isRawJSON(value) ? Number(value.rawJSON) : value
    }
    case 'union:wrapped': {
      if (!isObject(value)) return isRawJSON(value) ? Number(value.rawJSON) : value
      const named = (name: string) => type.types!.find((each) => each.branchName === name)
      return mapped(value, (name, item) => (named(name) ? shaped(named(name)!, item, [...path, name]) : item))
    }
    default:
      return value
  }
}

const mapped = (value: Record<string, unknown>, change: (name: string, item: unknown) => unknown): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).map(([name, item]) => [name, change(name, item)]))

function bytesOf(text: string, path: readonly string[]): Buffer {
  const bytes = fromBase64(text)
  if (!bytes) throw new MemberRefused(path, 'is not base64')
  return bytes
}

/** Whether a JSON value may belong to this branch of a union. Unions whose branches JSON can't tell apart are wrapped instead. */
function canHold(type: Shape, value: unknown): boolean {
  if (typeof value === 'string')
    return !['null', 'boolean', 'int', LONG, 'float', 'double', 'array', 'map', 'record'].includes(type.typeName)
  if (isRawJSON(value)) return [LONG, 'float', 'double'].includes(type.typeName)
  if (Array.isArray(value)) return type.typeName === 'array'
  return isObject(value) && ['record', 'map'].includes(type.typeName)
}

const SCALARS: Record<string, string> = {
  string: 'string',
  enum: 'string',
  int: 'integer',
  [LONG]: 'integer',
  float: 'number',
  double: 'number',
  boolean: 'boolean',
  bytes: 'bytes',
  fixed: 'bytes',
  map: 'object',
  record: 'object',
  'logical:timestamp-millis': 'datetime',
  'logical:timestamp-micros': 'datetime',
  'logical:timestamp-nanos': 'datetime',
  'logical:decimal': 'decimal',
  'logical:date': 'date',
}

function typeNameOf(type: Shape): string {
  if (type.typeName === 'array') return `array<${typeNameOf(type.itemsType!)}>`
  return SCALARS[type.typeName] ?? 'any'
}

/** The field's type name; it ends in `?` if the field has a default or may be null, because the member may then be missing. */
function fieldType(field: NonNullable<Shape['fields']>[number]): string {
  const { type } = field
  const [others, hasNull] = type.types
    ? [type.types.filter(({ typeName }) => typeName !== 'null'), type.types.some(({ typeName }) => typeName === 'null')]
    : [[type], false]
  const name = others.length === 1 ? typeNameOf(others[0]!) : 'any'
  return hasNull || field.defaultValue() !== undefined ? `${name}?` : name
}
