/** Requests per minute and account, counted in Redis, or in memory while Redis is unreachable. Sets headers on every counted response. */
import type { Context } from 'koa'
import type { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { ServiceError } from '../service-error.ts'
import { ACCOUNT_TYPES, type AccountType } from '../../../shared/model/limits.ts'
import type { Caller } from '../deps.ts'

const WINDOW_SECONDS = 60

export type RateLimit = {
  account(ctx: Context, caller: Caller): Promise<void>
  /** Limits the token endpoint, by the client's address. */
  address(ctx: Context): Promise<void>
}

export function createRateLimit(redis: Redis, prefix: string, tokenRequestsPerMinute: number): RateLimit {
  const limiter = (name: string, points: number) =>
    new RateLimiterRedis({
      storeClient: redis,
      keyPrefix: `${prefix}:rate:${name}`,
      points,
      duration: WINDOW_SECONDS,
      insuranceLimiter: new RateLimiterMemory({ keyPrefix: name, points, duration: WINDOW_SECONDS }),
    })
  const byType = Object.fromEntries(Object.entries(ACCOUNT_TYPES).map(([type, points]) => [type, limiter(type, points)])) as Record<
    AccountType,
    RateLimiterRedis
  >
  const tokens = limiter('token', tokenRequestsPerMinute)

  async function consume(ctx: Context, by: RateLimiterRedis, key: string): Promise<void> {
    let result: RateLimiterRes
    let isExceeded = false
    try {
      result = await by.consume(key)
    } catch (refused) {
      if (!(refused instanceof RateLimiterRes)) throw refused
      result = refused
      isExceeded = true
    }
    const seconds = Math.max(1, Math.ceil(result.msBeforeNext / 1000))
    const remaining = Math.max(0, result.remainingPoints)
    ctx.set({
      'X-RateLimit-Limit': String(by.points),
      'X-RateLimit-Remaining': String(remaining),
      'X-RateLimit-Reset': String(seconds),
      // draft-ietf-httpapi-ratelimit-headers-10
      'RateLimit-Policy': `"default";q=${by.points};w=${WINDOW_SECONDS}`,
      RateLimit: `"default";r=${remaining};t=${seconds}`,
    })
    if (isExceeded)
      throw new ServiceError(
        'rate_limit_exceeded',
        `the limit of ${by.points} requests per minute is exceeded, try again in ${seconds} s`,
        { headers: { 'Retry-After': String(seconds) } },
      )
  }

  return {
    account: (ctx, caller) => consume(ctx, byType[caller.accountType], caller.accountId),
    address: (ctx) => consume(ctx, tokens, ctx.ip),
  }
}
