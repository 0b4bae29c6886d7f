/**
 * Requests by account and by address, and failed authentications per credential and address; counted in Redis, or in memory while Redis is
 * unreachable. A response whose request is counted for its account says so in its headers.
 */
import type { Context } from 'koa'
import type { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { ERROR_CODES } from '../../../shared/errors/codes.ts'
import { ServiceError } from '../service-error.ts'
import { createSomeAtATime } from '../concurrency/some-at-a-time.ts'
import { REQUESTS_PER_MINUTE, type AccountType } from '../../../shared/model/limits.ts'
import type { Caller } from '../deps.ts'

const WINDOW_SECONDS = 60
const PUSH_WINDOW_SECONDS = 10

const exceeded = (what: string, seconds: number): ServiceError =>
  new ServiceError('rate_limit_exceeded', `${what}, try again in ${seconds} s`, { headers: { 'Retry-After': String(seconds) } })

export type RateLimit = {
  /** Limits operations: those of an account's members together, and those of its keys. */
  account(ctx: Context, caller: Caller): Promise<void>
  /** Limits the token endpoint, by the client's address; right secrets count too, as their look-up costs as much as that of wrong ones. */
  token(ctx: Context): Promise<void>
  /** Limits pushed records of an account. `perSecond` is averaged over ten seconds, so that short bursts pass. */
  pushed(ctx: Context, accountId: string, perSecond: number): Promise<void>
  /** Limits what needs no token and is no operation, by the client's address. */
  page(ctx: Context): Promise<void>
  /**
   * Runs `work` and counts its failed authentication for the key and the client's address; after too many, throws 429 without running it.
   */
  guarded<T>(kind: GuardedKind, key: string, work: () => Promise<T>): Promise<T>
  /** Counts a request without a valid token or session, by the client's address. Throws 429 after too many. */
  unproven(ctx: Context): Promise<void>
  /** Throws 429 where there were too many of these. */
  assertFewUnproven(ctx: Context): Promise<void>
  /** Throws 429 where there were too many failures, without counting an attempt. */
  assertFewFailed(kind: GuardedKind, key: string): Promise<void>
}

/** Failures per minute and address: with a secret for one API key, and with a signature for one pipeline. */
const FAILURES = { secret: 30, signature: 60 } as const
/**
 * How many attempts on one credential from one address run at once in this process; more wait. Each counts as a failure until it
 * succeeds, so that many correct ones at once must stay below the limit, even with those of another control plane.
 */
const ATTEMPTS_AT_ONCE = 5
const ATTEMPT_WAIT_MAX_MS = 10_000
const ATTEMPTS_WAITING_MAX = 1000
type GuardedKind = keyof typeof FAILURES
/** An account's members together have their own limit: a console sends many requests, which must not use up the programs' limit. */
const SESSION_REQUESTS_PER_MINUTE = 1200
/** For the console's pages, `/openapi.json`, `/manifest.schema.json`, `/sign-in-methods`, and addresses that the documentation lacks. */
const PAGES_PER_MINUTE = 120
/** Many clients may share an address, each with a token that has just expired. */
const UNPROVEN_PER_MINUTE = 1200

/** `addressOf` tells a request's address. */
export function createRateLimit(
  redis: Redis,
  prefix: string,
  tokenRequestsPerMinute: number,
  addressOf: (ctx: Context) => string,
): RateLimit {
  const limiter = (name: string, points: number, duration = WINDOW_SECONDS) =>
    new RateLimiterRedis({
      storeClient: redis,
      keyPrefix: `${prefix}:rate:${name}`,
      points,
      duration,
      insuranceLimiter: new RateLimiterMemory({ keyPrefix: name, points, duration }),
    })
  const byType = Object.fromEntries(Object.entries(REQUESTS_PER_MINUTE).map(([type, points]) => [type, limiter(type, points)])) as Record<
    AccountType,
    RateLimiterRedis
  >
  const tokens = limiter('token', tokenRequestsPerMinute)
  const pages = limiter('page', PAGES_PER_MINUTE)
  const sessions = limiter('session', SESSION_REQUESTS_PER_MINUTE)
  // No limit here: the count is compared with the account's quota below.
  const pushes = limiter('pushed', Number.MAX_SAFE_INTEGER, PUSH_WINDOW_SECONDS)
  const failures = { secret: limiter('failed-secret', FAILURES.secret), signature: limiter('failed-signature', FAILURES.signature) }

  // In memory: what is protected is this process, and asking Redis would cost more than the refusal itself.
  const unproven = new RateLimiterMemory({ keyPrefix: 'unproven', points: UNPROVEN_PER_MINUTE, duration: WINDOW_SECONDS })

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
    const seconds = show(ctx, by.points, WINDOW_SECONDS, result)
    if (isExceeded) throw exceeded(`the limit of ${by.points} requests per minute is exceeded`, seconds)
  }

  const secondsLeft = ({ msBeforeNext }: RateLimiterRes): number => Math.max(1, Math.ceil(msBeforeNext / 1000))

  /** Sets the headers; returns the seconds until the count starts over. */
  function show(ctx: Context, limit: number, window: number, result: RateLimiterRes): number {
    const seconds = secondsLeft(result)
    const remaining = Math.max(0, limit - result.consumedPoints)
    ctx.set({
      'X-RateLimit-Limit': String(limit),
      'X-RateLimit-Remaining': String(remaining),
      'X-RateLimit-Reset': String(seconds),
      // draft-ietf-httpapi-ratelimit-headers-10
      'RateLimit-Policy': `"default";q=${limit};w=${window}`,
      RateLimit: `"default";r=${remaining};t=${seconds}`,
    })
    return seconds
  }

  async function pushed(ctx: Context, accountId: string, perSecond: number): Promise<void> {
    const limit = perSecond * PUSH_WINDOW_SECONDS
    const result = await pushes.consume(accountId)
    const seconds = show(ctx, limit, PUSH_WINDOW_SECONDS, result)
    if (result.consumedPoints > limit) throw exceeded(`the quota pushed_requests_per_second is ${perSecond}, which is exceeded`, seconds)
  }

  const tooManyAtOnce = () => exceeded('there are too many attempts at once', 1)
  const attempts = createSomeAtATime(ATTEMPTS_AT_ONCE, ATTEMPT_WAIT_MAX_MS, tooManyAtOnce, ATTEMPTS_WAITING_MAX)
  const tooManyFailed = (result: RateLimiterRes) => exceeded('there were too many failed attempts', secondsLeft(result))

  /** Counts each attempt before the work, so that none of several at once escapes the count; one that has not failed is given back. */
  async function guarded<T>(kind: GuardedKind, key: string, work: () => Promise<T>): Promise<T> {
    const by = failures[kind]
    const giveBack = () => by.reward(key).catch(() => {})
    return attempts.run(`${kind} ${key}`, async () => {
      try {
        await by.consume(key)
      } catch (refused) {
        if (!(refused instanceof RateLimiterRes)) throw refused
        await giveBack()
        throw tooManyFailed(refused)
      }
      try {
        const result = await work()
        await giveBack()
        return result
      } catch (error) {
        const isFailure = error instanceof ServiceError && error.status === ERROR_CODES.invalid_credentials.status
        if (!isFailure) await giveBack()
        throw error
      }
    })
  }

  async function assertFew(by: RateLimiterRedis | RateLimiterMemory, key: string): Promise<void> {
    const counted = await by.get(key)
    if (counted && counted.consumedPoints >= by.points) throw tooManyFailed(counted)
  }
  const assertFewUnproven = (ctx: Context) => assertFew(unproven, addressOf(ctx))

  return {
    async unproven(ctx) {
      await assertFewUnproven(ctx)
      await unproven.consume(addressOf(ctx))
    },
    assertFewUnproven,
    account: (ctx, caller) =>
      caller.session ? consume(ctx, sessions, caller.accountId) : consume(ctx, byType[caller.accountType], caller.accountId),
    token: (ctx) => consume(ctx, tokens, addressOf(ctx)),
    page: (ctx) => consume(ctx, pages, addressOf(ctx)),
    pushed,
    guarded,
    assertFewFailed: (kind, key) => assertFew(failures[kind], key),
  }
}
