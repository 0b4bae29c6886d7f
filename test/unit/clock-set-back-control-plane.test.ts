/** A clock that is set back, in the control plane: what is kept grows no older than it may, and what is due is done. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { createMomentCache } from '../../services/control-plane/caches/moment-cache.ts'
import { createAttempts } from '../../services/control-plane/reconciler/attempts.ts'
import { oncePerInterval } from '../../services/control-plane/upkeep/once-per-interval.ts'
import { createBoundedChecks } from '../../services/control-plane/stream-data/check-bounded.ts'
import { createLayouts } from '../../services/control-plane/stream-data/layouts.ts'
import { ensureTopics, type KafkaAdmin } from '../../shared/kafka/admin/admin.ts'
import { createLogger } from '../../shared/telemetry/log.ts'
import { refusalWhenFree } from '../harness/when-free.ts'

const HOUR_MS = 3_600_000

beforeEach(() => void vi.useFakeTimers({ now: 10 * HOUR_MS }))
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})
/** Time goes on, while the clock on the wall is set back by an hour. */
function setBack(ms: number): void {
  vi.advanceTimersByTime(ms)
  vi.setSystemTime(Date.now() - HOUR_MS)
}
/** The same where timers are real. */
function setRealBack(ms: number): void {
  const [clock, passed] = [Date.now() - HOUR_MS, performance.now() + ms]
  vi.spyOn(Date, 'now').mockReturnValue(clock)
  vi.spyOn(performance, 'now').mockReturnValue(passed)
}

it('a key that was revoked is refused after two seconds', async () => {
  let key = 'active'
  const keys = createMomentCache(async () => key)
  await keys.get('key_1')
  key = 'revoked'
  setBack(2001)
  expect(await keys.get('key_1')).toBe('revoked')
})

it('what could not be removed is tried again after its pause', async () => {
  const attempts = createAttempts({ log: createLogger('attempts', 'silent') })
  await attempts.attempt('remove it', { id: 'pl_1', account_id: 'acc_1' }, () => Promise.reject(new Error('away')))
  expect(attempts.waiting()).toEqual(['pl_1'])
  setBack(5001)
  expect(attempts.waiting()).toEqual([])
})

it.each([
  ['the clock is set back meanwhile', () => setBack(HOUR_MS)],
  ['the machine was suspended meanwhile', () => void vi.setSystemTime(Date.now() + HOUR_MS)],
])('upkeep is done once per interval, though %s', async (_what, pass) => {
  let done = 0
  const keepUp = oncePerInterval(
    HOUR_MS,
    async () => [1],
    async () => void done++,
  )
  await keepUp()
  await keepUp()
  expect(done).toBe(1)
  pass()
  await keepUp()
  expect(done).toBe(2)
})

it('upkeep that has failed for one thing is done for the others, and again within a minute', async () => {
  const done: number[] = []
  const keepUp = oncePerInterval(
    HOUR_MS,
    async () => [1, 2],
    async (item) => {
      if (item === 1) throw new Error('away')
      done.push(item)
    },
  )
  await expect(keepUp()).rejects.toThrow('away')
  await keepUp()
  expect(done).toEqual([2])
  vi.advanceTimersByTime(60_001)
  await expect(keepUp()).rejects.toThrow('away')
  expect(done).toEqual([2, 2])
})

it('an account whose records took too long to check waits for half a minute', async () => {
  const checks = createBoundedChecks()
  vi.useRealTimers()
  const checking = () =>
    checks.run('acc_1', 1, () => {
      for (;;);
    })
  expect(await refusalWhenFree(checking)).toMatchObject({ status: 400 })
  expect(() => checks.admit('acc_1')).toThrow('take too long')
  setRealBack(30_000)
  expect(() => checks.admit('acc_1')).not.toThrow()
})

it('partitions that a topic has got are known after five seconds', async () => {
  const leaders = [0]
  const cluster = { describeTopic: async () => ({ topic: 't', topicId: 'id', leaders: [...leaders] }) }
  const layouts = createLayouts(cluster as never)
  await layouts.of('t')
  leaders.push(0)
  setBack(5001)
  expect((await layouts.of('t')).leaders).toHaveLength(2)
})

it('a topic without leaders is given up after eight seconds', async () => {
  let asked = 0
  const waitedFor = Promise.withResolvers<string>()
  const fetchTopicMetadata = async () => {
    if (++asked === 2) setRealBack(8001)
    if (asked === 5) waitedFor.resolve('it is still waited for')
    return { topics: [{ partitions: [{ leader: -1 }] }] }
  }
  const admin = { createTopics: async () => true, fetchTopicMetadata } as unknown as KafkaAdmin
  vi.useRealTimers()
  const waiting = ensureTopics(admin, [{ topic: 't', partitions: 1, replicationFactor: 1 }]).catch(String)
  expect(await Promise.race([waiting, waitedFor.promise])).toContain('has no leaders')
})
