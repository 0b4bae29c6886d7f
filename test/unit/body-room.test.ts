/** The memory that bodies of pushes take before their senders are known. */
import { expect, it } from 'vitest'
import { createBodyRoom, type Reservation } from '../../services/control-plane/ingest/body-room.ts'

function opened(room: ReturnType<typeof createBodyRoom>, accountId: string, bytes: number) {
  const end = Promise.withResolvers<void>()
  let reservation: Reservation | undefined
  const work = room.during(accountId, async (own) => {
    reservation = own
    own.take(bytes)
    await Promise.race([own.ended, end.promise])
  })
  work.catch(() => {})
  return { work, end: end.resolve, reservation: reservation! }
}
const refused = { code: 'rate_limit_exceeded', status: 429, headers: { 'Retry-After': '1' } }

it('is bounded for each account: its oldest body that has not come whole makes room', async () => {
  const room = createBodyRoom({ accountMax: 100, max: 1000 })
  const [first, second, other] = [opened(room, 'one', 60), opened(room, 'one', 40), opened(room, 'two', 90)]
  const third = opened(room, 'one', 30)
  await expect(first.work).rejects.toMatchObject(refused)
  expect(room.bytes()).toBe(160)
  for (const each of [second, third]) each.reservation.whole()
  const late = opened(room, 'one', 50)
  await expect(late.work).rejects.toMatchObject(refused)
  for (const each of [second, third, other]) each.end()
  await Promise.all([second.work, third.work, other.work])
  expect(room.bytes()).toBe(0)
})

it('is bounded for all together: the account that has most of it makes room', async () => {
  const room = createBodyRoom({ accountMax: 100, max: 150 })
  const [large, small] = [opened(room, 'one', 90), opened(room, 'two', 50)]
  const next = opened(room, 'three', 20)
  await expect(large.work).rejects.toMatchObject(refused)
  expect(room.bytes()).toBe(70)
  for (const each of [small, next]) each.end()
  await Promise.all([small.work, next.work])
})
