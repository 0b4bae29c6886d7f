/** Schemas that others register for an adopted topic: its readers must know them before they can read what is written with them. */
import { openCodec } from '../../../shared/registry/codecs.ts'
import { subjectOf } from '../../../shared/registry/registry.ts'
import { listAdoptedStreams, saveStreamSchema, schemasOf, type StreamRow } from '../../../shared/store/streams.ts'
import type { Deps } from '../deps.ts'
import { teachReaders } from '../routes/streams/teach-readers.ts'

/** Saves the versions of the topic's subject that are not known yet; true when there were any. A version that can't be read is left out. */
export async function learnSchemas({ db, registry }: Pick<Deps, 'db' | 'registry'>, stream: StreamRow): Promise<boolean> {
  const { format } = stream
  if (format === 'json') return false
  const known = await schemasOf(db, stream.id)
  const newest = await registry.newestOf(subjectOf(stream.topic))
  // A subject whose newest version is known has been learnt whole, but for a stream's first time.
  if (newest === undefined || (known.has(newest) && stream.status === 'active')) return false
  let hasLearnt = false
  for (const id of await registry.idsOf(subjectOf(stream.topic))) {
    const found = known.has(id) ? undefined : await registry.find(id)
    if (found?.format !== format) continue
    const schema = openCodec(format, found.text).fields
    await saveStreamSchema(db, stream.id, id, { schema, schema_text: found.text })
    hasLearnt = true
  }
  return hasLearnt
}

/** Of all adopted streams; pipelines that read them get their next revision. */
export async function learnAdoptedSchemas(deps: Pick<Deps, 'db' | 'registry' | 'log' | 'pokePublisher'>): Promise<void> {
  const { db, log, pokePublisher } = deps
  for (const stream of await listAdoptedStreams(db)) {
    try {
      if (!(await learnSchemas(deps, stream))) continue
      await db.transaction((trx) => teachReaders(trx, stream))
      pokePublisher()
      log.info({ id: stream.id }, 'reconciler: learnt new schemas of an adopted topic')
    } catch (error) {
      log.warn({ id: stream.id, reason: error instanceof Error ? error.message : String(error) }, 'reconciler: schemas can’t be learnt now')
    }
  }
}
