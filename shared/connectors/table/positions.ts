/**
 * A pipeline's position, kept in the table's own database and moved in the transaction of its rows. A task that finds it changed has been
 * overtaken, and writes nothing. D5: the row decides, not the time.
 */
import type { ClientBase } from 'pg'
import type { Delivery, KeptPosition } from '../sink.ts'
import { isMadeMeanwhile } from './made-meanwhile.ts'

const TABLE = 'dps_positions'
const KEY = 'run_id = $1 AND topic_id = $2 AND partition = $3'

/** Creates the table that keeps positions, if it is not there. */
export async function createPositions(client: ClientBase): Promise<void> {
  await client
    .query(
      `CREATE TABLE IF NOT EXISTS ${TABLE} (run_id text NOT NULL, topic_id text NOT NULL, partition int NOT NULL, next_offset bigint NOT NULL,
        revision int NOT NULL, note text NOT NULL, updated_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (run_id, topic_id, partition))`,
    )
    .catch((error: unknown) => {
      if (!isMadeMeanwhile(error)) throw error
    })
}

/** Returns the position of the partition. First stores `start` if there is none, or if it is of a revision before `resetAt`. */
export async function readPosition(
  client: ClientBase,
  { runId, topicId, partition, revision, resetAt }: Pick<Delivery, 'runId' | 'topicId' | 'partition' | 'revision' | 'resetAt'>,
  start: KeptPosition,
): Promise<KeptPosition> {
  await client.query(
    `INSERT INTO ${TABLE} (run_id, topic_id, partition, next_offset, revision, note) VALUES ($1, $2, $3, $4, $5, $6)
      ON CONFLICT (run_id, topic_id, partition) DO UPDATE SET next_offset = excluded.next_offset, revision = excluded.revision, note = excluded.note
      WHERE ${TABLE}.revision < $7`,
    [runId, topicId, partition, String(start.nextOffset), revision, start.note, resetAt],
  )
  const { rows } = await client.query<{ next_offset: string; note: string }>(`SELECT next_offset, note FROM ${TABLE} WHERE ${KEY}`, [
    runId,
    topicId,
    partition,
  ])
  return { nextOffset: BigInt(rows[0]!.next_offset), note: rows[0]!.note }
}

/**
 * Moves the position from `from` to `to`, inside the caller's transaction. Returns false when it is not at `from`, or a later revision has
 * written it.
 */
export async function movePosition(
  client: ClientBase,
  { runId, topicId, partition, from, to, revision, note }: Delivery,
): Promise<boolean> {
  const { rowCount } = await client.query(
    `UPDATE ${TABLE} SET next_offset = $4, revision = $5, note = $6, updated_at = now() WHERE ${KEY} AND next_offset = $7 AND revision <= $5`,
    [runId, topicId, partition, String(to), revision, note, String(from)],
  )
  return rowCount === 1
}
