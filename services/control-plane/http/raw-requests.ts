/** Rejects requests before routing (Node's parser refuses them, or the target is not a path), also with the contract's error envelope. */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { Context, Next } from 'koa'
import { INVALID_REQUEST_STATUSES } from '../../../shared/errors/codes.ts'
import { errorEnvelope, invalidRequest, ServiceError } from '../service-error.ts'

/** Node's codes for request headers that are too large (431) and a request that does not arrive in time (408). */
const STATUSES: Record<string, [status: number, line: string, reason: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'Request Header Fields Too Large', 'the request’s line and headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'Request Timeout', 'the request did not arrive in time'],
}

/** A client that does not close its side, or does not read, has this long to get the answer. */
const LAST_WORDS_MS = 2000

/** Answers requests that Node's parser refuses, and closes the connection. */
export function answerParserErrors(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) => {
    // Who has sent nothing in time expects no answer.
    const isSilent = error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && (socket as Socket).bytesRead === 0
    if (error.code === 'ECONNRESET' || isSilent || !socket.writable) return void socket.destroy()
    endWith(socket, ...(STATUSES[error.code ?? ''] ?? [400, 'Bad Request', 'the request is not valid HTTP']))
  })
}

/** Answers what Node's server would close or answer with an empty body: CONNECT, and an Expect header that is not `100-continue`. */
export function answerUnsupported(server: Server): void {
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => {})
    endWith(socket, 400, 'Bad Request', 'the request’s target is not a path')
  })
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const { body, headers } = refusal(INVALID_REQUEST_STATUSES.expectationFailed, 'the Expect header must be 100-continue')
    response.writeHead(INVALID_REQUEST_STATUSES.expectationFailed, headers).end(body)
  })
}

/** An answer without Koa, after which the connection ends. */
function refusal(status: number, reason: string): { body: string; headers: Record<string, string> } {
  const requestId = randomUUID()
  const body = JSON.stringify(errorEnvelope(new ServiceError('invalid_request', reason, { status }), requestId))
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': requestId,
    Connection: 'close',
  }
  return { body, headers }
}

function endWith(socket: Duplex, status: number, line: string, reason: string): void {
  const { body, headers } = refusal(status, reason)
  socket.end([`HTTP/1.1 ${status} ${line}`, ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`), '', body].join('\r\n'))
  setTimeout(() => socket.destroy(), LAST_WORDS_MS).unref()
}

/**
 * Refuses a target that is neither a path nor a valid absolute URL (`*`, for example), and HTTP/1.1 with no Host header or several (RFC
 * 9112 §3.2).
 */
export async function assertTarget(ctx: Context, next: Next): Promise<void> {
  const { url = '' } = ctx.req
  const isPath = url.startsWith('/') || URL.canParse(url)
  if (!isPath) throw invalidRequest([{ path: '', message: 'the request’s target is not a path' }])
  const hosts = countOf(ctx.req, 'host')
  if (hosts === 0 && ctx.req.httpVersion === '1.1') throw invalidRequest([{ path: '/header/Host', message: 'must be given' }])
  if (hosts > 1) throw invalidRequest([{ path: '/header/Host', message: 'must be given once' }])
  await next()
}

function countOf({ rawHeaders }: IncomingMessage, name: string): number {
  return rawHeaders.filter((each, index) => index % 2 === 0 && each.toLowerCase() === name).length
}
