/** What the pipelines of an account read and write, and the streams that they may mean. */
import type { Queryable } from './database.ts'
import type { PipelineRow } from './pipelines.ts'

/** A pipeline with its request's ends, and the names of its steps' SmartModules. */
export type LineageRow = Pick<PipelineRow, 'id' | 'name' | 'status' | 'request'> & { modules: string[] }

/** Pipelines that are being deleted are left out. */
export async function listLineage(
  db: Queryable,
  accountId: string,
): Promise<{ pipelines: LineageRow[]; streams: { id: string; name: string }[] }> {
  const { rows } = (await db.raw(
    `SELECT id, name, status, json_build_object('source', request -> 'source', 'sink', request -> 'sink') AS request,
       coalesce((SELECT json_agg(step ->> 'name') FROM json_array_elements(definition -> 'steps') step), '[]') AS modules
     FROM pipelines WHERE account_id = ? AND status <> 'deleting' ORDER BY name`,
    [accountId],
  )) as { rows: LineageRow[] }
  return { pipelines: rows, streams: await db('streams').where({ account_id: accountId }).select('id', 'name') }
}
