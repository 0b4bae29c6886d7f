/**
 * Positions that were set back (`POST …/offsets`), and the dead letters of the records that are handled again from there. Such a dead
 * letter is not redriven, as the pipeline will handle its record, and counts as redriven once the pipeline has passed it: one that failed
 * again has another dead letter by then.
 */
import { IN_PLACES, columnsOf, type DeadLetterPlace } from './dead-letters.ts'
import { inTransaction, type Database, type Queryable } from './database.ts'

/** From this offset on, the records of the topic's partition are handled by this revision or a later one. */
export type PositionReset = { partition: number; topic_id: string; from_offset: string; revision: number }
const COLUMNS = ['partition', 'topic_id', 'from_offset', 'revision']

/** In place of earlier ones of the same partitions. */
export async function setPositionResets(
  db: Queryable,
  pipelineId: string,
  { topicId, revision }: { topicId: string; revision: number },
  offsets: ReadonlyMap<number, bigint>,
): Promise<void> {
  const rows = [...offsets].map(([partition, offset]) => ({
    pipeline_id: pipelineId,
    partition,
    topic_id: topicId,
    from_offset: String(offset),
    revision,
  }))
  await db('position_resets').insert(rows).onConflict(['pipeline_id', 'partition']).merge()
}

export async function listPositionResets(db: Queryable, pipelineId: string): Promise<PositionReset[]> {
  return db('position_resets').where({ pipeline_id: pipelineId }).select(COLUMNS)
}

/** Those that were dropped for a position that was not set after all; where another one was set meanwhile, that stays. */
export async function restorePositionResets(db: Queryable, pipelineId: string, resets: readonly PositionReset[]): Promise<void> {
  const rows = resets.map((each) => ({ pipeline_id: pipelineId, ...each }))
  if (rows.length > 0) await db('position_resets').insert(rows).onConflict(['pipeline_id', 'partition']).ignore()
}

/** Returns those that it dropped. Dead letters that they would have settled stay pending. */
export async function dropPositionResets(db: Queryable, pipelineId: string, partitions: number[]): Promise<PositionReset[]> {
  return db('position_resets').where({ pipeline_id: pipelineId }).whereIn('partition', partitions).delete(COLUMNS)
}

/**
 * The last revision, from this one on, that drops failed records by its policy; undefined without any. Of a record that was passed since a
 * reset before it, it is not known whether it was delivered.
 */
export async function lastSkipping(db: Queryable, pipelineId: string, from: number): Promise<number | undefined> {
  const found = await db('pipeline_revisions')
    .where({ pipeline_id: pipelineId })
    .where('revision', '>=', from)
    .whereRaw(`definition::text ~ '"policy"\\s*:\\s*"skip"'`)
    .max('revision as last')
    .first()
  return found?.last ?? undefined
}

/** Rows that one statement changes: it must end long before the time that a query may take. */
const CHUNK = 5000

/**
 * Settles dead letters of earlier revisions than the reset's: those of records from its offset up to `until` become `redriven`, and all of
 * them were handled again; their dead letters, if they failed again, are stored. Notes how far it came, and forgets the reset once no such
 * dead letter is left. Without effect where another reset has come, or is being settled. `onChunk` may throw to end it early.
 */
export async function settleHandledAgain(
  db: Database,
  pipelineId: string,
  { partition, topic_id, from_offset, revision }: PositionReset,
  until: bigint,
  onChunk: () => void = () => {},
): Promise<void> {
  const reset = { pipeline_id: pipelineId, partition, revision }
  let from = from_offset
  for (let isDone = false; !isDone; onChunk()) {
    isDone = await inTransaction(db, async (trx) => {
      if (!(await trx('position_resets').where(reset).forUpdate().skipLocked().first())) return true
      /** The literals are those of the index `dead_letters_open`. */
      const earlier = (statuses: string, start: string) =>
        trx('dead_letters')
          .where({ pipeline_id: pipelineId, partition, topic_id })
          .where('revision', '<', revision)
          .where('record_offset', '>=', start)
          .whereRaw(`status IN (${statuses})`)
          .orderBy('record_offset')
      const settled: (DeadLetterPlace & { record_offset: string })[] = await earlier(`'pending'`, from)
        .where('record_offset', '<', String(until))
        .limit(CHUNK)
        .select('letter_partition', 'letter_offset', 'record_offset')
      if (settled.length > 0)
        await trx('dead_letters')
          .where({ pipeline_id: pipelineId, status: 'pending' })
          .whereRaw(IN_PLACES, columnsOf(settled))
          .update({ status: 'redriven' })
      const isLast = settled.length < CHUNK
      // A redrive may give up what it has taken.
      const taken = isLast
        ? await earlier(`'redriving'`, from).where('record_offset', '<', String(until)).first('record_offset')
        : undefined
      from = isLast ? (taken?.record_offset ?? String(until)) : settled.at(-1)!.record_offset
      const isOver = isLast && !(await earlier(`'pending', 'redriving'`, from).first('record_offset'))
      await (isOver ? trx('position_resets').where(reset).delete() : trx('position_resets').where(reset).update({ from_offset: from }))
      return isLast
    })
  }
}
