/** Requests of one account that are only done few at once, and values that are kept up to a number. */
import { expect, it } from 'vitest'
import { openLruCache } from '../../services/control-plane/caches/lru-cache.ts'
import { createMomentCache } from '../../services/control-plane/caches/moment-cache.ts'
import { createFewAtOnce } from '../../services/control-plane/concurrency/few-at-once.ts'

it('does few of an account at once, in their order; another account does not wait', async () => {
  const few = createFewAtOnce({ atOnce: 2 })
  const done: string[] = []
  let [busy, most] = [0, 0]
  const work = (name: string) => async () => {
    most = Math.max(most, ++busy)
    await new Promise((resolve) => setTimeout(resolve, 20))
    busy--
    done.push(name)
  }
  const own = ['a', 'b', 'c', 'd', 'e'].map((name) => few.during('one', work(name)))
  await few.during('two', async () => void done.push('other'))
  await Promise.all(own)
  expect(done).toEqual(['other', 'a', 'b', 'c', 'd', 'e'])
  expect(most).toBe(2)
})

it('refuses what would wait too long, or behind too many, and goes on', async () => {
  const few = createFewAtOnce({ atOnce: 1, waitMs: 20, waitingMax: 1 })
  const first = Promise.withResolvers<void>()
  const busy = few.during('one', () => first.promise)
  const late = few.during('one', async () => {}).catch((error: Error) => error.message)
  await expect(few.during('one', async () => {})).rejects.toMatchObject({ code: 'rate_limit_exceeded', headers: { 'Retry-After': '1' } })
  expect(await late).toContain('too many such requests at once')
  first.resolve()
  await busy
  expect(await few.during('one', async () => 'done')).toBe('done')
})

it('goes on after work that fails', async () => {
  const few = createFewAtOnce({ atOnce: 1 })
  const failing = few.during('one', () => Promise.reject(new Error('no')))
  const next = few.during('one', async () => 'done')
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('done')
})

it('forgets one value at a time, the one that was used longest ago', () => {
  const kept = openLruCache<string, number>(2)
  kept.set('a', 1)
  kept.set('b', 2)
  expect(kept.get('a')).toBe(1)
  kept.set('c', 3)
  expect([kept.get('a'), kept.get('b'), kept.get('c')]).toEqual([1, undefined, 3])
})

it('a look-up that fails late does not make a later one be forgotten', async () => {
  let now = 0
  const asked: PromiseWithResolvers<string>[] = []
  const cache = createMomentCache(
    () => {
      const looking = Promise.withResolvers<string>()
      asked.push(looking)
      return looking.promise
    },
    () => now,
  )
  const first = cache.get('a')
  now += 3000
  const second = cache.get('a')
  asked[1]!.resolve('found')
  asked[0]!.reject(new Error('away'))
  await expect(first).rejects.toThrow('away')
  expect([await second, await cache.get('a')]).toEqual(['found', 'found'])
  expect(asked).toHaveLength(2)
})
