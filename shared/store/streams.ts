/** Streams as rows, and what still uses them. */
import type { SchemaText } from '../model/schema-text.ts'
import type { StreamFormat } from '../model/stream-formats.ts'
import type { Queryable } from './database.ts'
import { findPage, type Page, type PageRequest } from './paging.ts'

export type StreamStatus = 'creating' | 'active' | 'failed' | 'deleting'
export type StreamRow = {
  id: string
  account_id: string
  name: string
  description: string
  schema: Record<string, string>
  status: StreamStatus
  status_reason: string | null
  partitions: number
  /** bigint: text in the driver. */
  retention_ms: string
  compatibility: string
  format: StreamFormat
  key_field: string | null
  schema_id: number | null
  topic: string
  /** The topic was there before the stream and stays behind it. */
  is_adopted: boolean
  /** Set where the schema came from the registry. */
  schema_text: SchemaText | null
  /** `max.message.bytes` of an adopted topic; null is the service's own limit. */
  batch_bytes_max: number | null
  /** Of an adopted topic: the broker removes records whose key came again. */
  is_compacted: boolean
  created_at: Date
  updated_at: Date
}

export type NewStream = Omit<StreamRow, 'created_at' | 'updated_at' | 'status_reason' | 'retention_ms'> & {
  retention_ms: number
}

/** One schema that a stream has had. */
export type StreamSchemaRow = Pick<StreamRow, 'schema' | 'schema_text'>

const asJson = ({ schema, schema_text }: Partial<StreamSchemaRow>) => ({
  ...(schema ? { schema: JSON.stringify(schema) } : {}),
  ...(schema_text ? { schema_text: JSON.stringify(schema_text) } : {}),
})

export async function insertStream(db: Queryable, stream: NewStream): Promise<StreamRow> {
  const [row] = await db('streams')
    .insert({ ...stream, ...asJson(stream) })
    .returning('*')
  return row
}

/** Rows that are being deleted are gone for clients. */
export async function findStream(db: Queryable, accountId: string, id: string): Promise<StreamRow | undefined> {
  return db('streams').where({ account_id: accountId, id }).whereNot('status', 'deleting').first()
}

/** Locks the row until the transaction ends, so that use and deletion can't cross. */
export async function lockStream(db: Queryable, accountId: string, id: string): Promise<StreamRow | undefined> {
  return db('streams').where({ account_id: accountId, id }).whereNot('status', 'deleting').forUpdate().first()
}

export async function listStreams(db: Queryable, accountId: string, page: PageRequest): Promise<Page<StreamRow>> {
  return findPage(db('streams').where({ account_id: accountId }).whereNot('status', 'deleting').select('*'), page)
}

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

/** Remembered for ever: values of each are on the topic. */
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

export async function listAdoptedStreams(db: Queryable): Promise<StreamRow[]> {
  return db('streams').where({ is_adopted: true, status: 'active' })
}

export async function deleteStreamRow(db: Queryable, id: string): Promise<void> {
  await db('streams').where({ id }).delete()
}

/** Streams left half-made or half-deleted for longer than `olderThanMs`. At most 50: the next pass takes the rest. */
export async function listUnfinishedStreams(db: Queryable, olderThanMs: number): Promise<StreamRow[]> {
  return db('streams')
    .whereIn('status', ['creating', 'deleting'])
    .whereRaw(`updated_at < now() - ? * interval '1 millisecond'`, [olderThanMs])
    .orderBy('updated_at')
    .limit(50)
}

/** Names of the pipelines that use a stream or SmartModule, ten at most. */
export async function listUsers(db: Queryable, kind: 'stream' | 'smartmodule', id: string): Promise<string[]> {
  const rows = await db('pipeline_uses')
    .join('pipelines', 'pipelines.id', 'pipeline_uses.pipeline_id')
    .where({ kind, used_id: id })
    .limit(10)
    .select('pipelines.name')
  return rows.map(({ name }: { name: string }) => name)
}
