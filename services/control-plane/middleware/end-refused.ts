/**
 * Connections of clients that go on sending what is refused for its number (429): a refusal is cheap, and any number of them is not.
 * Requests that are sent behind one another on a connection are answered one by one, so that none is begun once the connection ends.
 */
import type { Context, Next } from 'koa'
import { ERROR_CODES } from '../../../shared/errors/codes.ts'

/** Refusals with nothing else between them, after which the connection is closed. */
const REFUSED_MAX = 50

type Connection = { refused: number; last: Promise<void> }

export function endRefused(refusedMax = REFUSED_MAX) {
  const connections = new WeakMap<Context['req']['socket'], Connection>()
  return async (ctx: Context, next: Next): Promise<void> => {
    const { socket } = ctx.req
    const own: Connection = connections.get(socket) ?? { refused: 0, last: Promise.resolve() }
    connections.set(socket, own)
    const before = own.last
    const { promise, resolve } = Promise.withResolvers<void>()
    own.last = promise
    await before
    try {
      // The answer before this one was the connection's last.
      if (own.refused >= refusedMax) return void (ctx.respond = false)
      await next()
      own.refused = ctx.status === ERROR_CODES.rate_limit_exceeded.status ? own.refused + 1 : 0
      if (own.refused >= refusedMax) ctx.set('Connection', 'close')
    } finally {
      resolve()
    }
  }
}
