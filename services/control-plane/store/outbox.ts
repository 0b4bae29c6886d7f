/** The outbox: what the publisher sends to `dps.definitions`, in order. */
import { definitionKeys, type PipelineDefinition } from '../../../shared/model/definition.ts'
import type { Queryable } from './database.ts'

/** Puts what the key stands for into the outbox: a value, as JSON, or a tombstone. */
export async function enqueue(db: Queryable, key: string, value: object | null): Promise<void> {
  await db('outbox').insert({ key, value: value && Buffer.from(JSON.stringify(value)) })
}

/** Revisions that processors keep. An older one is needed only if its sink stays away while this many revisions follow. */
export const REVISIONS_KEPT = 20

/** Puts a revision into the outbox, and a tombstone for the one that is now too old to keep. */
export async function enqueueRevision(db: Queryable, definition: PipelineDefinition): Promise<void> {
  const { pipeline_id: id, revision } = definition
  await enqueue(db, definitionKeys.revision(id, revision), definition)
  if (revision > REVISIONS_KEPT) await enqueue(db, definitionKeys.revision(id, revision - REVISIONS_KEPT), null)
}

/** Puts tombstones for all revisions that processors may have into the outbox. */
export async function enqueueRevisionsEnd(db: Queryable, id: string, newest: number): Promise<void> {
  const oldest = Math.max(1, newest - REVISIONS_KEPT)
  const revisions = Array.from({ length: newest - oldest + 1 }, (_, index) => oldest + index)
  await db('outbox').insert(revisions.map((revision) => ({ key: definitionKeys.revision(id, revision), value: null })))
}

/** Keeps everything that is published from being changed by others until the transaction ends; their writes wait. */
export async function lockDefinitions(trx: Queryable): Promise<void> {
  await trx.raw('LOCK TABLE accounts, secrets, pipelines, jobs IN SHARE ROW EXCLUSIVE MODE')
}

/** Makes this process the publisher; true if it was not the publisher before. */
export async function takePublisher(db: Queryable, self: string): Promise<boolean> {
  const { rowCount } = await db.raw(
    `INSERT INTO publisher (name, process) VALUES ('outbox', ?) ON CONFLICT (name) DO UPDATE SET process = excluded.process WHERE publisher.process <> excluded.process`,
    [self],
  )
  return rowCount === 1
}

/** An entry of the outbox; a null value is a tombstone. */
export type OutboxRow = { id: string; key: string; value: Buffer | null }

/** The oldest entries of the outbox, in order: as many as have `bytesMax` together, and at least one. */
export async function listOutbox(db: Queryable, limit: number, bytesMax: number): Promise<OutboxRow[]> {
  const { rows } = (await db.raw(
    `SELECT id, key, value FROM (
       SELECT *, sum(coalesce(octet_length(value), 0)) OVER (ORDER BY id) AS bytes, row_number() OVER (ORDER BY id) AS place
       FROM (SELECT * FROM outbox ORDER BY id LIMIT ?) oldest
     ) measured WHERE bytes <= ? OR place = 1 ORDER BY id`,
    [limit, bytesMax],
  )) as { rows: OutboxRow[] }
  return rows
}

/** Says why what a pipeline or a job runs does not come to the processors. Other keys belong to neither. */
export async function noteUnpublished(db: Queryable, key: string, status_reason: string): Promise<void> {
  const [kind, id] = key.split('/')
  if (id !== undefined && (kind === 'pipeline' || kind === 'job'))
    await db(kind === 'pipeline' ? 'pipelines' : 'jobs')
      .where({ id })
      .update({ status_reason, updated_at: db.fn.now() })
}

/** Deletes published entries from the outbox. */
export async function deleteOutbox(db: Queryable, ids: string[]): Promise<void> {
  await db('outbox').whereIn('id', ids).delete()
}
