/** What the pipelines of an account read and write, and the streams that they may mean. */
import type { Queryable } from './database.ts'
import type { PipelineRow } from './pipelines.ts'

export type LineageRow = Pick<PipelineRow, 'id' | 'name' | 'status' | 'request' | 'definition'>

/** Pipelines that are being deleted are left out. Postgres takes nothing out of the configs: it refuses some JSON that they may hold (\u0000). */
export async function listLineage(
  db: Queryable,
  accountId: string,
): Promise<{ pipelines: LineageRow[]; streams: { id: string; name: string }[] }> {
  return {
    pipelines: await db('pipelines')
      .where({ account_id: accountId })
      .whereNot({ status: 'deleting' })
      .orderBy('name')
      .select('id', 'name', 'status', 'request', 'definition'),
    streams: await db('streams').where({ account_id: accountId }).select('id', 'name'),
  }
}
