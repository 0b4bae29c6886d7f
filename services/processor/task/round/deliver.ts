/**
 * Phase 3 of a round: the chain's batches go to the sink topic and the dead-letter topic inside the task's transaction.
 * D4: per partition in order; the first batch of each partition goes alone, the later ones at most five in flight (the connection's
 * own limit), so that a refused batch can't be overtaken.
 * HOT: work per batch.
 */
import type { Connections, TopicLayout } from '../../../../shared/kafka/cluster.ts'
import { stampProducer } from '../../../../shared/kafka/protocol/record-batch.ts'
import { KAFKA_ERRORS, hasMoved, isRetriable, kafkaErrorName } from '../../../../shared/kafka/wire/error-codes.ts'
import { produceBatches, type ProduceTopic } from '../../../../shared/kafka/wire/produce.ts'
import type { OutputBatch, PartitionOutcome } from '../../lane/messages.ts'
import type { Mutation } from '../../mutation.ts'
import { TakenOver, TargetAway, TransactionBroken, Undeliverable, type Producer } from '../producer.ts'

/** Layouts of the topics a task writes to; replaced by `refresh` when a leader moved. */
export type Targets = { sink: TopicLayout; deadLetter: TopicLayout; ledger: TopicLayout; refresh(): Promise<void> }

type Lane = { topic: string; partition: number; batches: Buffer[] }

const FIRST_RETRIES_MAX = 400

/** The batches of a round by target partition, stamped with producer, epoch and sequence. */
function stampBatches(
  outcomes: PartitionOutcome[],
  ledger: OutputBatch | undefined,
  targets: Targets,
  producer: Producer,
  mutation: Mutation | undefined,
): Lane[] {
  const lanes = new Map<string, Lane>()
  const add = (topic: string, { partition, bytes, length, records }: OutputBatch) => {
    const key = `${topic}/${partition}`
    let lane = lanes.get(key)
    if (!lane) lanes.set(key, (lane = { topic, partition, batches: [] }))
    const batch = Buffer.from(bytes, 0, length)
    if (mutation === 'output_outside_transaction') {
      batch.writeInt16BE(0, ATTRIBUTES_AT)
      stampProducer(batch, -1n, -1, -1)
    } else stampProducer(batch, producer.producerId, producer.producerEpoch, producer.takeSequence(topic, partition, records))
    lane.batches.push(batch)
  }
  for (const outcome of outcomes) {
    const batches = mutation === 'reverse_batches' ? outcome.sink.toReversed() : outcome.sink
    for (const batch of batches) add(targets.sink.topic, batch)
    for (const batch of outcome.deadLetters) add(targets.deadLetter.topic, batch)
  }
  if (ledger) add(targets.ledger.topic, ledger)
  return [...lanes.values()]
}

/** Where a batch's attributes stand; only a mutation writes them here. */
const ATTRIBUTES_AT = 21

/** Throws TargetAway where there is none. */
export function leaderOf({ topic, leaders }: TopicLayout, partition: number): number {
  const leader = leaders[partition] ?? -1
  if (leader < 0) throw new TargetAway(topic, partition)
  return leader
}

const layoutOf = ({ sink, deadLetter, ledger }: Targets, { topic }: Lane): TopicLayout =>
  topic === sink.topic ? sink : topic === deadLetter.topic ? deadLetter : ledger

/** Partitions of the dead-letter topic that could not be written to, until they have a leader again. */
export type AwayDeadLetters = Set<number>

/**
 * Source partitions whose records have nowhere to go: the partition of the sink has no leader, where each source partition has one of its
 * own, or that of the dead letters, once one was to be written there. They wait, so that the task's others go on. Where there are some,
 * the leaders are looked up first.
 */
export async function findAside(
  partitions: readonly number[],
  targets: Targets,
  hasOwnSinkPartition: boolean,
  away: AwayDeadLetters,
): Promise<number[]> {
  const isLed = ({ leaders }: TopicLayout, partition: number) => (leaders[partition % leaders.length] ?? -1) >= 0
  const find = () =>
    partitions.filter((partition) => {
      if (hasOwnSinkPartition && !isLed(targets.sink, partition)) return true
      return away.has(partition % targets.deadLetter.leaders.length) && !isLed(targets.deadLetter, partition)
    })
  if (find().length > 0) await targets.refresh().catch(() => {})
  const found = find()
  if (found.length === 0) away.clear()
  return found
}

/** The `index`-th batch of each lane as one request per leader. */
function requestsFor(lanes: Lane[], index: number, targets: Targets): Map<number, ProduceTopic[]> {
  const requests = new Map<number, ProduceTopic[]>()
  for (const lane of lanes) {
    const batch = lane.batches[index]
    if (!batch) continue
    const leader = leaderOf(layoutOf(targets, lane), lane.partition)
    let topics = requests.get(leader)
    if (!topics) requests.set(leader, (topics = []))
    let topic = topics.find((each) => each.topic === lane.topic)
    if (!topic) topics.push((topic = { topic: lane.topic, partitions: [] }))
    topic.partitions.push({ partition: lane.partition, batch })
  }
  return requests
}

/** Names what a refusal means for the transaction (data-plane.md, "The transaction's rules"). */
function refuse(code: number, message: string | null): Error {
  const text = `produce: ${kafkaErrorName(code)}${message ? `: ${message}` : ''}`
  if (code === KAFKA_ERRORS.producerFenced) return new TakenOver(text)
  return code === KAFKA_ERRORS.messageTooLarge ? new Undeliverable(text) : new TransactionBroken(text)
}

/** Sends the first batch of each lane until every one is acknowledged. */
async function sendFirst(connections: Connections, lanes: Lane[], targets: Targets, transactionalId: string | null): Promise<void> {
  let open = lanes
  for (let attempt = 0; open.length > 0; attempt++) {
    const refused: Lane[] = []
    let moved = false
    const answers = await Promise.all(
      [...requestsFor(open, 0, targets)].map(async ([leader, topics]) =>
        produceBatches(await connections.leader(leader), transactionalId, topics),
      ),
    )
    for (const { topic, partition, errorCode, errorMessage } of answers.flat()) {
      if (errorCode === 0 || errorCode === KAFKA_ERRORS.duplicateSequence) continue
      if (!isRetriable(errorCode) || attempt >= FIRST_RETRIES_MAX) throw refuse(errorCode, errorMessage)
      moved ||= hasMoved(errorCode)
      refused.push(open.find((lane) => lane.topic === topic && lane.partition === partition)!)
    }
    open = refused
    if (open.length === 0) return
    if (moved) await targets.refresh()
    await new Promise((resolve) => setTimeout(resolve, Math.min(1 + attempt, 50)))
  }
}

/**
 * Writes everything of a round into the transaction. Answers how long, in milliseconds, the first batches were on their way, undefined
 * where there was nothing to write. Throws TransactionBroken or TakenOver; then nothing of the round counts.
 */
export async function deliver(
  connections: Connections,
  outcomes: PartitionOutcome[],
  ledger: OutputBatch | undefined,
  targets: Targets,
  producer: Producer,
  mutation?: Mutation,
): Promise<number | undefined> {
  const lanes = stampBatches(outcomes, ledger, targets, producer, mutation)
  const transactionalId = mutation === 'output_outside_transaction' ? null : producer.transactionalId
  if (lanes.length === 0) return undefined
  const startedAt = performance.now()
  let firstMs = 0
  try {
    await sendFirst(connections, lanes, targets, transactionalId)
    firstMs = performance.now() - startedAt
    const longest = lanes.reduce((most, { batches }) => Math.max(most, batches.length), 0)
    const inFlight: Promise<void>[] = []
    for (let index = 1; index < longest; index++) {
      for (const [leader, topics] of requestsFor(lanes, index, targets)) {
        inFlight.push(
          connections
            .leader(leader)
            .then((connection) => produceBatches(connection, transactionalId, topics))
            .then((answers) => {
              const bad = answers.find(({ errorCode }) => errorCode !== 0 && errorCode !== KAFKA_ERRORS.duplicateSequence)
              if (bad) throw refuse(bad.errorCode, bad.errorMessage)
            }),
        )
      }
    }
    // All must have answered before the transaction may be ended either way.
    const settled = await Promise.allSettled(inFlight)
    const failed = settled.find((each) => each.status === 'rejected')
    if (failed) throw failed.reason
  } catch (error) {
    if (error instanceof TakenOver || error instanceof TransactionBroken || error instanceof Undeliverable) throw error
    throw new TransactionBroken(error instanceof Error ? error.message : String(error))
  }
  return firstMs
}
