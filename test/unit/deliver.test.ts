/** What a refused batch means for a task: what may pass is tried again without limit, anything else a bounded number of times. */
import { describe, expect, it } from 'vitest'
import { interruptionOf } from '../../services/processor/interruption.ts'
import { commitRound } from '../../services/processor/transaction/commit.ts'
import { deliver } from '../../services/processor/transaction/deliver.ts'
import type { Layouts } from '../../services/processor/transaction/layouts.ts'
import type { Producer } from '../../services/processor/transaction/producer.ts'
import type { Cluster, Connections } from '../../shared/kafka/cluster.ts'
import { TRANSACTIONAL, encodeBatch } from '../../shared/kafka/protocol/record-batch.ts'
import { KAFKA_ERRORS } from '../../shared/kafka/wire/error-codes.ts'

const KEYLESS = 'Compacted topic cannot accept message without key'
const OWNED = { memberId: 'm', generationId: 1, partitions: [0] }

/** A broker that gives this answer to every request. */
const connectionsTo = (answer: object): Connections =>
  ({
    leader: async () => ({
      send: (...parameters: unknown[]) => (parameters.at(-1) as (error: null, answer: unknown) => void)(null, [answer]),
    }),
  }) as unknown as Connections
const kindOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => interruptionOf(error).kind,
  )

function produce(
  errorCode: number,
  errorMessage: string | null = null,
  answer: object = { topic: 'out', partition: 0, errorCode, errorMessage },
) {
  const bytes = encodeBatch([{ offsetDelta: 0, timestampDelta: 0n, key: null, value: Buffer.from('{}'), headers: [] }], 0n, TRANSACTIONAL)
  const batch = { partition: 0, bytes: new Uint8Array(bytes).buffer, length: bytes.length, records: 1 }
  const layouts: Layouts = { of: (topic) => ({ topic, topicId: 'id', leaders: [1] }), refresh: () => Promise.resolve() }
  const producer = { transactionalId: 'x', producerId: 1n, producerEpoch: 1, takeSequence: () => 0 }
  return deliver(connectionsTo(answer), [{ topic: 'out', batch }], layouts, producer)
}

function commit(errorCode: number, answer: object = { partition: 0, errorCode }) {
  const cluster = { groupCoordinator: async () => 1 } as unknown as Cluster
  const target = { groupId: 'g', topic: 'in', assignment: OWNED }
  const offsets = [{ partition: 0, offset: 5n, metadata: '' }]
  const producer = { commit: async () => {} } as unknown as Producer
  return commitRound(cluster, connectionsTo(answer), { nodeId: 1 }, target, offsets, producer)
}

describe('an answer', () => {
  const elsewhere = { topic: 'out', partition: 1, errorCode: 0, errorMessage: null }

  it('for another partition than was written to says nothing of the batch', async () => {
    expect(await kindOf(produce(0, null, elsewhere))).toBe('transaction_broken')
    await expect(produce(0, null, elsewhere)).rejects.toThrow('did not answer for partition 0 of out')
    expect(await kindOf(produce(0, null, { ...elsewhere, topic: 'in', partition: 0 }))).toBe('transaction_broken')
  })

  it('for another partition than was committed says nothing of its offset', async () => {
    expect(await kindOf(commit(0, elsewhere))).toBe('transaction_broken')
    expect(await kindOf(commit(0))).toBe('done')
  })
})

describe('a refusal', () => {
  it.each([
    ['of a batch without keys', KAFKA_ERRORS.invalidRecord],
    ['by a policy of the brokers', 44],
    ['of what a task may write to', 29],
  ])('%s is a failure that the task repeats a bounded number of times', async (_, code) => {
    expect(await kindOf(produce(code, KEYLESS))).toBe('unknown')
    await expect(produce(code, KEYLESS)).rejects.toThrow(KEYLESS)
    expect(await kindOf(commit(code))).toBe('unknown')
  })

  it('of metadata that are too long is one too', async () => {
    expect(await kindOf(commit(KAFKA_ERRORS.offsetMetadataTooLarge))).toBe('unknown')
  })

  it.each([
    ['out of order', KAFKA_ERRORS.outOfOrderSequence],
    ['of an epoch that is over', KAFKA_ERRORS.invalidProducerEpoch],
    ['outside of a transaction', KAFKA_ERRORS.invalidTxnState],
    ['of an id that has expired', KAFKA_ERRORS.invalidProducerIdMapping],
    ['of a producer that is not known', KAFKA_ERRORS.unknownProducerId],
    ['that asks for another transaction', KAFKA_ERRORS.transactionAbortable],
    // UNKNOWN_SERVER_ERROR: a broker's own trouble, which says nothing about the records.
    ['that says nothing', -1],
  ])('%s ends the transaction alone: the next one may go through', async (_, code) => {
    expect(await kindOf(produce(code))).toBe('transaction_broken')
    expect(await kindOf(commit(code))).toBe('transaction_broken')
  })

  it('of a fenced producer ends the task', async () => {
    expect(await kindOf(produce(KAFKA_ERRORS.producerFenced))).toBe('taken_over')
    expect(await kindOf(commit(KAFKA_ERRORS.producerFenced))).toBe('taken_over')
  })
})
