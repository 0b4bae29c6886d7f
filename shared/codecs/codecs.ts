/**
 * Converts values of Avro and Protobuf streams to JSON and back, for the API and for chains, whose steps see JSON. After the registry's
 * five bytes, an Avro value follows directly; a Protobuf value follows its message index (Confluent wire format).
 */
import { isUtf8 } from 'node:buffer'
import type { SchemaText } from '../model/schema-text.ts'
import type { StreamFormat } from '../model/stream-formats.ts'
import { openAvro } from './avro.ts'
import { FRAMING_BYTES, schemaIdOf } from '../model/framing.ts'
import { openProtobuf } from './protobuf.ts'

/** A stream format whose values are not JSON. */
export type CodedFormat = Exclude<StreamFormat, 'json'>

/** Converts the values of one schema to JSON and back. */
export type Codec = {
  /** Returns the value's JSON text. Throws an Error that says why the value can't be read. */
  toJson(value: Uint8Array): string
  /** Returns the encoded value. Throws an Error that names the member that does not fit. */
  fromJson(text: string): Buffer
  /** Stream type names of the members of values, by member name. */
  fields: Record<string, string>
}

/** The text of UTF-8. Throws an Error for other bytes, of which Node would make other characters. */
export function textOfValue(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) throw new Error('the value is not UTF-8')
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}

/** Returns the codec of a schema. Throws an Error that says why the schema can't be used. */
export function openCodec(format: CodedFormat, schema: SchemaText): Codec {
  return format === 'avro' ? openAvro(schema) : openProtobuf(schema)
}

/** Thrown for a schema that the stream is not known to have. It may be newer than the definition that the chain runs with. */
export class UnknownSchema extends Error {
  readonly id: number
  constructor(id: number) {
    super(`the value was written with schema ${id}, which the stream does not have`)
    this.id = id
  }
}

/**
 * Returns a function that converts a framed value to framed JSON, by the schema whose id is in the frame. It throws UnknownSchema for an id
 * missing from `schemas`, and an Error that says why a value can't be read.
 */
export function openValueDecoder({ format, schemas }: { format: CodedFormat; schemas: Record<string, SchemaText> }) {
  const codecs = new Map<number, Codec>()
  return (value: Buffer): Buffer => {
    const id = schemaIdOf(value)
    let codec = codecs.get(id)
    if (!codec) {
      const schema = schemas[String(id)]
      if (schema === undefined) throw new UnknownSchema(id)
      codecs.set(id, (codec = openCodec(format, schema)))
    }
    return Buffer.concat([value.subarray(0, FRAMING_BYTES), Buffer.from(codec.toJson(value.subarray(FRAMING_BYTES)))])
  }
}
