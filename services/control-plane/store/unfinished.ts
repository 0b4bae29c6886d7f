/** Rows of resources whose creation or deletion was left half done. */
import type { Queryable } from './database.ts'

/** The oldest of each account come first, so that one account's many do not hide another's. */
export async function listUnfinished<Row>(
  db: Queryable,
  table: 'pipelines' | 'streams',
  olderThanMs: number,
  held: readonly string[],
): Promise<Row[]> {
  const { rows } = (await db.raw(
    `SELECT r.* FROM ?? r JOIN (
       SELECT id, row_number() OVER (PARTITION BY account_id ORDER BY updated_at) AS place FROM ??
       WHERE status IN ('creating', 'deleting') AND updated_at < now() - ? * interval '1 millisecond' AND NOT id = ANY (?)
     ) u ON u.id = r.id ORDER BY u.place, r.updated_at LIMIT 50`,
    [table, table, olderThanMs, [...held]],
  )) as { rows: Row[] }
  return rows
}
