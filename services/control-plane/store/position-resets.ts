/**
 * Positions that were set back (`POST …/offsets`), and the dead letters of the records that are handled again from there: such a dead
 * letter counts as redriven once the pipeline has passed its record, since one that fails again gets another dead letter.
 */
import { IN_PLACES, columnsOf, type DeadLetterPlace } from './dead-letters.ts'
import { inTransaction, type Database, type Queryable, type Transaction } from './database.ts'

/** From this offset on, the records of the topic's partition are handled by this revision or a later one. */
export type PositionReset = { partition: number; topic_id: string; from_offset: string; revision: number }

/** In place of earlier ones of the same partitions. The rows stay locked until the transaction ends. */
export async function setPositionResets(
  trx: Transaction,
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
  await trx('position_resets').insert(rows).onConflict(['pipeline_id', 'partition']).merge()
}

export async function listPositionResets(db: Queryable, pipelineId: string): Promise<PositionReset[]> {
  return db('position_resets').where({ pipeline_id: pipelineId }).select('partition', 'topic_id', 'from_offset', 'revision')
}

/** The pipeline's records are those of another topic by now: none of them is handled again. */
export async function dropPositionReset(db: Queryable, pipelineId: string, { partition, revision }: PositionReset): Promise<void> {
  await db('position_resets').where({ pipeline_id: pipelineId, partition, revision }).delete()
}

/** Rows that one statement changes: it must end long before the time that a query may take. */
const CHUNK = 5000

/**
 * Dead letters of earlier revisions than the reset's, from its offset up to the committed one, become `redriven`: all dead letters of the
 * records before `committed` must be stored. Forgets the reset once none is left behind it. Without effect where another one has come.
 */
export async function settleHandledAgain(db: Database, pipelineId: string, reset: PositionReset, committed: bigint): Promise<void> {
  const { partition, topic_id, from_offset, revision } = reset
  for (let isDone = false; !isDone;) {
    isDone = await inTransaction(db, async (trx) => {
      // A new reset holds the row from before it moves the position: what was read of both belongs together.
      const row = await trx('position_resets').where({ pipeline_id: pipelineId, partition, revision }).forUpdate().first()
      if (!row) return true
      const earlier = () =>
        trx('dead_letters')
          .where({ pipeline_id: pipelineId, partition, topic_id })
          .where('revision', '<', revision)
          .where('record_offset', '>=', from_offset)
      const settled: DeadLetterPlace[] = await earlier()
        .where({ status: 'pending' })
        .where('record_offset', '<', String(committed))
        .limit(CHUNK)
        .select('letter_partition', 'letter_offset')
      if (settled.length > 0)
        await trx('dead_letters').where({ pipeline_id: pipelineId }).whereRaw(IN_PLACES, columnsOf(settled)).update({ status: 'redriven' })
      if (settled.length === CHUNK) return false
      const left = await earlier().whereIn('status', ['pending', 'redriving']).first(trx.raw('1'))
      if (!left) await dropPositionReset(trx, pipelineId, reset)
      return true
    })
  }
}
