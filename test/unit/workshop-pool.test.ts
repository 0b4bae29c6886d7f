/** Workshop places: one account's jobs, which may never end, leave room for those of others. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { limitMs } from '../harness/machine-speed.ts'
import { openPool, type Pool } from '../../services/control-plane/workshop/pool.ts'
import type { WorkshopProcess } from '../../services/control-plane/workshop/process.ts'

/** A process that does nothing until it is killed. */
function startIdle(): WorkshopProcess {
  const ended = Promise.withResolvers<Awaited<WorkshopProcess['ended']>>()
  return {
    ready: Promise.resolve(),
    usage: () => ({ rssBytes: 0, cpuSeconds: 0 }),
    comeLast() {},
    sendBinary: () => Promise.resolve(),
    send() {},
    kill: () => ended.resolve({ cause: 'killed', isBlamed: false, isWanted: true }),
    ended: ended.promise,
  }
}

async function withPool(count: number, work: (pool: Pool) => Promise<void>): Promise<void> {
  const pool = openPool(count, startIdle)
  try {
    await work(pool)
  } finally {
    await pool.close()
  }
}
/** Whether it resolves soon. */
const isSoon = (promise: Promise<unknown>) => Promise.race([promise.then(() => true), sleep(100).then(() => false)])
/** Jobs that wait until the test ends; the pool refuses those that wait for too long. */
function flood(pool: Pool, kind: 'computes' | 'waits', count = 10): void {
  for (let n = 0; n < count; n++) pool.acquire('acc_m', kind).catch(() => {})
}

it.each(['computes', 'waits'] as const)('an account’s endless jobs leave a place to others: one that %s', (kind) =>
  withPool(2, async (pool) => {
    flood(pool, kind)
    expect(await isSoon(pool.acquire('acc_v', kind))).toBe(true)
  }),
)

it('jobs that wait for servers take no place of those that compute', () =>
  withPool(1, async (pool) => {
    for (const account of ['acc_m', 'acc_n', 'acc_o']) pool.acquire(account, 'waits').catch(() => {})
    expect(await isSoon(pool.acquire('acc_v', 'computes'))).toBe(true)
  }))

it('the accounts take turns, however many jobs one of them has waiting', () =>
  withPool(1, async (pool) => {
    const served: string[] = []
    const running = await pool.acquire('acc_m', 'computes')
    const next = (account: string) =>
      void pool.acquire(account, 'computes').then(
        async (process) => {
          served.push(account)
          await sleep(5)
          pool.release(process, true)
        },
        () => {},
      )
    for (const account of ['acc_m', 'acc_m', 'acc_m', 'acc_v', 'acc_v', 'acc_w']) next(account)
    pool.release(running, true)
    await expect.poll(() => served.length, { timeout: limitMs(10_000) }).toBe(6)
    expect(served).toEqual(['acc_m', 'acc_v', 'acc_w', 'acc_m', 'acc_v', 'acc_m'])
  }))

it('a job whose client has left waits no longer, and the next one takes its turn', () =>
  withPool(1, async (pool) => {
    const running = await pool.acquire('acc_m', 'computes')
    const left = new AbortController()
    const waiting = pool.acquire('acc_m', 'computes', left.signal)
    const next = pool.acquire('acc_m', 'computes')
    left.abort(new Error('the client has left'))
    await expect(waiting).rejects.toThrow('the client has left')
    pool.release(running, true)
    expect(await isSoon(next)).toBe(true)
    await expect(pool.acquire('acc_m', 'computes', left.signal)).rejects.toThrow('the client has left')
  }))

it('a burst of one account waits, and what is beyond it is refused at once', () =>
  withPool(1, async (pool) => {
    let done = 0
    const job = async () => {
      const process = await pool.acquire('acc_m', 'computes')
      await sleep(1)
      pool.release(process, true)
      done++
    }
    // One has the process and 64 wait.
    const burst = Array.from({ length: 65 }, job)
    await expect(pool.acquire('acc_m', 'computes')).rejects.toMatchObject({ status: 429, headers: { 'Retry-After': '1' } })
    await Promise.all(burst)
    expect(done).toBe(65)
  }))
