/** Which dead letters a redrive takes. There may be millions of them, so that they are counted, taken and put into ranges in Postgres. */
import type { DeadLetterFilter } from '../../../shared/api/dead-letters.ts'
import { deadLetterId, parseDeadLetterId } from './dead-letter-id.ts'
import { columnsOf, filtered, IN_PLACES, type DeadLetterPlace } from './dead-letters.ts'
import type { Queryable } from './database.ts'

/** The position was set back to or before the record: the pipeline itself will handle it again. */
const IS_AHEAD = `EXISTS (SELECT 1 FROM position_resets r WHERE r.pipeline_id = dead_letters.pipeline_id
  AND r.partition = dead_letters.partition AND r.topic_id = dead_letters.topic_id
  AND dead_letters.revision < r.revision AND dead_letters.record_offset >= r.from_offset)`

/** Dead letters to redrive: by id or by filter, redriven fewer than `redrivesMax` times before. */
export type Selection = { ids?: string[]; filter?: DeadLetterFilter; redrivesMax: number }

function pending(db: Queryable, pipelineId: string, { ids, filter, redrivesMax }: Selection) {
  const query = filtered(db, pipelineId, { ...filter, status: 'pending' }).where('redrives', '<', redrivesMax)
  void query.whereRaw(`NOT ${IS_AHEAD}`)
  if (ids) {
    const places = ids.flatMap((id) => parseDeadLetterId(id) ?? [])
    void query.whereRaw(IN_PLACES, columnsOf(places))
  }
  return query
}

/** Of a partition of a dead-letter topic, the first and the last offset of a selection, and how many it has of them. */
export type Bounds = { letter_partition: number; first: string; last: string; count: number }

/** Where the dead letters of the selection are that may be redriven: there may be millions of them. */
export async function boundsOfPending(db: Queryable, pipelineId: string, selection: Selection): Promise<Bounds[]> {
  const rows: (Omit<Bounds, 'count'> & { count: string })[] = await pending(db, pipelineId, selection)
    .select('letter_partition')
    .min('letter_offset as first')
    .max('letter_offset as last')
    .count('* as count')
    .groupBy('letter_partition')
  return rows.map((row) => ({ ...row, count: Number(row.count) }))
}

/** Ids of the selection's dead letters that may be redriven, for a selection by ids. In a transaction they are locked until it ends. */
export async function listPendingIds(db: Queryable, pipelineId: string, selection: Selection): Promise<Set<string>> {
  const query = pending(db, pipelineId, selection).select('letter_partition', 'letter_offset')
  const rows: DeadLetterPlace[] = await (db.isTransaction ? query.forUpdate() : query)
  return new Set(rows.map(deadLetterId))
}

/** Rows within bounds, with `boundsColumns` as its three parameters. */
const WITHIN = 'unnest(?::int[], ?::bigint[], ?::bigint[]) AS bound (place, first, last)'
const IS_WITHIN = 'letter_partition = place AND letter_offset BETWEEN first AND last'
const boundsColumns = (bounds: readonly Bounds[]): [number[], string[], string[]] => [
  bounds.map(({ letter_partition }) => letter_partition),
  bounds.map(({ first }) => first),
  bounds.map(({ last }) => last),
]

/** Takes what is still pending of the selection, within the bounds, for a job: no other one gets the same. Returns how many it took. */
export async function takeForJob(
  trx: Queryable,
  pipelineId: string,
  jobId: string,
  selection: Selection,
  bounds: readonly Bounds[],
): Promise<number> {
  return pending(trx, pipelineId, selection)
    .whereRaw(`EXISTS (SELECT 1 FROM ${WITHIN} WHERE ${IS_WITHIN})`, boundsColumns(bounds))
    .update({ status: 'redriving', job_id: jobId })
}

/** A range of a dead-letter topic, its end exclusive. */
export type TakenRange = { letter_partition: number; from: string; until: string }

/**
 * The ranges that a job's dead letters fall into, at most `max`, in the order of the topic: successive ones share a range unless another
 * dead letter lies between them.
 */
export async function rangesOfJob(
  db: Queryable,
  pipelineId: string,
  jobId: string,
  bounds: readonly Bounds[],
  max: number,
): Promise<TakenRange[]> {
  // Between two of another job, own rows have the same difference of their numbers among all rows and among their own.
  const { rows } = await db.raw(
    `SELECT letter_partition, min(letter_offset)::text AS "from", (max(letter_offset) + 1)::text AS until
    FROM (
      SELECT letter_partition, letter_offset, is_own,
        row_number() OVER (PARTITION BY letter_partition ORDER BY letter_offset)
          - row_number() OVER (PARTITION BY letter_partition, is_own ORDER BY letter_offset) AS island
      FROM (
        SELECT letter_partition, letter_offset, job_id IS NOT DISTINCT FROM ? AS is_own
        FROM dead_letters JOIN ${WITHIN} ON ${IS_WITHIN} WHERE pipeline_id = ?
      ) judged
    ) numbered WHERE is_own
    GROUP BY letter_partition, island ORDER BY letter_partition, min(letter_offset) LIMIT ?`,
    [jobId, ...boundsColumns(bounds), pipelineId, max],
  )
  return rows
}

/** Those of `ids` that name a dead letter of the pipeline, in any status but `copy`. */
export async function listKnownIds(db: Queryable, pipelineId: string, ids: string[]): Promise<Set<string>> {
  const places = ids.flatMap((id) => parseDeadLetterId(id) ?? [])
  const rows: DeadLetterPlace[] = await db('dead_letters')
    .where({ pipeline_id: pipelineId })
    .whereNot('status', 'copy')
    .whereRaw(IN_PLACES, columnsOf(places))
    .select('letter_partition', 'letter_offset')
  return new Set(rows.map(deadLetterId))
}
