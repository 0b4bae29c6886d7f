/** A pipeline's replication slot and publication: made at its first start, removed with it. */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import { quoted, quotedTable } from './columns.ts'
import { clientConfigOf, withDatabase } from './connection.ts'
import type { TableSourceConfig } from './connector.ts'

/** Runs `work` with a connection to the table's database. */
export type WithClient = <T>(work: (client: pg.Client) => Promise<T>) => Promise<T>

/** Name of a pipeline's slot and publication. */
export const slotOf = (runId: string): string => `dps_${runId.toLowerCase().replaceAll(/[^a-z0-9_]/g, '_')}`.slice(0, 63)

/**
 * Creates the publication and the slot, and returns the slot's LSN: from there on nothing is missed. Replaces a slot left by an unfinished
 * first start.
 */
export async function createSlot(withClient: WithClient, slot: string, table: string): Promise<string> {
  return withClient(async (client) => {
    const { rows: published } = await client.query('SELECT 1 FROM pg_publication WHERE pubname = $1', [slot])
    if (published.length === 0) await client.query(`CREATE PUBLICATION ${quoted(slot)} FOR TABLE ONLY ${quotedTable(table)}`)
    const { rows: slots } = await client.query('SELECT 1 FROM pg_replication_slots WHERE slot_name = $1', [slot])
    if (slots.length > 0) await client.query('SELECT pg_drop_replication_slot($1)', [slot])
    const { rows } = await client.query<{ lsn: string }>(`SELECT lsn FROM pg_create_logical_replication_slot($1, 'pgoutput')`, [slot])
    return rows[0]!.lsn
  })
}

/** Throws ConfigRefused when the slot is gone. Ends the connection that still holds it. */
export async function assertSlot(withClient: WithClient, slot: string): Promise<void> {
  const { rows } = await withClient((client) =>
    client.query<{ active_pid: number | null; wal_status: string }>(
      'SELECT active_pid, wal_status FROM pg_replication_slots WHERE slot_name = $1',
      [slot],
    ),
  )
  const [found] = rows
  if (!found || found.wal_status === 'lost')
    throw new ConfigRefused(
      `the replication slot ${slot} is gone: changes since the last one that was read are lost; recreate the pipeline`,
    )
  // Another holder was fenced off by its group, so the split's current owner may end its connection.
  if (found.active_pid !== null) await withClient((client) => client.query('SELECT pg_terminate_backend($1)', [found.active_pid]))
}

/**
 * Throws ConfigRefused when the publication has another table than the one of this name, or none: it was dropped or renamed, and what has
 * its name now is another one.
 */
export async function assertPublished(withClient: WithClient, slot: string, table: string): Promise<void> {
  const { rows } = await withClient((client) =>
    client.query(
      `SELECT 1 FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid WHERE p.pubname = $1 AND r.prrelid = to_regclass($2)`,
      [slot, quotedTable(table)],
    ),
  )
  if (rows.length === 0)
    throw new ConfigRefused(
      `the table ${table} is not the one whose changes were followed: it was dropped or renamed; recreate the pipeline`,
    )
}

/** Removes the slot and the publication; a slot left behind would keep the server's log forever. */
export async function disposeReplication(config: TableSourceConfig, context: ConnectorContext): Promise<void> {
  const slot = slotOf(context.runId)
  await withDatabase({ ...clientConfigOf(config, context), statement_timeout: 10_000 }, async (client) => {
    await client.query(
      'SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = $1 AND active_pid IS NOT NULL',
      [slot],
    )
    for (let attempt = 0; attempt < 20; attempt++) {
      const { rows } = await client.query<{ active: boolean }>('SELECT active FROM pg_replication_slots WHERE slot_name = $1', [slot])
      if (rows.length === 0) break
      if (!rows[0]!.active) await client.query('SELECT pg_drop_replication_slot($1)', [slot])
      else await sleep(100)
    }
    await client.query(`DROP PUBLICATION IF EXISTS ${quoted(slot)}`)
  })
}
