/** Rows of resources whose creation or deletion was left half done. */
import type { Queryable } from './database.ts'

/** True where the resource was still being created: its creation is undone from here on. */
export async function beginUndo(db: Queryable, table: 'pipelines' | 'streams', id: string): Promise<boolean> {
  const stop = table === 'pipelines' ? { desired: 'stopped' } : {}
  const undone = await db(table)
    .where({ id, status: 'creating' })
    .update({ status: 'deleting', ...stop, updated_at: db.fn.now() })
  return undone > 0
}

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
