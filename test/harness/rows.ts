/** States that no request brings about, or not in time: written into Postgres. */
import pg from 'pg'
import { service } from './client.ts'

async function query(text: string, values: unknown[]): Promise<void> {
  const client = new pg.Client({ connectionString: service().databaseUrl })
  await client.connect()
  await client.query(text, values).finally(() => client.end())
}

/** The status of a stream, pipeline, job or canary. For an hour, the reconciler takes it for one that has only just changed. */
export async function setStatus(table: 'streams' | 'pipelines' | 'jobs' | 'canaries', id: string, status: string): Promise<void> {
  const key = table === 'canaries' ? 'pipeline_id' : 'id'
  await query(`UPDATE ${table} SET status = $1, updated_at = now() + interval '1 hour' WHERE ${key} = $2`, [status, id])
}

/** Replaces the binary of a SmartModule by bytes that can't be run. */
export const damageBinary = (smartModuleId: string): Promise<void> =>
  query(
    `UPDATE smartmodule_binaries SET content = '\\x00' WHERE sha256 IN (SELECT sha256 FROM smartmodule_versions WHERE smartmodule_id = $1)`,
    [smartModuleId],
  )

/** How large the binaries of a SmartModule are said to be. */
export const setBytes = (name: string, bytes: number): Promise<void> =>
  query('UPDATE smartmodule_versions SET bytes = $1 WHERE smartmodule_id IN (SELECT id FROM smartmodules WHERE name = $2)', [bytes, name])
