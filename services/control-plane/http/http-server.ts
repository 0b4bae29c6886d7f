/**
 * The API's HTTP server: how long a request may take to arrive, and how many connections there may be. Until a request has arrived, its
 * sender is unknown, so no other limit applies yet.
 */
import { readFileSync } from 'node:fs'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { openRanges } from '../../../shared/connectors/address-guard.ts'
import type { Logger } from '../../../shared/telemetry/log.ts'
import { inOrder } from './in-order.ts'
import { plainAddress } from '../middleware/client-address.ts'
import { answerParserErrors, answerUnsupported } from './raw-requests.ts'

/** For the request's line and headers. */
const HEADERS_MS = 10_000
const HEADERS_BYTES_MAX = 16 << 10
/** For all of a request: 16 MiB, the largest body, at 2.3 Mbit/s. */
const REQUEST_MS = 60_000
/** Requests may be late by this much. */
const CHECK_MS = 2000
/** Longer than load balancers keep idle connections: a request sent on a connection that we are closing would be lost. */
const KEEP_ALIVE_MS = 65_000
/** Clients' share of the process's descriptors; the rest is for its own connections, its children, `/metrics` and `/healthz`. */
const SHARE_OF_DESCRIPTORS = 0.75
/** More would take hundreds of megabytes, whatever they do. */
const CONNECTIONS_MAX = 16_384
/** Where the system does not say. */
const DESCRIPTORS = 1024
const SAY_AGAIN_MS = 60_000

export type HttpServerOptions = {
  trustedProxies: readonly string[]
  connectionsPerAddress: number
  log: Pick<Logger, 'warn'>
  connectionsMax?: number
  headersMs?: number
  requestMs?: number
  checkMs?: number
}

/** The server, which does not listen yet. */
export function createHttpServer(handle: RequestListener, options: HttpServerOptions): Server {
  const { headersMs = HEADERS_MS, requestMs = REQUEST_MS, checkMs = CHECK_MS, connectionsMax = connectionsMaxOf(ownLimits()) } = options
  const server = createServer(
    {
      headersTimeout: headersMs,
      maxHeaderSize: HEADERS_BYTES_MAX,
      requestTimeout: requestMs,
      connectionsCheckingInterval: checkMs,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // `assertTarget` asks for it: Node's own answer has no body.
      requireHostHeader: false,
    },
    inOrder(handle),
  )
  server.maxConnections = connectionsMax
  answerParserErrors(server)
  answerUnsupported(server)
  limitByAddress(server, options)
  const say = seldom(() =>
    options.log.warn({ connections: connectionsMax }, 'there are as many connections as there may be: others are refused'),
  )
  server.on('drop', say)
  return server
}

/** Proxies that the operator trusts have the connections of many clients. */
function limitByAddress(server: Server, { trustedProxies, connectionsPerAddress, log }: HttpServerOptions): void {
  const isTrusted = openRanges(trustedProxies)
  const open = new Map<string, number>()
  const say = seldom((address: string) =>
    log.warn({ address, connections: connectionsPerAddress }, 'an address has as many connections as it may: others are refused'),
  )
  server.on('connection', (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress ?? '')
    if (isTrusted(address)) return
    const count = (open.get(address) ?? 0) + 1
    if (count > connectionsPerAddress) {
      socket.destroy()
      return say(address)
    }
    open.set(address, count)
    socket.once('close', () => {
      const left = open.get(address)! - 1
      if (left > 0) open.set(address, left)
      else open.delete(address)
    })
  })
}

/** Says it once a minute at most. */
function seldom<T extends unknown[]>(say: (...what: T) => void): (...what: T) => void {
  let last = Number.NEGATIVE_INFINITY
  return (...what) => {
    if (performance.now() - last < SAY_AGAIN_MS) return
    last = performance.now()
    say(...what)
  }
}

/** The limits of this process as Linux shows them; empty elsewhere. */
function ownLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'utf8')
  } catch {
    return ''
  }
}

/** `limits`: as in `/proc/<pid>/limits`. The first number is the one that holds, which Node raises to the second at its start. */
export function connectionsMaxOf(limits: string): number {
  const [, text] = /^Max open files\s+(\d+|unlimited)/m.exec(limits) ?? []
  const descriptors = text === undefined ? DESCRIPTORS : text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text)
  return Math.min(CONNECTIONS_MAX, Math.floor(descriptors * SHARE_OF_DESCRIPTORS))
}
