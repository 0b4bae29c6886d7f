/** Every lie, the endpoint that makes the service talk to it, and the port that tells it. */
import { createServer as createWebServer } from 'node:http'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { honestly, serve } from './kafka-broker.ts'
import { HONEST as HONEST_HTTP, LIES as HTTP } from './http.ts'
import { HONEST as HONEST_KAFKA, LIES as KAFKA } from './kafka.ts'
import type { SocketLie, WebLie } from './lie.ts'
import { HONEST as HONEST_POSTGRES, LIES as POSTGRES } from './postgres.ts'
import { HONEST as HONEST_REDIS, LIES as REDIS } from './redis.ts'
import { LIES as REGISTRY } from './registry.ts'
import { HONEST as HONEST_S3, LIES as S3 } from './s3.ts'

export type SocketProtocol = 'postgres' | 'kafka' | 'redis'
const WEB_PROTOCOLS = ['http', 'registry', 's3'] as const
export type WebProtocol = (typeof WEB_PROTOCOLS)[number]

/** A lie and the protocol that it is told in. */
export type Told = ({ protocol: SocketProtocol } & SocketLie) | ({ protocol: WebProtocol } & WebLie)

/** An endpoint as the API takes it: `config` of the connector, and the account's secrets that it names. */
export type Endpoint = {
  connector_id: string
  direction: 'source' | 'sink'
  config: Record<string, unknown>
  secrets: Record<string, string>
}

export type Liar = {
  port: number
  /** How many connections were made so far. */
  connections(): number
  /** How many of them are open. */
  open(): number
  close(): Promise<void>
}

const bySocket = (protocol: SocketProtocol, lies: readonly SocketLie[]): Told[] => lies.map((lie) => ({ protocol, ...lie }))
const byWeb = (protocol: WebProtocol, lies: readonly WebLie[]): Told[] => lies.map((lie) => ({ protocol, ...lie }))

export const LIES: readonly Told[] = [
  ...bySocket('postgres', POSTGRES),
  ...bySocket('kafka', KAFKA),
  ...byWeb('registry', REGISTRY),
  ...byWeb('http', HTTP),
  ...byWeb('s3', S3),
  ...bySocket('redis', REDIS),
]

/** Servers that take what is written: by them a test sees that nothing but a lie keeps records from being delivered. */
export const HONEST: readonly Told[] = [
  ...bySocket('postgres', [HONEST_POSTGRES]),
  ...bySocket('kafka', [HONEST_KAFKA]),
  ...byWeb('http', [HONEST_HTTP]),
  ...byWeb('s3', [HONEST_S3]),
  ...bySocket('redis', [HONEST_REDIS]),
]

/** A connector's config: what both directions have, and what only one has. */
type Place = {
  connector_id: string
  common(port: number): Record<string, unknown>
  source?: Record<string, unknown>
  sink?: Record<string, unknown>
}

const brokerOn = (port: number) => ({ brokers: [`127.0.0.1:${port}`], topic: 't' })
const PLACES: Readonly<Record<SocketProtocol | WebProtocol, Place>> = {
  postgres: {
    connector_id: 'conn_table',
    common: () => ({ table: 't', connection: { $secret: 'lie_database' } }),
    source: { mode: 'query', cursor: 'id', poll_interval_ms: 100 },
    sink: { unknown_members: 'ignore' },
  },
  kafka: { connector_id: 'conn_kafka', common: brokerOn },
  registry: {
    connector_id: 'conn_kafka',
    common: (port) => ({ ...brokerOn(port), registry: { url: `http://127.0.0.1:${port}` } }),
    sink: { schema_id: 1 },
  },
  http: {
    connector_id: 'conn_http',
    common: (port) => ({ url: `http://127.0.0.1:${port}/in` }),
    source: { poll_interval_ms: 100 },
  },
  s3: {
    connector_id: 'conn_storage_bucket',
    common: (port) => ({
      bucket: 'lies',
      endpoint: `http://127.0.0.1:${port}`,
      access_key: { $secret: 'lie_password' },
      secret_key: { $secret: 'lie_password' },
    }),
    source: { poll_interval_ms: 100 },
    sink: { interval_ms: 100 },
  },
  redis: { connector_id: 'conn_redis', common: (port) => ({ url: `redis://127.0.0.1:${port}`, stream: 's' }) },
}

/** The endpoint that makes the service talk to the lie on this port. `name`: a suffix of its secrets, which no other endpoint has. */
export function endpointOf({ protocol, way, config }: Told, port: number, name: string): Endpoint {
  const { connector_id, common, ...sides } = PLACES[protocol]
  const direction = way === 'check sink' || way === 'write' ? 'sink' : 'source'
  const own = { ...common(port), ...sides[direction], ...config?.(port) }
  const text = JSON.stringify(own).replaceAll(/"lie_(database|password)"/g, `"lie_$1_${name}"`)
  const secrets = { [`lie_database_${name}`]: `postgres://lie:pencil@127.0.0.1:${port}/lie`, [`lie_password_${name}`]: 'pencil' }
  return {
    connector_id,
    direction,
    config: JSON.parse(text) as Record<string, unknown>,
    secrets: Object.fromEntries(Object.entries(secrets).filter(([secret]) => text.includes(`"${secret}"`))),
  }
}

/** Passes connections on to a web server; those of Kafka clients, whose first byte is 0, to an honest broker with these values. */
function webServerOf({ answer, values }: WebLie): (socket: Socket) => void {
  const server = createWebServer({ keepAliveTimeout: 60_000, maxHeaderSize: 64 << 20 }, (request, response) => {
    response.on('error', () => {})
    request.resume()
    answer(request, response)
  })
  server.on('clientError', (_error, socket) => void socket.destroy())
  const replies = honestly(values?.())
  return (socket) => {
    socket.once('data', (first: Buffer) => {
      socket.pause()
      socket.unshift(first)
      if (first[0] === 0) serve(socket, replies)
      else server.emit('connection', socket)
      socket.resume()
    })
  }
}

/** Whether the lie is told by a web server. */
export const isWeb = (lie: Told): lie is { protocol: WebProtocol } & WebLie => WEB_PROTOCOLS.some((each) => each === lie.protocol)

/** Tells the lie on a port of its own of 127.0.0.1. */
export async function openLiar(lie: Told): Promise<Liar> {
  const sockets = new Set<Socket>()
  let count = 0
  const tell = isWeb(lie) ? webServerOf(lie) : (socket: Socket): void => lie.answer(socket)
  const server = createServer((socket) => {
    count++
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    tell(socket)
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => count,
    open: () => sockets.size,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}
