/**
 * How to reach the table's database. The operator's connection is used unchanged; an account's own takes everything from its URL and
 * reaches no private address.
 */
import net from 'node:net'
import pg, { type ClientConfig } from 'pg'
import { errorOf } from '../../errors/reason-of.ts'
import { addressGuardOf, AddressRefused, type AddressGuard } from '../address-guard.ts'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import type { Secret } from '../secret.ts'

const SCHEMES = new Set(['postgres:', 'postgresql:'])
/** Other parameters name files and hosts, which an account must not choose. */
const PARAMETERS = new Set(['sslmode', 'application_name'])

function ownUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !SCHEMES.has(url.protocol)) throw new ConfigRefused('the connection must be postgres://user:password@host:port/database')
  // If they were missing, the driver would take them from the operator's environment.
  if (url.hostname === '' || url.username === '' || url.password === '')
    throw new ConfigRefused('the connection must name a host, a user and a password')
  for (const name of url.searchParams.keys())
    if (!PARAMETERS.has(name))
      throw new ConfigRefused(`the connection's parameter "${name}" is not allowed; ${[...PARAMETERS].join(' and ')} are`)
  return url
}

/**
 * A socket that checks the address before it connects. pg passes a host name, so the check is in the resolver that the socket then uses.
 */
function guardedSocket(guard: AddressGuard): net.Socket {
  const socket = new net.Socket()
  const connect = socket.connect.bind(socket) as (options: net.NetConnectOpts) => net.Socket
  const guarded = (port: unknown, host: unknown): net.Socket => {
    try {
      if (typeof port !== 'number' || typeof host !== 'string' || host === '')
        throw new AddressRefused('a connection needs a host and a port')
      guard.assertHost(host)
      return connect({ port, host, lookup: guard.lookup })
    } catch (error) {
      process.nextTick(() => socket.destroy(errorOf(error)))
      return socket
    }
  }
  return Object.assign(socket, { connect: guarded })
}

/**
 * Returns the config for `pg.Client`, `pg.Pool` and the replication client. Throws ConfigRefused when the connection is not allowed, or
 * neither the config nor the operator names a database.
 */
export function clientConfigOf(config: { connection?: Secret }, context: ConnectorContext): ClientConfig {
  if (!config.connection) {
    if (context.defaults.warehouse_url === undefined)
      throw new ConfigRefused('the config has no connection, and the operator has set no warehouse')
    return { connectionString: context.defaults.warehouse_url }
  }
  const connectionString = ownUrl(context.secret(config.connection)).toString()
  const guard = addressGuardOf(context.defaults.addresses)
  if (!guard) return { connectionString }
  return { connectionString, stream: (() => guardedSocket(guard)) as unknown as ClientConfig['stream'] }
}

const CONNECT_TIMEOUT_MS = 5000

/** Runs `work` with its own connection. If the connection breaks, only this work fails. */
export async function withDatabase<T>(config: ClientConfig, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionTimeoutMillis: CONNECT_TIMEOUT_MS, ...config })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end().catch(() => {})
  }
}
