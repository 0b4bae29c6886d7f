/** Follows what other clients do to adopted topics: they add partitions, change settings, and register schemas that readers must know. */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { describeTopicConfig, setBatchBytesMax } from '../../../shared/kafka/admin/topic-config.ts'
import { subjectOf } from '../registry/registry.ts'
import { inTransaction } from '../store/database.ts'
import { listAdoptedStreams, lockStream, schemasOf, updateStream, type StreamRow } from '../store/streams.ts'
import type { Deps } from '../deps.ts'
import { findNewSchemas, saveSchemas } from '../definitions/adopted-schemas.ts'
import { letterBytesMaxBy, updateLimits, updateReaders } from '../definitions/update-readers.ts'
import { findAnyPipeline } from '../store/pipelines.ts'
import { listPipelineIdsUsing } from '../store/uses.ts'

/**
 * Raises the size limits of dead-letter topics where records of the stream may be larger by now: before its pipelines learn the new limit,
 * since they use it at once. Returns the ids of the pipelines whose topic is large enough. Throws where such a topic is not there yet.
 */
async function raiseDeadLetterLimits({ db, cluster }: Pick<Deps, 'db' | 'cluster'>, stream: StreamRow): Promise<Set<string>> {
  const raised = new Set<string>()
  for (const id of await listPipelineIdsUsing(db, 'stream', stream.id)) {
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
async function followAdoptedTopic(
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
      if (await followAdoptedTopic(deps, stream, !compared.has(stream.id))) notifyPublisher()
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
