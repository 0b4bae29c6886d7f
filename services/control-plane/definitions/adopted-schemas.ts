/** The schemas that other clients register for an adopted topic: its stream knows all of them that it can read. */
import { LIMITS } from '../../../shared/model/limits.ts'
import type { SchemaText } from '../../../shared/model/schema-text.ts'
import type { StreamFormat } from '../../../shared/model/stream-formats.ts'
import { NoSuchMessage } from '../../../shared/codecs/protobuf-messages.ts'
import { SchemaRefused } from '../../../shared/codecs/read-schemas.ts'
import { fieldsOf } from '../registry/fields.ts'
import { subjectOf } from '../registry/registry.ts'
import type { Queryable } from '../store/database.ts'
import { saveStreamSchema, schemasOf, type StreamRow, type StreamSchemaRow } from '../store/streams.ts'
import type { Deps } from '../deps.ts'

type NewSchemas = ReadonlyMap<number, StreamSchemaRow>

/** The versions of the topic's subject that the stream does not know yet, by schema id. A version that can't be read is left out. */
export async function findNewSchemas(
  { db, registry, log }: Pick<Deps, 'db' | 'registry' | 'log'>,
  { id, format, topic, schema_text: own }: Pick<StreamRow, 'id' | 'format' | 'topic' | 'schema_text'>,
): Promise<NewSchemas> {
  const fresh = new Map<number, StreamSchemaRow>()
  if (format === 'json') return fresh
  const known = await schemasOf(db, id)
  let bytes = [...known.values()].reduce((sum, { schema_text }) => sum + bytesOf(schema_text), 0)
  // Newest first: if there is not room for all, the oldest are left out.
  for (const schemaId of (await registry.idsOf(subjectOf(topic))).toReversed()) {
    if (known.has(schemaId)) continue
    let row: StreamSchemaRow
    try {
      const found = await registry.find(schemaId)
      if (found?.format !== format) continue
      row = schemaRowOf(format, found.text, own?.message)
    } catch (error) {
      if (!(error instanceof SchemaRefused)) throw error
      // Values of such a schema become dead letters, which report that the schema is not known.
      log.warn({ id, schema_id: schemaId, reason: error.message }, 'reconciler: a schema of an adopted topic can’t be used')
      continue
    }
    bytes += bytesOf(row.schema_text)
    if (bytes > LIMITS.stream_schemas_bytes_max) break
    fresh.set(schemaId, row)
  }
  return fresh
}

/** A version that lacks the stream's own message is read all the same: its values say of which message they are. */
function schemaRowOf(format: StreamFormat, text: SchemaText, message: string | undefined): StreamSchemaRow {
  const rowOf = (schema_text: SchemaText): StreamSchemaRow => ({ schema: fieldsOf(format, schema_text), schema_text })
  if (message === undefined) return rowOf(text)
  try {
    return rowOf({ ...text, message })
  } catch (error) {
    if (error instanceof SchemaRefused && error.cause instanceof NoSuchMessage) return rowOf(text)
    throw error
  }
}

/** Stores what `findNewSchemas` has found. */
export async function saveSchemas(db: Queryable, streamId: string, schemas: NewSchemas): Promise<void> {
  for (const [schemaId, schema] of schemas) await saveStreamSchema(db, streamId, schemaId, schema)
}

const bytesOf = (text: SchemaText | null): number =>
  text ? text.references.reduce((sum, reference) => sum + reference.text.length, text.text.length) : 0
