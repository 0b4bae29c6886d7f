/** The sparse index of a stream's records: per partition, how many records precede an offset. Numbers are exact below 2^53. */
import type { Database, Queryable } from './database.ts'

/** How far a partition is indexed: `records` precede `nextOffset`. `builtAt`: when the count first reached the end of the partition. */
export type IndexHead = { topicId: string; partition: number; records: number; nextOffset: bigint; builtAt: Date | null }
/** An entry of the index: `records` precede `offset`. */
export type IndexEntry = { records: number; offset: bigint }

const toHead = (row: { topic_id: string; partition: number; records: string; next_offset: string; built_at: Date | null }): IndexHead => ({
  topicId: row.topic_id,
  partition: row.partition,
  records: Number(row.records),
  nextOffset: BigInt(row.next_offset),
  builtAt: row.built_at,
})
const toEntry = (row: { records: string; first_offset: string } | undefined): IndexEntry | undefined =>
  row && { records: Number(row.records), offset: BigInt(row.first_offset) }

/** The heads of a stream's partitions. */
export async function listHeads(db: Queryable, streamId: string): Promise<IndexHead[]> {
  return (await db('stream_index_heads').where({ stream_id: streamId })).map(toHead)
}

/** The last entry that at most `records` records precede; undefined if there is none. */
export async function findEntry(db: Queryable, streamId: string, partition: number, records: number): Promise<IndexEntry | undefined> {
  return toEntry(
    await db('stream_index').where({ stream_id: streamId, partition }).where('records', '<=', records).orderBy('records', 'desc').first(),
  )
}

/** The first entry at or after an offset; undefined if there is none. */
export async function findEntryFrom(db: Queryable, streamId: string, partition: number, offset: bigint): Promise<IndexEntry | undefined> {
  return toEntry(
    await db('stream_index')
      .where({ stream_id: streamId, partition })
      .where('first_offset', '>=', String(offset))
      .orderBy('first_offset')
      .first(),
  )
}

/** Deletes the index of a partition, unless another writer has already started it over. */
export async function dropIndex(db: Database, streamId: string, { partition, topicId, builtAt }: IndexHead): Promise<void> {
  await db.transaction(async (trx) => {
    const head = await trx('stream_index_heads').where({ stream_id: streamId, partition }).forUpdate().first()
    if (!head || head.topic_id !== topicId || head.built_at?.getTime() !== builtAt?.getTime()) return
    await trx('stream_index').where({ stream_id: streamId, partition }).delete()
    await trx('stream_index_heads').where({ stream_id: streamId, partition }).delete()
  })
}

/** Advances a head and adds the entries, in one transaction. False, with nothing changed, if another writer moved the head first. */
export async function extendIndex(
  db: Database,
  streamId: string,
  before: IndexHead | undefined,
  after: IndexHead,
  entries: IndexEntry[],
): Promise<boolean> {
  return db.transaction(async (trx) => {
    const row = {
      stream_id: streamId,
      partition: after.partition,
      topic_id: after.topicId,
      records: after.records,
      next_offset: String(after.nextOffset),
      built_at: after.builtAt,
    }
    const moved = before
      ? await trx('stream_index_heads')
          .where({
            stream_id: streamId,
            partition: after.partition,
            topic_id: before.topicId,
            next_offset: String(before.nextOffset),
            // A head that was started over may be at the same offset.
            records: before.records,
          })
          .update({ records: row.records, next_offset: row.next_offset, built_at: row.built_at })
      : (await trx('stream_index_heads').insert(row).onConflict().ignore().returning('partition')).length
    if (moved === 0) return false
    if (entries.length > 0) {
      const rows = entries.map(({ records, offset }) => ({
        stream_id: streamId,
        partition: after.partition,
        records,
        first_offset: String(offset),
      }))
      await trx.batchInsert('stream_index', rows, 500)
    }
    return true
  })
}
