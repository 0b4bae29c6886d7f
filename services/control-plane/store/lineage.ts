/** What the pipelines of an account read and write, and the streams that they may mean. */
import type { Queryable } from './database.ts'
import type { PipelineRow } from './pipelines.ts'

export type LineageRow = Pick<PipelineRow, 'id' | 'name' | 'status' | 'revision'>

/** Pipelines that are being deleted are left out. */
export async function listLineage(
  db: Queryable,
  accountId: string,
): Promise<{ pipelines: LineageRow[]; streams: { id: string; name: string }[] }> {
  return {
    pipelines: await db('pipelines')
      .where({ account_id: accountId })
      .whereNot({ status: 'deleting' })
      .orderBy('name')
      .select('id', 'name', 'status', 'revision'),
    streams: await db('streams').where({ account_id: accountId }).select('id', 'name'),
  }
}

/**
 * What one pipeline runs; undefined once it is gone. One at a time, because these are up to 2 MiB. The JSON is not taken apart in Postgres,
 * which refuses some that configs may hold (\u0000).
 */
export async function findRun(db: Queryable, id: string): Promise<Pick<PipelineRow, 'revision' | 'request' | 'definition'> | undefined> {
  return db('pipelines').where({ id }).first('revision', 'request', 'definition')
}
