/** Follows what other clients do to adopted topics: they add partitions, change settings, and register schemas that readers must know. */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { describeTopicConfig } from '../../../shared/kafka/admin/topic-config.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import type { SchemaText } from '../../../shared/model/schema-text.ts'
import { fieldsOf } from '../registry/fields.ts'
import { subjectOf } from '../registry/registry.ts'
import { SchemaRefused } from '../../../shared/registry/read-schemas.ts'
import { inTransaction, type Queryable } from '../store/database.ts'
import {
  listAdoptedStreams,
  lockStream,
  saveStreamSchema,
  schemasOf,
  updateStream,
  type StreamRow,
  type StreamSchemaRow,
} from '../store/streams.ts'
import type { Deps } from '../deps.ts'
import { updateReaders } from '../definitions/update-readers.ts'

export type NewSchemas = ReadonlyMap<number, StreamSchemaRow>

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
      const schema_text = own?.message === undefined ? found.text : { ...found.text, message: own.message }
      row = { schema: fieldsOf(format, schema_text), schema_text }
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

export async function saveSchemas(db: Queryable, streamId: string, schemas: NewSchemas): Promise<void> {
  for (const [schemaId, schema] of schemas) await saveStreamSchema(db, streamId, schemaId, schema)
}

const bytesOf = (text: SchemaText | null): number =>
  text ? text.references.reduce((sum, reference) => sum + reference.text.length, text.text.length) : 0

/** Updates partitions (HTTP writes must put keys where other clients do), batch size (writes must fit), compaction (counts grow stale). */
async function followTopic({ db, cluster, withAdmin }: Pick<Deps, 'db' | 'cluster' | 'withAdmin'>, stream: StreamRow): Promise<void> {
  const layout = await cluster.describeTopic(stream.topic)
  if (!layout) return
  const { batch_bytes_max, is_compacted } = await withAdmin((admin) => describeTopicConfig(admin, stream.topic))
  const found = { partitions: layout.leaders.length, batch_bytes_max, is_compacted }
  const isSame =
    found.partitions === stream.partitions && batch_bytes_max === stream.batch_bytes_max && is_compacted === stream.is_compacted
  if (!isSame) await updateStream(db, stream.id, found)
}

/** Each call checks all adopted streams once; pipelines that read a stream with a new schema get their next revision. */
export function createAdoptedFollower(
  deps: Pick<Deps, 'db' | 'cluster' | 'registry' | 'withAdmin' | 'log' | 'notifyPublisher'>,
): () => Promise<void> {
  const { db, registry, log, notifyPublisher } = deps
  /** By stream, the newest schema id that was examined, whether it could be read or not. */
  const lookedAt = new Map<string, number>()

  async function follow(stream: StreamRow): Promise<void> {
    await followTopic(deps, stream)
    const newest = stream.format === 'json' ? undefined : await registry.newestOf(subjectOf(stream.topic))
    if (newest === undefined || lookedAt.get(stream.id) === newest) return
    const schemas = await findNewSchemas(deps, stream)
    const hasNew = await inTransaction(db, async (trx) => {
      // A pipeline created meanwhile either knows the new schemas already or is among the readers updated below.
      const locked = schemas.size > 0 ? await lockStream(trx, stream.account_id, stream.id) : undefined
      if (!locked) return false
      // Another control plane, or a PATCH, may have saved them first.
      const known = await schemasOf(trx, stream.id)
      const unknown = new Map([...schemas].filter(([schemaId]) => !known.has(schemaId)))
      if (unknown.size === 0) return false
      await saveSchemas(trx, stream.id, unknown)
      await updateReaders(trx, locked)
      return true
    })
    lookedAt.set(stream.id, newest)
    if (!hasNew) return
    notifyPublisher()
    log.info({ id: stream.id }, 'reconciler: learnt new schemas of an adopted topic')
  }

  return async () => {
    const streams = await listAdoptedStreams(db)
    for (const id of lookedAt.keys()) if (!streams.some((stream) => stream.id === id)) lookedAt.delete(id)
    for (const stream of streams)
      await follow(stream).catch((error: unknown) =>
        log.warn({ id: stream.id, reason: reasonOf(error) }, 'reconciler: an adopted topic can’t be checked'),
      )
  }
}
