/**
 * Values of Avro and Protobuf streams to JSON and back: for the API, and for chains, whose steps see JSON. What stands behind the registry's
 * five bytes is the value itself for Avro, and an index of the message before it for Protobuf (Confluent wire format).
 */
import { createRequire } from 'node:module'
import type { Type as AvroType } from 'avsc'
import type { StreamFormat } from '../model/stream-formats.ts'
import { FRAMING_BYTES } from './framing.ts'

export type Codec = {
  /** The value's JSON text. Throws an Error that says why it can't be read. */
  toJson(value: Uint8Array): string
  /** Throws an Error that names the member that does not fit. */
  fromJson(text: string): Buffer
}

/** Nobody has told of the schema yet: it may be newer than the definition that the chain runs by. */
export class UnknownSchema extends Error {}

/** Framed values of a stream as framed JSON: schemas by the id in the frame. Throws an Error that says why one can't be read. */
export function openValueDecoder({ format, schemas }: { format: Exclude<StreamFormat, 'json'>; schemas: Record<string, string> }) {
  const codecs = new Map<number, Codec>()
  return (value: Buffer): Buffer => {
    if (value.length < FRAMING_BYTES || value[0] !== 0)
      throw new Error('the value does not start with the schema registry prefix (magic byte 0)')
    const id = value.readInt32BE(1)
    let codec = codecs.get(id)
    if (!codec) {
      const schema = schemas[String(id)]
      if (schema === undefined) throw new UnknownSchema(`the value was written with schema ${id}, which the stream does not have`)
      codecs.set(id, (codec = openCodec(format, schema)))
    }
    return Buffer.concat([value.subarray(0, FRAMING_BYTES), Buffer.from(codec.toJson(value.subarray(FRAMING_BYTES)))])
  }
}

// Loaded with the first stream that needs them: lanes of JSON streams start without.
const load = createRequire(import.meta.url)

export function openCodec(format: Exclude<StreamFormat, 'json'>, schema: string): Codec {
  return format === 'avro' ? openAvro(schema) : openProtobuf(schema)
}

const DAY_MS = 86_400_000

function openAvro(schema: string): Codec {
  const avro = load('avsc') as typeof import('avsc')
  const { LogicalType } = avro.types
  /** Times are ISO texts outside; avsc's own base class leaves the rest as it is. */
  class Timestamp extends LogicalType {
    protected override _fromValue(value: number): string {
      return new Date(value).toISOString()
    }
    protected override _toValue(value: unknown): number | undefined {
      const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
      return Number.isNaN(time) ? undefined : time
    }
    protected override _resolve(): undefined {
      return undefined
    }
  }
  class Day extends LogicalType {
    protected override _fromValue(value: number): string {
      return new Date(value * DAY_MS).toISOString().slice(0, 10)
    }
    protected override _toValue(value: unknown): number | undefined {
      const time = typeof value === 'string' ? Date.parse(`${value}T00:00:00Z`) : Number.NaN
      return Number.isNaN(time) ? undefined : Math.round(time / DAY_MS)
    }
    protected override _resolve(): undefined {
      return undefined
    }
  }
  const type: AvroType = avro.Type.forSchema(JSON.parse(schema), {
    wrapUnions: false,
    logicalTypes: { 'timestamp-millis': Timestamp, date: Day },
  } as never)
  const bytesFields = bytesOf(JSON.parse(schema))
  return {
    toJson(value) {
      const record: unknown = type.fromBuffer(Buffer.from(value.buffer, value.byteOffset, value.byteLength))
      return JSON.stringify(record, (_name, member: unknown) =>
        isBufferJson(member) ? Buffer.from(member.data).toString('base64') : member,
      )
    },
    fromJson(text) {
      const record: unknown = JSON.parse(text)
      if (typeof record === 'object' && record !== null && !Array.isArray(record))
        for (const name of bytesFields) {
          const members = record as Record<string, unknown>
          if (typeof members[name] === 'string') members[name] = Buffer.from(members[name], 'base64')
        }
      let wrong: string | undefined
      // A member that is missing is absent for Avro only where it may be null.
      const complete = withNulls(type, record)
      if (!type.isValid(complete, { errorHook: (path) => void (wrong ??= path.join('.')) }))
        throw new Error(`the member "${wrong ?? ''}" does not fit the stream's Avro schema`)
      return type.toBuffer(complete)
    },
  }
}

function isBufferJson(value: unknown): value is { type: 'Buffer'; data: number[] } {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value as { type?: unknown }).type === 'Buffer' &&
    Array.isArray((value as { data?: unknown }).data)
  )
}

/** Names of the record's own fields that hold bytes, or may. */
function bytesOf({ fields = [] }: { fields?: { name: string; type: unknown }[] }): string[] {
  const isBytes = (type: unknown): boolean => type === 'bytes' || (Array.isArray(type) && type.some(isBytes))
  return fields.filter(({ type }) => isBytes(type)).map(({ name }) => name)
}

function withNulls(type: AvroType, record: unknown): unknown {
  if (typeof record !== 'object' || record === null) return record
  const { fields } = type as unknown as { fields?: { name: string }[] }
  return Object.fromEntries([
    ...(fields ?? []).map(({ name }) => [name, (record as Record<string, unknown>)[name] ?? null]),
    ...Object.entries(record).filter(([name]) => !(fields ?? []).some((field) => field.name === name)),
  ])
}

/** One message of a file, the first: its index is written as a single zero. */
const FIRST_MESSAGE = 0

function openProtobuf(schema: string): Codec {
  const { parse } = load('protobufjs') as typeof import('protobufjs')
  const { root, package: inPackage } = parse(schema, { keepCase: true })
  const name = /message\s+(\w+)/.exec(schema)?.[1] ?? ''
  const type = root.lookupType(inPackage ? `${inPackage}.${name}` : name)
  return {
    toJson(value) {
      if (value[0] !== FIRST_MESSAGE) throw new Error('the value is of another message than the first of its schema')
      const record = type.toObject(type.decode(value.subarray(1)), { longs: Number, bytes: String, enums: String })
      return JSON.stringify(record)
    },
    fromJson(text) {
      const record: unknown = JSON.parse(text)
      if (typeof record !== 'object' || record === null || Array.isArray(record)) throw new Error('the value is not a JSON object')
      const members = Object.fromEntries(Object.entries(record).filter(([, member]) => member !== null))
      const unknown = Object.keys(members).find((member) => !type.fields[member])
      if (unknown !== undefined) throw new Error(`the member "${unknown}" is not in the stream's Protobuf schema`)
      for (const field of type.fieldsArray)
        if (field.type === 'bytes' && typeof members[field.name] === 'string')
          members[field.name] = Buffer.from(members[field.name], 'base64')
      const wrong = type.verify(members)
      if (wrong !== null) throw new Error(`the value does not fit the stream's Protobuf schema: ${wrong}`)
      return Buffer.concat([Buffer.from([FIRST_MESSAGE]), type.encode(type.fromObject(members)).finish()])
    },
  }
}
