/**
 * Writes records as batches encoded here, by idempotent producers without transactions. A producer serves one write at a time, so that its
 * batches stay in sequence; a producer whose write has an unknown outcome is dropped, and the next write gets another.
 */
import type { Connection } from '../../../shared/kafka/client-library.ts'
import { batchesOf, type BlockBatch } from '../../../shared/connectors/block-batches.ts'
import { createBlockBuilder, type BlockBuilder } from '../../../shared/connectors/record-block.ts'
import { invalidRequest, unavailable } from '../service-error.ts'
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import { KafkaError } from '../../../shared/kafka/kafka-error.ts'
import { stampProducer } from '../../../shared/kafka/protocol/record-batch.ts'
import { hasMoved, isRetriable, KAFKA_ERRORS } from '../../../shared/kafka/wire/error-codes.ts'
import { produceBatches } from '../../../shared/kafka/wire/produce.ts'
import { frame } from '../../../shared/model/framing.ts'
import type { KeyedWrite } from '../deps.ts'
import { turns } from '../../../shared/model/turns.ts'
import type { Layouts } from './layouts.ts'

export type Written = { records: number; partitions: { partition: number; first_offset: string; records: number }[] }
export type Target = { id: string; topic: string; key_field: string | null }

/** Values without framing: `add` appends the value at `index`, with its key if it has one. */
export type Values = { schemaId: number; count: number; add(into: BlockBuilder, index: number): void }

type Idempotent = { id: bigint; epoch: number; sequences: Map<string, number> }

/** How long a write is retried; after that its outcome is unknown, and the response is 503. */
const WRITE_MS = 9000
/** A producer with sequences for this many partitions is not used again. */
const SEQUENCES_MAX = 10_000
const IDLE_MAX = 16
/** A broker remembers this many batches per producer and partition (KIP-98); retries of older ones are not detected as duplicates. */
const BATCHES_KNOWN = 5
/** Larger batches cost consumers memory and gain no speed. */
const BATCH_BYTES = 1_000_000
const SEQUENCE_END = 2 ** 31

export function createRecordWriter(cluster: Cluster, layouts: Layouts, now: () => number) {
  const connections = cluster.openConnections('record-writer')
  const idle: Idempotent[] = []
  /** Without a key, each request goes as a whole to the next partition. */
  const nextPartition = new Map<string, number>()

  /** A write with an Idempotency-Key has its own producer; a retry reuses it, so that the broker detects what was already written. */
  async function takeProducer(keyed: KeyedWrite | undefined): Promise<Idempotent> {
    if (keyed?.begun) return { id: BigInt(keyed.begun.producer_id), epoch: keyed.begun.epoch, sequences: new Map() }
    const known = keyed ? undefined : idle.pop()
    if (known) return known
    const { producerId, producerEpoch } = await cluster.initProducer(() => cluster.anyConnection(), null, 0)
    return { id: producerId, epoch: producerEpoch, sequences: new Map() }
  }

  function keylessPartition({ id, key_field }: Target, partitions: number): number {
    const turn = nextPartition.get(id) ?? Math.floor(Math.random() * partitions)
    if (key_field === null) nextPartition.set(id, (turn + 1) % partitions)
    return turn % partitions
  }

  async function encode(keyless: number, partitions: number, values: Values, bytesMax: number): Promise<BlockBatch[]> {
    const builder = createBlockBuilder()
    await turns(values.count, (index) => values.add(builder, index))
    return batchesOf(builder.take(), {
      partitions,
      keyless,
      nowMs: now(),
      attributes: 0,
      bytesMax: Math.min(BATCH_BYTES, bytesMax),
      prefix: frame(values.schemaId, ''),
    })
  }

  /** Sends one batch after the other, each retried with the same sequence until it is acknowledged, so that duplicates are detected. */
  async function send(topic: string, leaderOf: () => Promise<Connection>, batches: BlockBatch[], producer: Idempotent, until: number) {
    let first: bigint | undefined
    for (const { partition, bytes, length, records } of batches) {
      const key = `${topic}/${partition}`
      const sequence = producer.sequences.get(key) ?? 0
      const batch = Buffer.from(bytes, 0, length)
      stampProducer(batch, producer.id, producer.epoch, sequence)
      for (let attempt = 0; ; attempt++) {
        const answer = await leaderOf()
          .then((connection) => produceBatches(connection, null, [{ topic, partitions: [{ partition, batch }] }]))
          .catch((error: unknown) => error)
        const produced = Array.isArray(answer) ? (answer[0] as Awaited<ReturnType<typeof produceBatches>>[number]) : undefined
        const code = produced?.errorCode
        if (produced && (code === 0 || code === KAFKA_ERRORS.duplicateSequence)) {
          // The response to a duplicate has the offset of the batch that was written.
          first ??= produced.baseOffset
          break
        }
        if (code !== undefined && !isRetriable(code)) throw new KafkaError(code)
        if (performance.now() > until) throw unavailable('the stream’s topic', answer)
        if (code === undefined || hasMoved(code)) layouts.forget(topic)
        await new Promise((resolve) => setTimeout(resolve, Math.min(10 * 2 ** attempt, 500)))
      }
      producer.sequences.set(key, (sequence + records) % SEQUENCE_END)
    }
    return first ?? 0n
  }

  return {
    /** Throws 503 if it is not certain that everything was written. */
    async write(target: Target, values: Values, bytesMax: number, keyed?: KeyedWrite): Promise<Written> {
      // An adopted topic may have grown since: records that were written then would not be known in other partitions.
      const partitions = keyed?.begun?.partitions ?? (await layouts.of(target.topic)).leaders.length
      const keyless = keyed?.begun?.partition ?? keylessPartition(target, partitions)
      const batches = await encode(keyless, partitions, values, bytesMax)
      const parts = Map.groupBy(batches, ({ partition }) => partition)
      if (keyed && [...parts.values()].some((own) => own.length > BATCHES_KNOWN))
        throw invalidRequest([
          {
            path: '/header/Idempotency-Key',
            message: `the records fill more than ${BATCHES_KNOWN} batches of a partition: send fewer records per request`,
          },
        ])
      const producer = await takeProducer(keyed)
      await keyed?.begin({ producer_id: String(producer.id), epoch: producer.epoch, partition: keyless, partitions })
      const until = performance.now() + WRITE_MS
      const written = await Promise.allSettled(
        [...parts].map(async ([partition, own]) => {
          const leaderOf = async () => connections.leader((await layouts.of(target.topic)).leaders[partition] ?? -1)
          const first = await send(target.topic, leaderOf, own, producer, until)
          return { partition, first_offset: String(first), records: own.reduce((sum, { records }) => sum + records, 0) }
        }),
      )
      const failed = written.find((each) => each.status === 'rejected')
      if (failed) throw failed.reason
      if (!keyed && idle.length < IDLE_MAX && producer.sequences.size < SEQUENCES_MAX) idle.push(producer)
      return {
        records: values.count,
        partitions: written
          .map((each) => (each as PromiseFulfilledResult<Written['partitions'][number]>).value)
          .sort((a, b) => a.partition - b.partition),
      }
    },
    close: () => connections.close().catch(() => {}),
  }
}
