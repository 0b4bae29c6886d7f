/** What a transaction's producer makes of a commit that got no answer: it may have happened or not. */
import type { Connection } from '@platformatic/kafka'
import { expect, it } from 'vitest'
import { createProducer } from '../../services/processor/transaction/producer.ts'
import { interruptionOf } from '../../services/processor/interruption.ts'
import type { Cluster } from '../../shared/kafka/cluster.ts'

it('an unanswered commit is neither taken for made nor sent again: the task starts over with a new epoch', async () => {
  let asked = 0
  const send: Connection['send'] = (_key, _version, _request, _parse, _head, _tail, callback) => {
    asked++
    callback(new Error('the connection was closed'), undefined as never)
  }
  let epoch = 4
  const cluster = {
    transactionCoordinator: async () => 1,
    initProducer: async () => ({ producerId: 7n, producerEpoch: ++epoch }),
  } as unknown as Cluster
  const producer = createProducer(cluster, { leader: async () => ({ send }) as unknown as Connection, close: async () => {} }, 'tx')
  await producer.initialise(true)
  producer.takeSequence('t', 0, 10)
  const failure = interruptionOf(await producer.commit().catch((error: unknown) => error))
  expect([failure.kind, asked, producer.producerEpoch]).toEqual(['transaction_broken', 1, 5])
  expect(producer.takeSequence('t', 0, 1)).toBe(10)
  await producer.initialise(false)
  expect([producer.producerEpoch, producer.takeSequence('t', 0, 1)]).toEqual([6, 0])
})
