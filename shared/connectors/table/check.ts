/** Connects to the table's database and looks whether the table could be written to. Reads the catalogue alone. */
import pg from 'pg'
import type { CheckConnector } from '../check.ts'
import { columnsOf, quotedTable } from './columns.ts'
import type { TableSinkConfig } from './connector.ts'
import { connectionStringOf } from './sink.ts'

const TIMEOUT_MS = 5000

export const checkTable: CheckConnector<TableSinkConfig> = async (config, context) => {
  const client = new pg.Client({
    connectionString: connectionStringOf(config, context),
    connectionTimeoutMillis: TIMEOUT_MS,
    statement_timeout: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
  })
  client.on('error', () => {})
  try {
    await client.connect()
  } catch (error) {
    await client.end().catch(() => {})
    return [{ path: '/connection', message: `the database can't be reached: ${error instanceof Error ? error.message : String(error)}` }]
  }
  try {
    const found = await columnsOf(client, config.table, false)
    if (!found) return config.create ? [] : [{ path: '/table', message: 'does not exist, and "create" is false' }]
    const { rows } = await client.query<{ may: boolean }>(`SELECT has_table_privilege(to_regclass($1), 'INSERT') AS may`, [
      quotedTable(config.table),
    ])
    if (!rows[0]?.may) return [{ path: '/table', message: 'may not be inserted into by this user' }]
    const missing = (config.key ?? []).filter((name) => !found.columns.some((column) => column.name === name))
    return missing.map((name) => ({ path: '/key', message: `the table has no column ${name}` }))
  } finally {
    await client.end().catch(() => {})
  }
}
