/** How much an account's dead letters take, and which of them go first. */
import type { Queryable } from './database.ts'

/** A partition of a dead-letter topic, and the first offset that is kept of it. */
export type Trim = { pipeline_id: string; letter_partition: number; from: string }

/** What a row takes, about: its record, and a message and ids. */
const BYTES = 'coalesce(octet_length(key), 0) + coalesce(octet_length(value), 0) + octet_length(headers::text) + 500'
/** Dead letters of pipelines that are being deleted go with them; without these, the account's pipelines are found by an index. */
const OWN = `pipeline_id IN (SELECT id FROM pipelines WHERE account_id = :id AND status <> 'deleting')`

/** Bytes of the account's dead letters. */
export async function countDeadLetterBytes(db: Queryable, id: string): Promise<number> {
  const { rows } = await db.raw(`SELECT coalesce(sum(${BYTES}), 0) AS bytes FROM dead_letters WHERE ${OWN}`, { id })
  return Number(rows[0].bytes)
}

/**
 * Where the account's dead letters begin to be kept: those older than `days`, and the oldest ones beyond `bytes`, go; but none behind one
 * that a redrive is reading.
 */
export async function listTrims(db: Queryable, id: string, bytes: number, days: number): Promise<Trim[]> {
  const { rows } = await db.raw(
    `WITH sized AS (
      SELECT pipeline_id, letter_partition, letter_offset, failed_at, status,
        sum(${BYTES}) OVER (ORDER BY failed_at DESC, pipeline_id, letter_partition, letter_offset DESC) AS total
      FROM dead_letters WHERE ${OWN}),
    judged AS (
      SELECT *, (total <= :bytes AND failed_at > now() - :days * interval '1 day') OR status = 'redriving' AS is_kept FROM sized)
    SELECT pipeline_id, letter_partition, coalesce(min(letter_offset) FILTER (WHERE is_kept), max(letter_offset) + 1)::text AS "from"
    FROM judged GROUP BY pipeline_id, letter_partition
    HAVING min(letter_offset) < coalesce(min(letter_offset) FILTER (WHERE is_kept), max(letter_offset) + 1)`,
    { id, bytes, days },
  )
  return rows
}

/** Rows that one statement deletes: it must end long before the time that a query may take. */
const CHUNK = 5000

/**
 * Deletes the oldest rows before what is kept, in the caller's transaction, but none behind one that a redrive has taken meanwhile. True
 * where there may be more to delete.
 */
export async function deleteTrimmed(trx: Queryable, { pipeline_id, letter_partition, from }: Trim): Promise<boolean> {
  const before = (offset: string) => trx('dead_letters').where({ pipeline_id, letter_partition }).where('letter_offset', '<', offset)
  const rows: { letter_offset: string; status: string }[] = await before(from)
    .orderBy('letter_offset')
    .limit(CHUNK)
    .select('letter_offset', 'status')
    .forUpdate()
  const taken = rows.find(({ status }) => status === 'redriving')
  const last = rows.at(-1)
  if (last) await before(taken?.letter_offset ?? String(BigInt(last.letter_offset) + 1n)).delete()
  return !taken && rows.length === CHUNK
}

/** Deletes all rows of a pipeline, before its own row goes. */
export async function deleteDeadLettersOf(db: Queryable, pipelineId: string): Promise<void> {
  // Until none is left: another process may be deleting the same ones.
  for (let deleted = CHUNK; deleted > 0;) {
    const { rowCount } = (await db.raw(
      'DELETE FROM dead_letters WHERE ctid IN (SELECT ctid FROM dead_letters WHERE pipeline_id = ? LIMIT ?) AND pipeline_id = ?',
      [pipelineId, CHUNK, pipelineId],
    )) as { rowCount: number }
    deleted = rowCount
  }
}

/**
 * Per partition, the first offset that the account's dead-letter topics must keep: of its first row, or of what is still to be projected.
 */
export async function listKept(db: Queryable, id: string): Promise<Trim[]> {
  const { rows } = await db.raw(
    `SELECT pipeline_id, partition AS letter_partition, coalesce(
      (SELECT min(letter_offset) FROM dead_letters d WHERE d.pipeline_id = p.pipeline_id AND letter_partition = p.partition),
      next_offset)::text AS "from"
    FROM dead_letter_positions p WHERE ${OWN}`,
    { id },
  )
  return rows
}

/** Accounts that have, or have had, dead letters. */
export async function listWithDeadLetters(db: Queryable): Promise<string[]> {
  const { rows } = await db.raw(
    'SELECT DISTINCT account_id FROM pipelines p WHERE EXISTS (SELECT 1 FROM dead_letter_positions WHERE pipeline_id = p.id)',
  )
  return rows.map(({ account_id }: { account_id: string }) => account_id)
}
