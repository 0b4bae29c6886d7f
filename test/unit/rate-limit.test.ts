/** Attempts to prove who one is: how many may fail, also of those that begin together. Without Redis, the limits are counted in memory. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { invalidCredentials } from '../../services/control-plane/access/credentials.ts'
import { createRateLimit, type RateLimit } from '../../services/control-plane/middleware/rate-limit.ts'
import { ServiceError } from '../../services/control-plane/service-error.ts'
import { freePort } from '../../deploy/local/ports.ts'

let redis: Redis
let limits: RateLimit
beforeAll(async () => {
  redis = new Redis({ port: await freePort(), enableOfflineQueue: false, maxRetriesPerRequest: 0 })
  redis.on('error', () => {})
  limits = createRateLimit(redis, 'test', 100, () => '192.0.2.1')
})
afterAll(() => redis.disconnect())

/** How often each status was answered; `works` are tried together. */
async function statusesOf(key: string, works: (() => Promise<unknown>)[]): Promise<Record<string, number>> {
  const all = await Promise.all(
    works.map((work) =>
      limits.guarded('secret', key, work).then(
        () => 200,
        (error: unknown) => (error instanceof ServiceError ? error.status : 0),
      ),
    ),
  )
  return Object.fromEntries([...new Set(all)].map((status) => [status, all.filter((each) => each === status).length]))
}
const wrong = async () => {
  await sleep(5)
  throw invalidCredentials('the secret is wrong')
}
const right = () => sleep(1)
const many = (count: number, work: () => Promise<unknown>) => Array.from({ length: count }, () => work)

it('thirty may fail, however many begin together', async () => {
  expect(await statusesOf('together', many(80, wrong))).toEqual({ 401: 30, 429: 50 })
  expect(await statusesOf('together', [right])).toEqual({ 429: 1 })
})

it('those that succeed, or fail for another reason, count for nothing', async () => {
  expect(await statusesOf('right', many(200, right))).toEqual({ 200: 200 })
  const away = async () => {
    throw new ServiceError('unavailable', 'the database is away')
  }
  expect(await statusesOf('right', many(40, away))).toEqual({ 503: 40 })
  expect(await statusesOf('right', [...many(14, wrong), ...many(40, right), ...many(15, wrong)])).toEqual({ 200: 40, 401: 29 })
  expect(await statusesOf('right', [right])).toEqual({ 200: 1 })
})

it('an address may prove nothing twelve hundred times a minute', async () => {
  const from = (address: string) => createRateLimit(redis, 'test', 100, () => address)
  const [some, other] = [from('192.0.2.2'), from('192.0.2.3')]
  const ctx = {} as unknown as Parameters<RateLimit['unproven']>[0]
  for (let count = 0; count < 1200; count++) await some.unproven(ctx)
  await expect(some.unproven(ctx)).rejects.toMatchObject({ status: 429 })
  await expect(some.assertFewUnproven(ctx)).rejects.toMatchObject({ status: 429 })
  await other.assertFewUnproven(ctx)
})
