/** How to reach the table's database: the operator's as it is, an account's own with nothing but what its URL says, and no private address. */
import net from 'node:net'
import pg, { type ClientConfig } from 'pg'
import { AddressRefused, assertPublicHost, guardedLookup } from '../guarded-lookup.ts'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import type { Secret } from '../secret.ts'

const SCHEMES = new Set(['postgres:', 'postgresql:'])
/** Others name files and hosts that are not the account's to name. */
const PARAMETERS = new Set(['sslmode', 'application_name'])

function ownUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !SCHEMES.has(url.protocol)) throw new ConfigRefused('the connection must be postgres://user:password@host:port/database')
  // Without them the driver would ask the environment, which is the operator's.
  if (url.hostname === '' || url.username === '' || url.password === '')
    throw new ConfigRefused('the connection must name a host, a user and a password')
  for (const name of url.searchParams.keys())
    if (!PARAMETERS.has(name))
      throw new ConfigRefused(`the connection's parameter "${name}" is not allowed; ${[...PARAMETERS].join(' and ')} are`)
  return url
}

/** A socket that looks at the address before it connects: pg asks for a host by name, and the check sits in the resolver it then uses. */
function guardedSocket(): net.Socket {
  const socket = new net.Socket()
  const connect = socket.connect.bind(socket) as (options: net.NetConnectOpts) => net.Socket
  const guarded = (port: unknown, host: unknown): net.Socket => {
    try {
      if (typeof port !== 'number' || typeof host !== 'string' || host === '')
        throw new AddressRefused('only a host and a port can be connected to')
      assertPublicHost(host)
      return connect({ port, host, lookup: guardedLookup })
    } catch (error) {
      process.nextTick(() => socket.destroy(error instanceof Error ? error : new Error(String(error))))
      return socket
    }
  }
  return Object.assign(socket, { connect: guarded })
}

/** For `pg.Client`, `pg.Pool` and the replication client alike. Throws ConfigRefused where nobody has said which database. */
export function clientConfigOf(config: { connection?: Secret }, context: ConnectorContext): ClientConfig {
  if (!config.connection) {
    if (context.defaults.warehouse_url === undefined)
      throw new ConfigRefused('there is no connection in the config, and the operator has set no warehouse')
    return { connectionString: context.defaults.warehouse_url }
  }
  const connectionString = ownUrl(context.secret(config.connection)).toString()
  if (context.defaults.allow_private_addresses) return { connectionString }
  return { connectionString, stream: guardedSocket as unknown as ClientConfig['stream'] }
}

const CONNECT_TIMEOUT_MS = 5000

/** Works with a connection of its own. One that ends in the middle fails the work and nothing else. */
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
