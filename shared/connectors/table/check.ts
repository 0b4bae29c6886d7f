/** Connects to the table's database and checks whether the table can be written to or read. Reads only the catalogue. */
import { reasonOf } from '../../errors/reason-of.ts'
import type pg from 'pg'
import type { CheckConnector, CheckFault } from '../check.ts'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import { columnsOf, quotedTable, whyNoKey } from './columns.ts'
import type { TableSinkConfig, TableSourceConfig } from './connector.ts'
import { readColumns, readLoggedColumns } from './table-shape.ts'
import { clientConfigOf, openTableDatabase } from './connection.ts'

const LIMITS = { statement_timeout: 5000, query_timeout: 5000 }

/** What `look` finds in the database, or that it can't be reached. */
async function faultsIn(
  config: Pick<TableSinkConfig, 'connection'>,
  context: ConnectorContext,
  look: (client: pg.Client) => Promise<CheckFault[]>,
): Promise<CheckFault[]> {
  const server = clientConfigOf(config, context)
  let database: Awaited<ReturnType<typeof openTableDatabase>>
  try {
    database = await openTableDatabase({ ...server, ...LIMITS })
  } catch (error) {
    return [{ path: '/connection', message: `the database can't be reached: ${reasonOf(error)}` }]
  }
  try {
    return await look(database.client)
  } finally {
    await database.close()
  }
}

/** Connects, and compares the table with what the sink needs. */
export const checkTable: CheckConnector<TableSinkConfig> = (config, context) =>
  faultsIn(config, context, async (client) => {
    const found = await columnsOf(client, config.table, false)
    if (!found) return config.create ? [] : [{ path: '/table', message: 'does not exist, and "create" is false' }]
    const { rows } = await client.query<{ may: boolean }>(`SELECT has_table_privilege(to_regclass($1), 'INSERT') AS may`, [
      quotedTable(config.table),
    ])
    if (!rows[0]?.may) return [{ path: '/table', message: 'this user may not insert into it' }]
    const missing = (config.key ?? []).filter((name) => !found.columns.some((column) => column.name === name))
    if (missing.length > 0) {
      const faults: CheckFault[] = []
      for (const name of missing) faults.push({ path: '/key', message: await whyNoKey(client, config.table, name) })
      return faults
    }
    return config.mode === 'insert' || (await isUnique(client, config.table, config.key ?? []))
      ? []
      : [{ path: '/key', message: `the table has no primary key or unique constraint on ${config.key?.join(', ')}, which this mode needs` }]
  })

/**
 * Whether ON CONFLICT can use these columns: it needs a unique index that is not partial, has only plain columns, and is not deferrable.
 */
async function isUnique(client: pg.Client, table: string, key: readonly string[]): Promise<boolean> {
  const { rows } = await client.query(
    `SELECT 1 FROM pg_index i, LATERAL (SELECT array_agg(a.attname::text) AS names FROM pg_attribute a
       WHERE a.attrelid = i.indrelid AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])) k
     WHERE i.indrelid = to_regclass($1) AND i.indisunique AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL
       AND k.names @> $2::text[] AND k.names <@ $2::text[]`,
    [quotedTable(table), key],
  )
  return rows.length > 0
}

/** Connects, and compares the table and the server with what the source needs. */
export const checkTableSource: CheckConnector<TableSourceConfig> = (config, context) =>
  faultsIn(config, context, async (client) => {
    const shape = await readColumns(client, config.table).catch((error: unknown) => {
      if (error instanceof ConfigRefused) return undefined
      throw error
    })
    if (!shape) return [{ path: '/table', message: 'does not exist, or may not be read' }]
    if (shape.key.length === 0) return [{ path: '/table', message: 'has no primary key, needed to tell rows apart' }]
    if (config.mode === 'query')
      return shape.types.has(config.cursor!) ? [] : [{ path: '/cursor', message: `the table has no column ${config.cursor}` }]
    const { refusal } = await readLoggedColumns(client, config.table)
    if (refusal !== undefined) return [{ path: '/table', message: refusal }]
    const { rows } = await client.query<{ level: string; may: boolean }>(
      `SELECT current_setting('wal_level') AS level, (rolreplication OR rolsuper) AS may FROM pg_roles WHERE rolname = current_user`,
    )
    if (rows[0]?.level !== 'logical')
      return [{ path: '/mode', message: `the database has wal_level ${rows[0]?.level}; replication needs logical` }]
    return rows[0].may ? [] : [{ path: '/mode', message: 'the user may not replicate (ALTER ROLE … REPLICATION)' }]
  })
