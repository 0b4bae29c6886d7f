/** Makes an account's role and schema in the operator's warehouse. Idempotent; the password is set anew each time. */
import pg from 'pg'
import { warehousePasswordOf, warehouseRoleOf } from '../account-defaults.ts'

/** Connections that all of an account's tasks may have together. */
const CONNECTIONS_MAX = 64
const TIMEOUT_MS = 5000

/** Throws the driver's error when the warehouse is away, or the operator's role may not create roles. */
export async function ensureAccountSchema(warehouseUrl: string, accountId: string): Promise<void> {
  const client = new pg.Client({ connectionString: warehouseUrl, connectionTimeoutMillis: TIMEOUT_MS, query_timeout: TIMEOUT_MS })
  client.on('error', () => {})
  try {
    await client.connect()
    const role = client.escapeIdentifier(warehouseRoleOf(accountId))
    const password = client.escapeLiteral(warehousePasswordOf(warehouseUrl, accountId))
    const login = `LOGIN CONNECTION LIMIT ${CONNECTIONS_MAX} PASSWORD ${password}`
    // Only a superuser may name these again for a role that exists.
    const nothingElse = 'NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS'
    await client.query('BEGIN')
    // Two control planes may do this at once.
    await client.query(`SELECT pg_advisory_xact_lock(hashtext($1))`, [role])
    const { rowCount } = await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [warehouseRoleOf(accountId)])
    await client.query(rowCount === 0 ? `CREATE ROLE ${role} ${login} ${nothingElse}` : `ALTER ROLE ${role} ${login}`)
    // Needed to create a schema for it where the operator's role is no superuser.
    await client.query(`GRANT ${role} TO CURRENT_USER`)
    await client.query(`CREATE SCHEMA IF NOT EXISTS ${role} AUTHORIZATION ${role}`)
    await client.query(`ALTER ROLE ${role} SET search_path = ${role}`)
    await client.query('COMMIT')
  } finally {
    await client.end().catch(() => {})
  }
}
