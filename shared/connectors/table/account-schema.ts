/** Makes an account's role and schema in the operator's warehouse. Idempotent; sets the password each time. */
import pg from 'pg'
import { warehousePasswordOf, warehouseRoleOf } from '../account-defaults.ts'
import { isMadeMeanwhile } from './made-meanwhile.ts'

/** Connections that all of an account's tasks may have together; Postgres' own default for all together is 100. */
const CONNECTIONS_MAX = 32
const TIMEOUT_MS = 5000
/** Two control planes may do this at once. A lock would be one that accounts' sessions can hold too, so the later one tries again. */
const TRIES_MAX = 5

/** Throws the driver's error when the warehouse is away, or the operator's role may not create roles. */
export async function ensureAccountSchema(warehouseUrl: string, accountId: string): Promise<void> {
  const client = new pg.Client({ connectionString: warehouseUrl, connectionTimeoutMillis: TIMEOUT_MS, query_timeout: TIMEOUT_MS })
  client.on('error', () => {})
  try {
    await client.connect()
    for (let tries = 1; ; tries++) {
      try {
        return await makeSchema(client, warehouseRoleOf(accountId), warehousePasswordOf(warehouseUrl, accountId))
      } catch (error) {
        if (tries >= TRIES_MAX || !isMadeMeanwhile(error)) throw error
        await client.query('ROLLBACK')
      }
    }
  } finally {
    await client.end().catch(() => {})
  }
}

async function makeSchema(client: pg.Client, name: string, password: string): Promise<void> {
  const role = client.escapeIdentifier(name)
  const login = `LOGIN CONNECTION LIMIT ${CONNECTIONS_MAX} PASSWORD ${client.escapeLiteral(password)}`
  // Only a superuser may name these again for a role that exists.
  const nothingElse = 'NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS'
  await client.query('BEGIN')
  const { rowCount } = await client.query('SELECT 1 FROM pg_roles WHERE rolname = $1', [name])
  await client.query(rowCount === 0 ? `CREATE ROLE ${role} ${login} ${nothingElse}` : `ALTER ROLE ${role} ${login}`)
  // Needed to create a schema for it where the operator's role is no superuser.
  await client.query(`GRANT ${role} TO CURRENT_USER`)
  await client.query(`CREATE SCHEMA IF NOT EXISTS ${role} AUTHORIZATION ${role}`)
  await client.query(`ALTER ROLE ${role} SET search_path = ${role}`)
  await client.query('COMMIT')
}
