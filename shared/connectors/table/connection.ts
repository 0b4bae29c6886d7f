/**
 * How to reach the table's database. The operator's connection is used unchanged; an account's own takes everything from its URL and
 * reaches no private address.
 */
import net from 'node:net'
import pg, { type ClientConfig } from 'pg'
import { errorOf, reasonOf } from '../../errors/reason-of.ts'
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

/** SQLSTATEs of a server that refuses for good: the login (class 28), the database (3D), the schema (3F), a privilege (42501). */
const REFUSED = /^(28|3D|3F|42501)/

/** The error to throw for one that a source met: ConfigRefused if its server refuses for good, else the error itself. */
export function failureOf(error: unknown): unknown {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && REFUSED.test(code) ? new ConfigRefused(`the table's database refuses: ${reasonOf(error)}`) : error
}

const CONNECT_TIMEOUT_MS = 5000
const GOODBYE_MS = 2000
/** For what a source asks: a server that falls silent does not keep `statement_timeout`, so the client has a limit of its own. */
export const SOURCE_LIMITS = { statement_timeout: 60_000, query_timeout: 65_000, keepAlive: true } as const

/** The socket of a client, which pg does not expose. */
export const socketOf = (client: pg.Client | undefined): net.Socket | undefined =>
  (client as unknown as { connection?: { stream?: net.Socket } } | undefined)?.connection?.stream

/** A connected client. If the connection breaks, only its queries fail; an aborted signal ends it, whether its server answers or not. */
export async function openTableDatabase(
  config: ClientConfig,
  signal?: AbortSignal,
): Promise<{ client: pg.Client; close(): Promise<void> }> {
  signal?.throwIfAborted()
  const client = new pg.Client({ connectionTimeoutMillis: CONNECT_TIMEOUT_MS, ...config })
  client.on('error', () => {})
  const cut = (): void => void socketOf(client)?.destroy()
  signal?.addEventListener('abort', cut)
  async function close(): Promise<void> {
    const timer = setTimeout(cut, GOODBYE_MS)
    await client.end().catch(() => {})
    clearTimeout(timer)
    signal?.removeEventListener('abort', cut)
  }
  try {
    await client.connect()
  } catch (error) {
    await close()
    throw error
  }
  return { client, close }
}

/** Runs `work` with its own connection, see `openTableDatabase`. */
export async function withDatabase<T>(config: ClientConfig, work: (client: pg.Client) => Promise<T>, signal?: AbortSignal): Promise<T> {
  const { client, close } = await openTableDatabase(config, signal)
  try {
    return await work(client)
  } finally {
    await close()
  }
}
