/** Every response carries X-Request-Id: the client's own if it is short and plain, else a new one. */
import { randomUUID } from 'node:crypto'
import type { Context, Next } from 'koa'

const SENSIBLE = /^[\w.:-]{1,128}$/

export async function requestId(ctx: Context, next: Next): Promise<void> {
  const given = ctx.get('X-Request-Id')
  ctx.state.requestId = SENSIBLE.test(given) ? given : randomUUID()
  ctx.set('X-Request-Id', ctx.state.requestId)
  await next()
}
