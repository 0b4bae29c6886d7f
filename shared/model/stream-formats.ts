/** A stream's schema as it is registered in formats other than JSON Schema: Avro and Protobuf. Pure. */
import { bare, isOptional } from './stream-schema.ts'

/** Formats of the values of a stream. */
export const STREAM_FORMATS = ['json', 'avro', 'protobuf'] as const
/** The format of a stream's values. */
export type StreamFormat = (typeof STREAM_FORMATS)[number]

type AvroType = string | { type: string; logicalType?: string; items?: unknown }

/** Avro types by type name. Dates and times are numbers in Avro and ISO 8601 text in JSON; bytes are base64 in JSON. */
const AVRO: Record<string, AvroType> = {
  string: 'string',
  integer: 'long',
  number: 'double',
  boolean: 'boolean',
  datetime: { type: 'long', logicalType: 'timestamp-millis' },
  date: { type: 'int', logicalType: 'date' },
  uuid: { type: 'string', logicalType: 'uuid' },
  decimal: 'string',
  bytes: 'bytes',
}

const PROTOBUF: Record<string, string> = {
  string: 'string',
  integer: 'int64',
  number: 'double',
  boolean: 'bool',
  datetime: 'string',
  date: 'string',
  uuid: 'string',
  decimal: 'string',
  bytes: 'bytes',
}

const ARRAY = /^array<(.+)>$/

/** The Avro type of a type name without its `?`; undefined if Avro can't represent it. */
function avroTypeOf(type: string): AvroType | undefined {
  const items = ARRAY.exec(type)?.[1]
  if (items === undefined) return AVRO[type]
  const inner = avroTypeOf(items)
  return inner && { type: 'array', items: inner }
}

function protobufTypeOf(type: string): string | undefined {
  const items = ARRAY.exec(type)?.[1]
  if (items === undefined) return PROTOBUF[type]
  return PROTOBUF[items] && `repeated ${PROTOBUF[items]}`
}

/** Names of the fields whose types the format can't represent. */
export function unfitFields(format: StreamFormat, fields: Readonly<Record<string, string>>): string[] {
  if (format === 'json') return []
  const typeOf = format === 'avro' ? avroTypeOf : protobufTypeOf
  return Object.entries(fields)
    .filter(([, type]) => typeOf(bare(type)) === undefined)
    .map(([name]) => name)
}

/** The schema text to register for a stream of the format. The fields must fit the format (see `unfitFields`). */
export function formatTextOf(format: Exclude<StreamFormat, 'json'>, fields: Readonly<Record<string, string>>): string {
  if (format === 'avro')
    return JSON.stringify({
      type: 'record',
      name: 'Record',
      namespace: 'dps',
      fields: Object.entries(fields).map(([name, type]) => {
        const known = avroTypeOf(bare(type))
        return isOptional(type) ? { name, type: ['null', known], default: null } : { name, type: known }
      }),
    })
  const members = Object.entries(fields).map(([name, type], index) => {
    const known = protobufTypeOf(bare(type))!
    // Every field that can be `optional` is: a zero must differ from a missing value.
    return `  ${known.startsWith('repeated') ? known : `optional ${known}`} ${name} = ${index + 1};`
  })
  return `syntax = "proto3";\npackage dps;\n\nmessage Record {\n${members.join('\n')}\n}\n`
}
