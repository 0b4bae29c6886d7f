/**
 * Writes batches to their topics inside the task's transaction.
 * D4: per partition in order; the first batch of each partition goes alone, the later ones at most five in flight (the connection's
 * own limit), so that a refused batch can't be overtaken.
 * HOT: work per batch.
 */
import type { Connections } from '../../../shared/kafka/cluster.ts'
import { stampProducer } from '../../../shared/kafka/protocol/record-batch.ts'
import { KAFKA_ERRORS, hasMoved, isRetriable, kafkaErrorName } from '../../../shared/kafka/wire/error-codes.ts'
import { produceBatches, type ProduceTopic } from '../../../shared/kafka/wire/produce.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { Interrupted } from '../interruption.ts'
import type { OutputBatch } from '../lane/messages.ts'
import { leaderOf, type Layouts } from './layouts.ts'
import type { Producer } from './producer.ts'
import { refusalOf } from './refusal.ts'

/** A batch for a partition of a topic, to be stamped with the producer's identity. */
export type TopicWrite = { topic: string; batch: OutputBatch }

/** The batches of one partition, in order. */
type PartitionWrites = { topic: string; partition: number; batches: Buffer[] }

const FIRST_RETRIES_MAX = 400

/** The batches by target partition, stamped with producer, epoch and sequence. */
function stampBatches(
  writes: readonly TopicWrite[],
  producer: Pick<Producer, 'producerId' | 'producerEpoch' | 'takeSequence'>,
): PartitionWrites[] {
  const byPartition = new Map<string, PartitionWrites>()
  for (const { topic, batch } of writes) {
    const { partition, bytes, length, records } = batch
    const key = `${topic}/${partition}`
    let own = byPartition.get(key)
    if (!own) byPartition.set(key, (own = { topic, partition, batches: [] }))
    const stamped = Buffer.from(bytes, 0, length)
    stampProducer(stamped, producer.producerId, producer.producerEpoch, producer.takeSequence(topic, partition, records))
    own.batches.push(stamped)
  }
  return [...byPartition.values()]
}

/** The `index`-th batch of each partition as one request per leader. */
function requestsFor(partitions: readonly PartitionWrites[], index: number, layouts: Layouts): Map<number, ProduceTopic[]> {
  const requests = new Map<number, ProduceTopic[]>()
  for (const { topic: name, partition, batches } of partitions) {
    const batch = batches[index]
    if (!batch) continue
    const leader = leaderOf(layouts.of(name), partition)
    let topics = requests.get(leader)
    if (!topics) requests.set(leader, (topics = []))
    let topic = topics.find((each) => each.topic === name)
    if (!topic) topics.push((topic = { topic: name, partitions: [] }))
    topic.partitions.push({ partition, batch })
  }
  return requests
}

/** What a refused batch means for the task: no repetition helps against one that is beyond the topic's own limits. */
function refusedBatch(code: number, message: string | null): Error {
  const text = `produce: ${kafkaErrorName(code)}${message ? `: ${message}` : ''}`
  const isBeyondLimits = code === KAFKA_ERRORS.messageTooLarge || code === KAFKA_ERRORS.invalidTimestamp
  return isBeyondLimits ? new Interrupted('failed', text) : refusalOf(code, text)
}

/** Sends the first batch of each partition until every one is acknowledged. */
async function sendFirst(
  connections: Connections,
  partitions: PartitionWrites[],
  layouts: Layouts,
  transactionalId: string | null,
): Promise<void> {
  let open = partitions
  for (let attempt = 0; open.length > 0; attempt++) {
    const refused: PartitionWrites[] = []
    let moved = false
    const answers = await Promise.all(
      [...requestsFor(open, 0, layouts)].map(async ([leader, topics]) =>
        produceBatches(await connections.leader(leader), transactionalId, topics),
      ),
    )
    for (const { topic, partition, errorCode, errorMessage } of answers.flat()) {
      if (errorCode === 0 || errorCode === KAFKA_ERRORS.duplicateSequence) continue
      if (!isRetriable(errorCode) || attempt >= FIRST_RETRIES_MAX) throw refusedBatch(errorCode, errorMessage)
      moved ||= hasMoved(errorCode)
      refused.push(open.find((each) => each.topic === topic && each.partition === partition)!)
    }
    open = refused
    if (open.length === 0) return
    if (moved)
      await layouts.refresh().catch((error: unknown) => {
        throw new Interrupted('transaction_broken', reasonOf(error))
      })
    await new Promise((resolve) => setTimeout(resolve, Math.min(1 + attempt, 50)))
  }
}

/**
 * Writes the batches into the transaction, each partition's in order. Answers how long, in milliseconds, the first batches were on their
 * way, undefined where there was nothing to write. Throws `transaction_broken`, `taken_over`, `failed` or `unknown`; then none of them
 * count.
 */
export async function deliver(
  connections: Connections,
  writes: readonly TopicWrite[],
  layouts: Layouts,
  producer: Pick<Producer, 'producerId' | 'producerEpoch' | 'takeSequence'> & { transactionalId: string | null },
): Promise<number | undefined> {
  const partitions = stampBatches(writes, producer)
  const { transactionalId } = producer
  if (partitions.length === 0) return undefined
  const startedAt = performance.now()
  let firstMs = 0
  try {
    await sendFirst(connections, partitions, layouts, transactionalId)
    firstMs = performance.now() - startedAt
    const longest = partitions.reduce((most, { batches }) => Math.max(most, batches.length), 0)
    const inFlight: Promise<void>[] = []
    for (let index = 1; index < longest; index++) {
      for (const [leader, topics] of requestsFor(partitions, index, layouts)) {
        inFlight.push(
          connections
            .leader(leader)
            .then((connection) => produceBatches(connection, transactionalId, topics))
            .then((answers) => {
              const bad = answers.find(({ errorCode }) => errorCode !== 0 && errorCode !== KAFKA_ERRORS.duplicateSequence)
              if (bad) throw refusedBatch(bad.errorCode, bad.errorMessage)
            }),
        )
      }
    }
    // Every request must be answered before the transaction may be committed or aborted.
    const settled = await Promise.allSettled(inFlight)
    const failed = settled.find((each) => each.status === 'rejected')
    if (failed) throw failed.reason
  } catch (error) {
    throw error instanceof Interrupted ? error : new Interrupted('transaction_broken', reasonOf(error))
  }
  return firstMs
}
