/** How a stream's values are written and read over HTTP, by its format. Codecs are cached by stream and schema id. */
import { schemaTextOf, type Schemed } from '../../../shared/model/schema-text.ts'
import { openCodec, textOfValue, type CodedFormat, type Codec } from '../../../shared/codecs/codecs.ts'
import { FRAMING_BYTES, schemaIdOf } from '../../../shared/model/framing.ts'
import type { Queryable } from '../store/database.ts'
import { schemasOf } from '../store/streams.ts'
import { readJson, type ReadValue } from './page-bytes.ts'

export type CodedStream = Schemed & { id: string; schema_id: number | null }

export type StreamCodec = {
  /** Encodes a record's JSON text as a value without framing. Throws an Error that names the member that does not fit the schema. */
  encode(stream: CodedStream, json: Buffer): Uint8Array
  /** Decodes values written with any schema that the stream has had, to JSON text. */
  reader(stream: CodedStream): Promise<ReadValue>
}

const CODECS_MAX = 1000

export function createStreamCodec(db: Queryable): StreamCodec {
  const codecs = new Map<string, Codec>()
  function codecOf(streamId: string, schemaId: number, stream: Schemed & { format: CodedFormat }): Codec {
    const key = `${streamId}/${schemaId}`
    const known = codecs.get(key)
    if (known) return known
    if (codecs.size >= CODECS_MAX) codecs.clear()
    const codec = openCodec(stream.format, schemaTextOf(stream))
    codecs.set(key, codec)
    return codec
  }
  return {
    encode(stream, json) {
      const { id, format, schema_id } = stream
      return format === 'json' ? json : codecOf(id, schema_id ?? 0, { ...stream, format }).fromJson(textOfValue(json))
    },
    async reader({ id, name, format }) {
      if (format === 'json') return readJson
      const schemas = await schemasOf(db, id)
      return (value) => {
        const schemaId = schemaIdOf(value)
        const schema = schemas.get(schemaId)
        if (!schema) throw new Error(`the value was written with schema ${schemaId}, which the stream never had`)
        return Buffer.from(codecOf(id, schemaId, { name, format, ...schema }).toJson(value!.subarray(FRAMING_BYTES)))
      }
    },
  }
}
