/** Bodies of one sender that are read at once: so many, and the others wait unread, each for a while. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createBodyReads } from '../../services/control-plane/ingest/ingest.ts'
import { createSomeAtATime } from '../../services/control-plane/concurrency/some-at-a-time.ts'

it('thirty-two bodies of a sender are read at once; others wait, are refused after a while, and take no place of another sender', async () => {
  const reads = createBodyReads(50)
  const end = Promise.withResolvers<void>()
  let begun = 0
  const read = () => {
    begun++
    return end.promise
  }
  const first = Array.from({ length: 32 }, () => reads.run('acc_a 192.0.2.1', read))
  await expect(reads.run('acc_a 192.0.2.1', read)).rejects.toMatchObject({
    code: 'rate_limit_exceeded',
    status: 429,
    headers: { 'Retry-After': '1' },
  })
  expect(begun).toBe(32)
  const other = reads.run('acc_a 192.0.2.2', read)
  expect(begun).toBe(33)
  const waiting = reads.run('acc_a 192.0.2.1', read)
  end.resolve()
  await Promise.all([...first, other, waiting])
  expect(begun).toBe(34)
})

it('what waits starts in its order, also where what is before it fails', async () => {
  const one = createSomeAtATime(1, 60_000, () => new Error('late'))
  const order: number[] = []
  const work = (n: number, fails: boolean) => async () => {
    order.push(n)
    await sleep(1)
    if (fails) throw new Error(`${n} fails`)
  }
  const all = [0, 1, 2, 3].map((n) => one.run('a', work(n, n % 2 === 0)).catch((error: unknown) => String(error)))
  expect(await Promise.all(all)).toEqual(['Error: 0 fails', undefined, 'Error: 2 fails', undefined])
  expect(order).toEqual([0, 1, 2, 3])
})
