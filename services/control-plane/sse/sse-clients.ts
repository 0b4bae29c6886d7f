/**
 * The clients that listen to server-sent events. Each account may have so many at once; one whose token or key has ended is sent away, and
 * comes back with a new token where it left off.
 */
import { once } from 'node:events'
import type { Context } from 'koa'
import type { Events } from '../../../shared/api/contract.ts'
import type { Caller } from '../deps.ts'
import { ServiceError, unavailable } from '../service-error.ts'
import type { Logger } from '../../../shared/telemetry/log.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { openSseClient, type SseClient } from './sse-client.ts'

export type SseClients = {
  /** Makes `ctx` a stream of events. Throws ServiceError `rate_limit_exceeded` where the account listens too often already. */
  serve(ctx: Context, caller: Caller, events: Events): void
  /** Sends all clients away, and waits until they are gone. */
  close(): Promise<void>
}

const PER_ACCOUNT_MAX = 20
/** How often a client's token is looked at again. */
const CHECK_MS = 10_000

export function openSseClients(mayStay: (ctx: Context) => Promise<unknown>, log: Logger): SseClients {
  let isClosed = false
  const open = new Map<SseClient, { accountId: string; ctx: Context }>()

  const checks = setInterval(() => {
    for (const [client, { ctx }] of open) {
      // A database that is away is no reason to send anyone away.
      void mayStay(ctx).catch((error: unknown) => {
        if (error instanceof ServiceError && (error.status === 401 || error.status === 403)) client.close()
      })
    }
  }, CHECK_MS).unref()

  return {
    serve(ctx, { accountId }, events) {
      if (isClosed) throw unavailable('this control plane, which is stopping,')
      const own = [...open.values()].filter((each) => each.accountId === accountId).length
      if (own >= PER_ACCOUNT_MAX) {
        throw new ServiceError('rate_limit_exceeded', `the account listens to ${PER_ACCOUNT_MAX} event streams already: close one first`, {
          headers: { 'Retry-After': '10' },
        })
      }
      ctx.status = 200
      ctx.type = 'text/event-stream'
      // Proxies must pass events on as they come.
      ctx.set({ 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no', Connection: 'close' })
      // A client that asks for the headers alone reads no body.
      if (ctx.method === 'HEAD') return void (ctx.body = '')
      const client = openSseClient(ctx.get('Last-Event-ID') || undefined)
      open.set(client, { accountId, ctx })
      // Not when it is sent away: until then its connection counts.
      client.body.once('close', () => open.delete(client))
      ctx.body = client.body
      events(client.listener)
        .catch((error: unknown) => log.warn({ path: ctx.path, reason: reasonOf(error) }, 'an event stream ended early'))
        .finally(client.close)
    },
    async close() {
      isClosed = true
      clearInterval(checks)
      const all = [...open.keys()]
      for (const client of all) client.close()
      await Promise.all(all.map(({ body }) => body.closed || once(body, 'close')))
    },
  }
}
