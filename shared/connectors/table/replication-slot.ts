/** A pipeline's replication slot and publication: made at its first start, removed with it. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import { quoted, quotedTable } from './columns.ts'
import { clientConfigOf, withDatabase } from './connection.ts'
import type { TableSourceConfig } from './connector.ts'

/** Runs `work` with a connection to the table's database. */
export type WithClient = <T>(work: (client: pg.Client) => Promise<T>) => Promise<T>

/** Name of a pipeline's publication. Its slots begin with it; positions without a slot are from when it was the slot's whole name. */
export const publicationOf = (runId: string): string => `dps_${runId.toLowerCase().replaceAll(/[^a-z0-9_]/g, '_')}`.slice(0, 54)

const OF_PUBLICATION = `(slot_name = $1::text OR starts_with(slot_name::text, $1::text || '_'))`

/**
 * Creates the publication, and a slot of a name of its own. Returns its name, and its LSN: from there on nothing is missed. D5: it replaces
 * no other slot, because another owner's position may have been committed meanwhile, and that owner's slot must stay.
 */
export async function createSlot(withClient: WithClient, publication: string, table: string): Promise<{ slot: string; lsn: string }> {
  const slot = `${publication}_${randomBytes(4).toString('hex')}`
  return withClient(async (client) => {
    const { rows: published } = await client.query('SELECT 1 FROM pg_publication WHERE pubname = $1', [publication])
    if (published.length === 0) await client.query(`CREATE PUBLICATION ${quoted(publication)} FOR TABLE ONLY ${quotedTable(table)}`)
    const { rows } = await client
      .query<{ lsn: string }>(`SELECT lsn FROM pg_create_logical_replication_slot($1, 'pgoutput')`, [slot])
      .catch(async (error: unknown) => {
        throw (error as { code?: string }).code === SLOTS_IN_USE ? await noSlotLeft(client, publication) : error
      })
    return { slot, lsn: rows[0]!.lsn }
  })
}

/** SQLSTATE configuration_limit_exceeded: as many slots as `max_replication_slots` says. */
const SLOTS_IN_USE = '53400'

/** Names what only a person may remove: without a committed position, no owner knows which slot another one's names. */
async function noSlotLeft(client: pg.Client, publication: string): Promise<Error> {
  const { rows } = await client.query<{ slot_name: string }>(
    `SELECT slot_name FROM pg_replication_slots WHERE ${OF_PUBLICATION} AND NOT active ORDER BY slot_name`,
    [publication],
  )
  const message = 'all replication slots of the server are in use (max_replication_slots)'
  if (rows.length === 0) return new Error(message)
  const names = rows.map(({ slot_name }) => slot_name).join(', ')
  return new Error(`${message}; earlier starts of this pipeline have left ${names}: stop the pipeline, then drop them`)
}

/**
 * Removes the slots that first starts have left whose positions were never committed. Only for the owner of a committed position, which
 * names `slot`.
 */
export async function dropOtherSlots(withClient: WithClient, publication: string, slot: string): Promise<void> {
  const others = `SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE ${OF_PUBLICATION} AND slot_name <> $2 AND NOT active`
  await withClient((client) => client.query(others, [publication, slot]))
}

/** The slot, and what holds it; undefined when it is gone, or the log behind it. */
export async function findSlot(withClient: WithClient, slot: string): Promise<{ active_pid: number | null } | undefined> {
  const { rows } = await withClient((client) =>
    client.query<{ active_pid: number | null; wal_status: string }>(
      'SELECT active_pid, wal_status FROM pg_replication_slots WHERE slot_name = $1',
      [slot],
    ),
  )
  return rows.find(({ wal_status }) => wal_status !== 'lost')
}

/** How often, and how often at most, a slot is looked at whose holder was ended. */
const [LOOK_MS, LOOKS_MAX] = [100, 50]

/** Throws ConfigRefused when the slot is gone. Ends the connection that still holds it. */
export async function assertSlot(withClient: WithClient, slot: string): Promise<void> {
  const found = await findSlot(withClient, slot)
  if (!found)
    throw new ConfigRefused(
      `the replication slot ${slot} is gone: changes since the last one that was read are lost; recreate the pipeline`,
    )
  // Another holder was fenced off by its group, so the split's current owner may end its connection.
  if (found.active_pid === null) return
  await withClient((client) => client.query('SELECT pg_terminate_backend($1)', [found.active_pid]))
  for (let looks = 0; looks < LOOKS_MAX && (await findSlot(withClient, slot))?.active_pid; looks++) await sleep(LOOK_MS)
}

/**
 * Throws ConfigRefused when the publication has another table than the one of this name, or none: it was dropped or renamed, and what has
 * its name now is another one.
 */
export async function assertPublished(withClient: WithClient, publication: string, table: string): Promise<void> {
  const { rows } = await withClient((client) =>
    client.query(
      `SELECT 1 FROM pg_publication_rel r JOIN pg_publication p ON p.oid = r.prpubid WHERE p.pubname = $1 AND r.prrelid = to_regclass($2)`,
      [publication, quotedTable(table)],
    ),
  )
  if (rows.length === 0)
    throw new ConfigRefused(
      `the table ${table} is not the one whose changes were followed: it was dropped or renamed; recreate the pipeline`,
    )
}

/** Removes the slots and the publication; a slot left behind would keep the server's log forever. */
export async function disposeReplication(config: TableSourceConfig, context: ConnectorContext): Promise<void> {
  const publication = publicationOf(context.runId)
  await withDatabase({ ...clientConfigOf(config, context), statement_timeout: 8000, query_timeout: 9000 }, async (client) => {
    await client.query(
      `SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE ${OF_PUBLICATION} AND active_pid IS NOT NULL`,
      [publication],
    )
    for (let attempt = 0; attempt < 20; attempt++) {
      const { rows } = await client.query<{ slot_name: string; active: boolean }>(
        `SELECT slot_name, active FROM pg_replication_slots WHERE ${OF_PUBLICATION}`,
        [publication],
      )
      if (rows.length === 0) break
      for (const { slot_name, active } of rows) if (!active) await client.query('SELECT pg_drop_replication_slot($1)', [slot_name])
      if (rows.some(({ active }) => active)) await sleep(100)
    }
    await client.query(`DROP PUBLICATION IF EXISTS ${quoted(publication)}`)
  })
}
