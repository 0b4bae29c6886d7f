/** Connections of clients that go on sending what is refused for its number (429): a refusal is cheap, and any number of them is not. */
import type { Context, Next } from 'koa'
import { ERROR_CODES } from '../../../shared/errors/codes.ts'

/** Refusals with nothing else between them, after which the connection is closed. */
const REFUSED_MAX = 50

export function endRefused(refusedMax = REFUSED_MAX) {
  const refused = new WeakMap<Context['req']['socket'], number>()
  return async (ctx: Context, next: Next): Promise<void> => {
    const { socket } = ctx.req
    await next()
    const count = ctx.status === ERROR_CODES.rate_limit_exceeded.status ? (refused.get(socket) ?? 0) + 1 : 0
    refused.set(socket, count)
    if (count >= refusedMax) ctx.set('Connection', 'close')
  }
}
