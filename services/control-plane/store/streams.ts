/** Streams as rows, and the pipelines that use them. */
import { LIMITS } from '../../../shared/model/limits.ts'
import type { SchemaText } from '../../../shared/model/schema-text.ts'
import type { StreamFormat } from '../../../shared/model/stream-formats.ts'
import type { Queryable } from './database.ts'
import { findPage, type Page, type PageRequest } from './paging.ts'
import { listUnfinished } from './unfinished.ts'

/** The status of a stream. */
export type StreamStatus = 'creating' | 'active' | 'deleting'
/** A row of `streams`. */
export type StreamRow = {
  id: string
  account_id: string
  name: string
  description: string
  schema: Record<string, string>
  status: StreamStatus
  status_reason: string | null
  partitions: number
  /** The driver returns bigint as text. */
  retention_ms: string
  compatibility: string
  format: StreamFormat
  key_field: string | null
  schema_id: number | null
  topic: string
  /** The topic existed before the stream, and stays when the stream is deleted. */
  is_adopted: boolean
  /** Set if the schema came from the registry. */
  schema_text: SchemaText | null
  /** `max.message.bytes` of an adopted topic; null means the service's own limit. */
  batch_bytes_max: number | null
  /** The adopted topic is compacted: the broker removes records whose key was written again. */
  is_compacted: boolean
  created_at: Date
  updated_at: Date
}

/** A stream that is not stored yet. */
export type NewStream = Omit<StreamRow, 'created_at' | 'updated_at' | 'status_reason' | 'retention_ms'> & {
  retention_ms: number
}

/** One schema that a stream has had. */
export type StreamSchemaRow = Pick<StreamRow, 'schema' | 'schema_text'>

const asJson = ({ schema, schema_text }: Partial<StreamSchemaRow>) => ({
  ...(schema ? { schema: JSON.stringify(schema) } : {}),
  ...(schema_text ? { schema_text: JSON.stringify(schema_text) } : {}),
})

/** The stored stream. Throws a unique violation when its name is taken. */
export async function insertStream(db: Queryable, stream: NewStream): Promise<StreamRow> {
  const [row] = await db('streams')
    .insert({ ...stream, ...asJson(stream) })
    .returning('*')
  return row
}

/** The account's stream; undefined if it does not exist or is being deleted. */
export async function findStream(db: Queryable, accountId: string, id: string): Promise<StreamRow | undefined> {
  return db('streams').where({ account_id: accountId, id }).whereNot('status', 'deleting').first()
}

/** The account's stream, locked until the transaction ends, so that it can't be deleted while something begins to use it. */
export async function lockStream(db: Queryable, accountId: string, id: string): Promise<StreamRow | undefined> {
  return db('streams').where({ account_id: accountId, id }).whereNot('status', 'deleting').forUpdate().first()
}

/** The stream in any status, locked until the transaction ends. */
export async function lockAnyStream(db: Queryable, id: string): Promise<StreamRow | undefined> {
  return db('streams').where({ id }).forUpdate().first()
}

/** An active stream of the account over this topic, locked until the transaction ends. */
export async function lockStreamOver(db: Queryable, accountId: string, topic: string): Promise<StreamRow | undefined> {
  return db('streams').where({ account_id: accountId, topic, status: 'active' }).forUpdate().first()
}

/** A page of the account's streams, without those being deleted. */
export async function listStreams(db: Queryable, accountId: string, page: PageRequest): Promise<Page<StreamRow>> {
  return findPage(db('streams').where({ account_id: accountId }).whereNot('status', 'deleting').select('*'), page)
}

/** The changed stream. */
export async function updateStream(
  db: Queryable,
  id: string,
  {
    schema,
    schema_text,
    ...change
  }: Partial<
    Pick<
      StreamRow,
      | 'status'
      | 'status_reason'
      | 'schema_id'
      | 'description'
      | 'schema'
      | 'schema_text'
      | 'partitions'
      | 'batch_bytes_max'
      | 'is_compacted'
    >
  >,
): Promise<StreamRow> {
  const [row] = await db('streams')
    .where({ id })
    .update({ ...change, ...asJson({ schema, schema_text }), updated_at: db.fn.now() })
    .returning('*')
  return row
}

/** Stores a schema that the stream has had: the topic holds values written with it. */
export async function saveStreamSchema(db: Queryable, streamId: string, schemaId: number, schema: StreamSchemaRow): Promise<void> {
  await db('stream_schemas')
    .insert({ stream_id: streamId, schema_id: schemaId, ...asJson(schema) })
    .onConflict(['stream_id', 'schema_id'])
    .ignore()
}

/** Every schema that the stream has had, by its id. */
export async function schemasOf(db: Queryable, streamId: string): Promise<Map<number, StreamSchemaRow>> {
  const rows: (StreamSchemaRow & { schema_id: number })[] = await db('stream_schemas')
    .where({ stream_id: streamId })
    .select('schema_id', 'schema', 'schema_text')
  return new Map(rows.map(({ schema_id, schema, schema_text }) => [schema_id, { schema, schema_text }]))
}

/** What surrounds a schema in an answer that lists it. */
const LISTED_BYTES = 64

/** The schemas that the stream has had, each with the size of all that are to be kept before it: the current one first, then the newest. */
const sizedSchemas = (db: Queryable, streamId: string, currentId: number | null) =>
  db('stream_schemas')
    .where({ stream_id: streamId })
    .select(
      'schema_id',
      'schema',
      db.raw('sum(octet_length(schema::text) + ?) OVER (ORDER BY (schema_id = ?) DESC, schema_id DESC) AS bytes', [
        LISTED_BYTES,
        currentId,
      ]),
    )
    .as('sized')

/** The stream's current schema and the newest of those before it, as many as fit `stream_schemas_bytes_max`; the newest first. */
export async function listSchemas(
  db: Queryable,
  streamId: string,
  currentId: number | null,
): Promise<(Pick<StreamSchemaRow, 'schema'> & { schema_id: number })[]> {
  return db
    .from(sizedSchemas(db, streamId, currentId))
    .where('bytes', '<=', LIMITS.stream_schemas_bytes_max)
    .orderBy('schema_id', 'desc')
    .select('schema_id', 'schema')
}

/** Deletes the schemas that `listSchemas` leaves out: for a stream whose values are read without them. */
export async function forgetOldSchemas(trx: Queryable, streamId: string, currentId: number): Promise<void> {
  const old = trx
    .from(sizedSchemas(trx, streamId, currentId))
    .where('bytes', '>', LIMITS.stream_schemas_bytes_max)
    .select('schema_id')
  await trx('stream_schemas').where({ stream_id: streamId }).whereIn('schema_id', old).delete()
}

/** All active adopted streams, of all accounts. */
export async function listAdoptedStreams(db: Queryable): Promise<StreamRow[]> {
  return db('streams').where({ is_adopted: true, status: 'active' })
}

/** Deletes a stream's row. */
export async function deleteStreamRow(db: Queryable, id: string): Promise<void> {
  await db('streams').where({ id }).delete()
}

/** Streams whose creation or deletion is unfinished, as `listUnfinishedPipelines`. */
export async function listUnfinishedStreams(db: Queryable, olderThanMs: number, held: readonly string[]): Promise<StreamRow[]> {
  return listUnfinished<StreamRow>(db, 'streams', olderThanMs, held)
}

/** Streams of all accounts over these topics. */
export async function listStreamsOver(db: Queryable, topics: readonly string[]): Promise<Pick<StreamRow, 'id' | 'topic'>[]> {
  return db('streams').whereIn('topic', topics).select('id', 'topic')
}
