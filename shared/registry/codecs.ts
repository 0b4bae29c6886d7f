/**
 * Values of Avro and Protobuf streams to JSON and back: for the API, and for chains, whose steps see JSON. What stands behind the registry's
 * five bytes is the value itself for Avro, and an index of the message before it for Protobuf (Confluent wire format).
 */
import type { SchemaText } from '../model/schema-text.ts'
import type { StreamFormat } from '../model/stream-formats.ts'
import { openAvro } from './avro.ts'
import { FRAMING_BYTES, schemaIdOf } from './framing.ts'
import { openProtobuf } from './protobuf.ts'

export type CodedFormat = Exclude<StreamFormat, 'json'>

export type Codec = {
  /** The value's JSON text. Throws an Error that says why it can't be read. */
  toJson(value: Uint8Array): string
  /** Throws an Error that names the member that does not fit. */
  fromJson(text: string): Buffer
  /** Type names, as streams have them, of the members that values have. */
  fields: Record<string, string>
}

/** Throws an Error that says why the schema can't be used. */
export function openCodec(format: CodedFormat, schema: SchemaText): Codec {
  return format === 'avro' ? openAvro(schema) : openProtobuf(schema)
}

/** Nobody has told of the schema yet: it may be newer than the definition that the chain runs by. */
export class UnknownSchema extends Error {
  readonly id: number
  constructor(id: number) {
    super(`the value was written with schema ${id}, which the stream does not have`)
    this.id = id
  }
}

/** Framed values of a stream as framed JSON: schemas by the id in the frame. Throws an Error that says why one can't be read. */
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
