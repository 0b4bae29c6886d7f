/**
 * Answers that wait for their clients to read them: a connection whose client reads nothing is ended, and the bytes that wait are bounded
 * per account. Server-sent events have bounds of their own (`sse/`).
 */
import { Stream } from 'node:stream'
import type { Context, Next } from 'koa'
import type { Reply } from '../deps.ts'
import { printJson } from '../shown/print-json.ts'
import { ServiceError } from '../service-error.ts'

/**
 * How long an answer may wait without progress. It may take twice that: Node gives a large write a second term once part of it reached the
 * system's buffer. Progress shows in steps of about a third of that buffer, so a shorter term would end slow clients that do read.
 */
const WITHOUT_PROGRESS_MS = 20_000
const WAITING_BYTES_MAX = 64 << 20
/** Smaller answers are not counted: one waits on a connection (`http/in-order.ts`), and connections are bounded. */
const COUNTED_BYTES_MIN = 64 << 10
/** About the largest page of records, for which there must be room before it is made. */
const LARGEST_BYTES = 16 << 20

/** Ends connections on which an answer makes no progress. */
export function endUnread(withoutProgressMs = WITHOUT_PROGRESS_MS) {
  return async (ctx: Context, next: Next): Promise<void> => {
    // Where a request came behind another one, the answer to that has left its own term on the connection.
    ctx.res.setTimeout(0)
    await next()
    // When it is sent, Node puts the term of idle connections in the place of this one.
    if (!(ctx.body instanceof Stream)) ctx.res.setTimeout(withoutProgressMs)
  }
}

export type UnsentAnswers = {
  /** Throws ServiceError `rate_limit_exceeded` where so much waits for the account that a large answer would be too much. */
  assertRoom(accountId: string): void
  /** Counts an answer until it is sent or its client is gone. `mayRefuse`: throws as `assertRoom` does where this one is too much. */
  hold(exchange: Pick<Context, 'req' | 'res'>, accountId: string, bytes: number, mayRefuse: boolean): void
}

export function createUnsentAnswers(bytesMax = WAITING_BYTES_MAX, largest = LARGEST_BYTES): UnsentAnswers {
  const waiting = new Map<string, number>()

  function assertFits(accountId: string, bytes: number): void {
    const before = waiting.get(accountId) ?? 0
    // An answer that is larger than all that may wait passes alone.
    if (before === 0 || before + bytes <= bytesMax) return
    throw new ServiceError('rate_limit_exceeded', 'too many answers wait for clients of the account that read them slowly or not at all', {
      headers: { 'Retry-After': '1' },
    })
  }

  return {
    assertRoom: (accountId) => assertFits(accountId, largest),
    hold({ req, res }, accountId, bytes, mayRefuse) {
      if (bytes < COUNTED_BYTES_MIN) return
      if (mayRefuse) assertFits(accountId, bytes)
      // Nothing would say that it is gone.
      if (req.socket.destroyed || res.destroyed) return
      waiting.set(accountId, (waiting.get(accountId) ?? 0) + bytes)
      res.once('close', () => {
        const left = waiting.get(accountId)! - bytes
        if (left > 0) waiting.set(accountId, left)
        else waiting.delete(accountId)
      })
    },
  }
}

/** The reply with its body as what is sent, so that its size is known. */
export function asSent(reply: Reply): Reply & { body?: string | Buffer } {
  const { body, headers } = reply
  if (body === undefined || body === null) return { ...reply, body: undefined }
  if (Buffer.isBuffer(body) || typeof body === 'string') return { ...reply, body }
  return { ...reply, body: printJson(body), headers: { 'Content-Type': 'application/json; charset=utf-8', ...headers } }
}
