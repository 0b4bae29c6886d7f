/** How much an account's dead letters take, and which of them go first. */
import type { Queryable } from './database.ts'

/** A partition of a dead-letter topic, and the first offset that is kept of it. */
export type Trim = { pipeline_id: string; letter_partition: number; from: string }

/** What a row takes, about: its record, and a message and ids. */
const BYTES = 'coalesce(octet_length(key), 0) + coalesce(octet_length(value), 0) + octet_length(headers::text) + 500'
const OWN = 'pipeline_id IN (SELECT id FROM pipelines WHERE account_id = :id)'

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

/**
 * Deletes the rows before what is kept, in the caller's transaction; returns the first offset that the topic must keep, because a redrive
 * may have taken some of them meanwhile.
 */
export async function deleteTrimmed(trx: Queryable, { pipeline_id, letter_partition, from }: Trim): Promise<string> {
  const before = () => trx('dead_letters').where({ pipeline_id, letter_partition }).where('letter_offset', '<', from)
  await before().whereNot('status', 'redriving').delete()
  const first = await before().min({ offset: 'letter_offset' }).first()
  return String(first?.offset ?? from)
}

/** Accounts that have dead letters. */
export async function listWithDeadLetters(db: Queryable): Promise<string[]> {
  const { rows } = await db.raw(
    'SELECT DISTINCT account_id FROM pipelines p WHERE EXISTS (SELECT 1 FROM dead_letters WHERE pipeline_id = p.id)',
  )
  return rows.map(({ account_id }: { account_id: string }) => account_id)
}
