/** Follows what other clients do to adopted topics: they add partitions, change settings, and register schemas that readers must know. */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { describeTopicConfig, setBatchBytesMax } from '../../../shared/kafka/admin/topic-config.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import type { SchemaText } from '../../../shared/model/schema-text.ts'
import type { StreamFormat } from '../../../shared/model/stream-formats.ts'
import { NoSuchMessage } from '../../../shared/codecs/protobuf-messages.ts'
import { fieldsOf } from '../registry/fields.ts'
import { subjectOf } from '../registry/registry.ts'
import { SchemaRefused } from '../../../shared/codecs/read-schemas.ts'
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
import { letterBytesMaxBy, updateLimits, updateReaders } from '../definitions/update-readers.ts'
import { findAnyPipeline, listPipelineIdsUsing } from '../store/pipelines.ts'

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

export async function saveSchemas(db: Queryable, streamId: string, schemas: NewSchemas): Promise<void> {
  for (const [schemaId, schema] of schemas) await saveStreamSchema(db, streamId, schemaId, schema)
}

const bytesOf = (text: SchemaText | null): number =>
  text ? text.references.reduce((sum, reference) => sum + reference.text.length, text.text.length) : 0

/**
 * Raises the size limits of dead-letter topics where records of the stream may be larger by now: before its pipelines learn the new limit,
 * since they use it at once. Returns the ids of the pipelines whose topic is large enough. Throws where such a topic is not there yet.
 */
async function raiseDeadLetterLimits({ db, cluster }: Pick<Deps, 'db' | 'cluster'>, stream: StreamRow): Promise<Set<string>> {
  const raised = new Set<string>()
  for (const id of await listPipelineIdsUsing(db, stream.id)) {
    const row = await findAnyPipeline(db, id)
    if (!row || row.status === 'deleting') continue
    const { dead_letter_topic, dead_letter_bytes_max } = row.definition
    const bytes = letterBytesMaxBy(stream, row.definition)
    if (bytes > dead_letter_bytes_max) await setBatchBytesMax(await cluster.anyConnection(), dead_letter_topic, bytes)
    raised.add(id)
  }
  return raised
}

/**
 * Updates partitions (HTTP writes must put keys where other clients do), batch size (writes must fit, those of pipelines too), compaction
 * (counts grow stale). Answers whether pipelines got a revision. `isFirst`: they are compared although the topic is as the stream has it,
 * because earlier versions let the stream follow and its pipelines not.
 */
async function followTopic(
  { db, cluster, withAdmin }: Pick<Deps, 'db' | 'cluster' | 'withAdmin'>,
  stream: StreamRow,
  isFirst: boolean,
): Promise<boolean> {
  const layout = await cluster.describeTopic(stream.topic)
  if (!layout) return false
  const { batch_bytes_max, is_compacted } = await withAdmin((admin) => describeTopicConfig(admin, stream.topic))
  const found = { partitions: layout.leaders.length, batch_bytes_max, is_compacted }
  const isSame =
    found.partitions === stream.partitions && batch_bytes_max === stream.batch_bytes_max && is_compacted === stream.is_compacted
  if (isSame && !isFirst) return false
  const raised = await raiseDeadLetterLimits({ db, cluster }, { ...stream, ...found })
  return inTransaction(db, async (trx) => {
    // A pipeline created meanwhile either knows the limit already or is among those updated below.
    const locked = await lockStream(trx, stream.account_id, stream.id)
    if (!locked) return false
    return updateLimits(trx, isSame ? locked : await updateStream(trx, stream.id, found), raised)
  })
}

/** Each call checks all adopted streams once; pipelines get their next revision where its schemas or its limit have changed. */
export function createAdoptedFollower(
  deps: Pick<Deps, 'db' | 'cluster' | 'registry' | 'withAdmin' | 'log' | 'notifyPublisher'>,
): () => Promise<void> {
  const { db, registry, log, notifyPublisher } = deps
  /** By stream, the newest schema id that was examined, whether it could be read or not. */
  const lookedAt = new Map<string, number>()
  /** The streams whose pipelines were compared with their topics. */
  const compared = new Set<string>()

  async function follow(stream: StreamRow): Promise<void> {
    try {
      if (await followTopic(deps, stream, !compared.has(stream.id))) notifyPublisher()
      compared.add(stream.id)
    } catch (error) {
      // One pipeline that can't be revised must not keep all of them from new schemas.
      log.warn({ id: stream.id, reason: reasonOf(error) }, 'reconciler: the settings of an adopted topic can’t be followed')
    }
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
    for (const known of [lookedAt, compared])
      for (const id of known.keys()) if (!streams.some((stream) => stream.id === id)) known.delete(id)
    for (const stream of streams)
      await follow(stream).catch((error: unknown) =>
        log.warn({ id: stream.id, reason: reasonOf(error) }, 'reconciler: an adopted topic can’t be checked'),
      )
  }
}
