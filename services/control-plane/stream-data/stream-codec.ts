/** How a stream's values are written and read over HTTP, by its format. Codecs are kept per stream. */
import { schemaTextOf, type StreamFormat } from '../../../shared/model/stream-formats.ts'
import { openCodec, type Codec } from '../../../shared/registry/codecs.ts'
import { FRAMING_BYTES, frame, unframe } from '../../../shared/registry/framing.ts'

export type CodedStream = { id: string; format: StreamFormat; schema: Record<string, string>; schema_id: number | null }

export type StreamCodec = {
  /** The framed value of a record that fits the stream's schema. */
  encode(stream: CodedStream, record: unknown): Buffer
  /** The record. Throws an Error that says why it can't be decoded. */
  decode(stream: CodedStream, value: Buffer | null): unknown
}

const CODECS_MAX = 1000

export function createStreamCodec(): StreamCodec {
  const codecs = new Map<string, Codec>()
  function codecOf({ id, format, schema }: CodedStream): Codec | undefined {
    if (format === 'json') return undefined
    const known = codecs.get(id)
    if (known) return known
    if (codecs.size >= CODECS_MAX) codecs.clear()
    const codec = openCodec(format, schemaTextOf(format, schema))
    codecs.set(id, codec)
    return codec
  }
  return {
    encode(stream, record) {
      const text = JSON.stringify(record)
      const codec = codecOf(stream)
      return codec ? Buffer.concat([frame(stream.schema_id ?? 0, ''), codec.fromJson(text)]) : frame(stream.schema_id ?? 0, text)
    },
    decode(stream, value) {
      const codec = codecOf(stream)
      if (!codec) return unframe(value)
      if (value === null) throw new Error('the value is null (a tombstone)')
      if (value.length < FRAMING_BYTES || value[0] !== 0)
        throw new Error('the value does not start with the schema registry prefix (magic byte 0)')
      const id = value.readInt32BE(1)
      if (id !== stream.schema_id) throw new Error(`the value was written with schema ${id}, the stream's is ${stream.schema_id}`)
      return JSON.parse(codec.toJson(value.subarray(FRAMING_BYTES)))
    },
  }
}
