/** Connections of clients that go on sending what is refused: a refusal is cheap, and any number of them is not. */
import type { Context, Next } from 'koa'
import { ERROR_CODES } from '../../../shared/errors/codes.ts'

/** Refusals for their number (429) with no success between them, after which the connection is closed. */
const REFUSED_MAX = 50
/** Other refusals count less: a client may well ask for a hundred things that are not there. */
const OTHERS_WEIGHT = 1 / 4

function refusalOf(status: number): number {
  if (status === ERROR_CODES.rate_limit_exceeded.status) return 1
  return status >= 400 && status < 500 ? OTHERS_WEIGHT : 0
}

export function endRefused(refusedMax = REFUSED_MAX) {
  const refused = new WeakMap<Context['req']['socket'], number>()
  return async (ctx: Context, next: Next): Promise<void> => {
    const { socket } = ctx.req
    await next()
    const count = ctx.status < 400 ? 0 : (refused.get(socket) ?? 0) + refusalOf(ctx.status)
    refused.set(socket, count)
    if (count >= refusedMax) ctx.set('Connection', 'close')
  }
}
