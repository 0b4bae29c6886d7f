/** The admin client that all of a control plane shares. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, vi } from 'vitest'
import { createKafka, type KafkaAdmin } from '../../shared/kafka/admin/admin.ts'
import { openSharedAdmin } from '../../shared/kafka/admin/shared-admin.ts'
import { service } from '../harness/client.ts'

const failing = (): Promise<never> => Promise.reject(new Error('this caller fails'))

it('works on for a caller in the middle of its work when another caller fails', async () => {
  const shared = openSharedAdmin(createKafka(service().brokers, 'shared-admin'))
  const begun = Promise.withResolvers<void>()
  const failed = Promise.withResolvers<void>()
  const cluster = shared.during(async (admin) => {
    await admin.listTopics()
    begun.resolve()
    await failed.promise
    return admin.describeCluster()
  })
  await begun.promise
  await expect(shared.during(failing)).rejects.toThrow('this caller fails')
  // A second failure must not end the client that took the first one's place either.
  const next = shared.during(async (admin) => {
    await failed.promise
    return admin.describeCluster()
  })
  await expect(shared.during(failing)).rejects.toThrow('this caller fails')
  failed.resolve()
  expect((await cluster).brokers.length).toBeGreaterThan(0)
  expect((await next).brokers.length).toBeGreaterThan(0)
  await shared.close()
})

it('is replaced after a failure, and ends its connections once it is not used any more', async () => {
  const shared = openSharedAdmin(createKafka(service().brokers, 'shared-admin'))
  const disconnected = Promise.withResolvers<void>()
  let failedOne: KafkaAdmin | undefined
  await expect(
    shared.during((admin) => {
      failedOne = admin
      admin.on(admin.events.DISCONNECT, () => disconnected.resolve())
      return failing()
    }),
  ).rejects.toThrow('this caller fails')
  await disconnected.promise
  expect(await shared.during((admin) => Promise.resolve(admin === failedOne))).toBe(false)
  await shared.close()
})

it('sets no timer while its connections have nothing to do', async () => {
  const shared = openSharedAdmin(createKafka(service().brokers, 'shared-admin'))
  await shared.during((admin) => admin.listTopics())
  const timers = vi.spyOn(globalThis, 'setTimeout')
  await sleep(500)
  expect(timers.mock.calls.length).toBeLessThan(5)
  timers.mockRestore()
  await shared.during((admin) => admin.listTopics())
  await shared.close()
})
