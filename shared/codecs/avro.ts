/**
 * Avro values as JSON and back, by avsc. In JSON, times are ISO 8601 strings, decimals strings of digits, bytes base64. A value of a union
 * whose branches JSON can't tell apart is `{"<type>": value}`.
 */
import type { Type } from 'avsc'
import { assertWellFormed, doubleOf, exactDouble, FLOAT_MAX, integerOf, isObject, isRawJSON, parseExactly } from '../model/exact-json.ts'
import type { SchemaText } from '../model/schema-text.ts'
import { expectedOf } from './avro-expected.ts'
import { recordOf } from './avro-records.ts'
import { openAvroType } from './avro-schemas.ts'
import { isNoUuid, LONG, type Shape } from './avro-types.ts'
import { fromBase64 } from './base64.ts'
import type { Codec } from './codecs.ts'
import { createJsonBudget } from './expansion.ts'
import { MemberRefused } from './member-refused.ts'

/** Returns the codec of an Avro schema. Throws an Error that says why the schema can't be used. */
export function openAvro(schema: SchemaText): Codec {
  const budget = createJsonBudget()
  const type = openAvroType(schema, budget)
  return {
    fields: Object.fromEntries((type.fields ?? []).map((field) => [field.name, fieldType(type, field)])),
    toJson(value) {
      budget.begin(value.length)
      const record: unknown = type.fromBuffer(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
      return JSON.stringify(record, asPlain)
    },
    fromJson(json) {
      const given = parseExactly(json)
      assertWellFormed(json, given)
      const record = shaped(type, given, [])
      let wrong: MemberRefused | undefined
      const errorHook = (path: readonly string[], _value: unknown, at: Type) => {
        wrong ??= new MemberRefused([...path], `does not fit the stream's Avro schema: it must be ${expectedOf(at)}`)
      }
      if (!type.isValid(record, { errorHook })) throw wrong ?? new MemberRefused([], "does not fit the stream's Avro schema")
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
    case 'string':
      if (typeof value === 'string' && isNoUuid(type, value)) throw new MemberRefused(path, 'is not a UUID')
      return value
    case 'float':
      return floatFor(value)
    case 'bytes':
    case 'fixed':
      return typeof value === 'string' ? bytesOf(value, path) : value
    case 'array':
      return Array.isArray(value) ? value.map((item, index) => shaped(type.itemsType!, item, [...path, String(index)])) : value
    case 'map':
      return isObject(value) ? mapped(value, (key, item) => shaped(type.valuesType!, item, [...path, key])) : value
    case 'record':
    case 'error': {
      if (!isObject(value)) return value
      const { fields, defaults } = recordOf(type)
      for (const name of Object.keys(value))
        if (!fields.has(name)) throw new MemberRefused([...path, name], "is not in the stream's Avro schema")
      const members: Record<string, unknown> = {}
      for (const [name, inner] of fields) {
        if (Object.hasOwn(value, name)) members[name] = shaped(inner, value[name], [...path, name])
        else members[name] = defaults.has(name) ? defaults.get(name) : null
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
    return !['null', 'boolean', 'int', LONG, 'float', 'double', 'array', 'map', 'record', 'error'].includes(type.typeName)
  if (isRawJSON(value)) return [LONG, 'float', 'double'].includes(type.typeName)
  if (Array.isArray(value)) return type.typeName === 'array'
  return isObject(value) && ['record', 'error', 'map'].includes(type.typeName)
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
function fieldType(record: Shape, { name: field, type }: { name: string; type: Shape }): string {
  const [others, hasNull] = type.types
    ? [type.types.filter(({ typeName }) => typeName !== 'null'), type.types.some(({ typeName }) => typeName === 'null')]
    : [[type], false]
  const name = others.length === 1 ? typeNameOf(others[0]!) : 'any'
  return hasNull || recordOf(record).defaults.has(field) ? `${name}?` : name
}
