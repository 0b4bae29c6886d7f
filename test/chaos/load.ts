/**
 * The load: records in a known order per key. Every batch is sent again under the same sequence number until it is acknowledged, so that
 * the history of acknowledged records is exact. Now and then a transaction is aborted: its records must never be seen.
 */
import { appendFileSync } from 'node:fs'
import type { Kafka } from 'kafkajs'
import { initProducerIdV5 } from '@platformatic/kafka'
import type { Cluster } from '../../shared/kafka/cluster.ts'
import { encodeBatch, stampProducer, type KafkaRecord } from '../../shared/kafka/protocol/record-batch.ts'
import { KAFKA_ERRORS } from '../../shared/kafka/wire/error-codes.ts'
import { produceBatches } from '../../shared/kafka/wire/produce.ts'
import { frame } from '../../shared/model/framing.ts'

export const KEYS_PER_PARTITION = 32
/** One record in a hundred is poison. */
const POISON_EVERY = 100
export const isPoison = (n: number): boolean => n % POISON_EVERY === 7

export type Load = {
  /** Acknowledged records by partition. */
  acknowledged(): number[]
  stop(): Promise<void>
}

export type LoadOptions = {
  cluster: Cluster
  kafka: Kafka
  topic: string
  partitions: number
  schemaId: number
  recordsPerSecond: number
  /** Append-only: one line per acknowledged batch. */
  historyFile?: string
  /** Records written at full speed before the steady load begins. */
  backlog?: number
  /** About how many records are written in all; without it the load is endless. */
  recordsMax?: number
  /** Milliseconds between aborted transactions; 0 for none. */
  abortedEveryMs: number
}

const TICK_MS = 100

/** Record `index` of a partition: its keys take turns, so `n` counts up per key. */
export function recordAt(partition: number, index: number): { key: string; n: number } {
  return { key: `k${partition}-${index % KEYS_PER_PARTITION}`, n: Math.floor(index / KEYS_PER_PARTITION) }
}

function encode(partition: number, from: number, count: number, schemaId: number): Buffer {
  const records = Array.from({ length: count }, (_, offsetDelta): KafkaRecord => {
    const { key, n } = recordAt(partition, from + offsetDelta)
    const json = isPoison(n) ? `{"n":${n},"key":"${key}","bad":true}` : `{"n":${n},"key":"${key}"}`
    return { offsetDelta, timestampDelta: 0n, key: Buffer.from(key), value: frame(schemaId, json), headers: [['h', Buffer.from('own')]] }
  })
  return encodeBatch(records, BigInt(Date.now()), 0)
}

export async function startLoad(options: LoadOptions): Promise<Load> {
  const { cluster, topic, partitions, schemaId } = options
  const connections = cluster.openConnections('load')
  const acknowledged = Array.from({ length: partitions }, () => 0)
  let stopped = false

  async function retry<T>(work: () => Promise<T | undefined>): Promise<T> {
    for (;;) {
      const result = await work().catch(() => undefined)
      if (result !== undefined) return result
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }

  async function openWriter(partition: number): Promise<(count: number) => Promise<void>> {
    const identity = await retry(async () => {
      const layout = await cluster.describeTopic(topic)
      const connection = await connections.leader(layout!.leaders[partition]!)
      return initProducerIdV5.api.async(connection, null, 0, -1n, -1)
    })
    let leader: number | undefined
    return async (count) => {
      const from = acknowledged[partition]!
      const batch = encode(partition, from, count, schemaId)
      stampProducer(batch, identity.producerId, identity.producerEpoch, from)
      await retry(async () => {
        leader ??= (await cluster.describeTopic(topic))?.leaders[partition]
        if (leader === undefined || leader < 0) return (leader = undefined)
        const sent = produceBatches(await connections.leader(leader), null, [{ topic, partitions: [{ partition, batch }] }])
        const [answer] = await sent.catch(() => [])
        const code = answer?.errorCode ?? -1
        if (code === 0 || code === KAFKA_ERRORS.duplicateSequence) return true
        leader = undefined
        return undefined
      })
      acknowledged[partition] = from + count
      if (options.historyFile)
        appendFileSync(options.historyFile, `{"at":${Date.now()},"partition":${partition},"from":${from},"count":${count}}\n`)
    }
  }

  async function write(partition: number): Promise<void> {
    const send = await openWriter(partition)
    for (let left = Math.floor((options.backlog ?? 0) / partitions); left > 0; left -= 5000) await send(Math.min(left, 5000))
    const started = Date.now()
    let sent = 0
    const enough = (options.recordsMax ?? Infinity) / partitions
    while (!stopped && acknowledged[partition]! < enough) {
      const due = Math.floor(((Date.now() - started) / 1000) * (options.recordsPerSecond / partitions)) - sent
      if (due > 0) {
        const count = Math.min(due, 5000)
        await send(count)
        sent += count
      }
      await new Promise((resolve) => setTimeout(resolve, TICK_MS))
    }
  }

  /** Writes records with an `n` of -1, in transactions that are aborted. */
  async function writeAborted(): Promise<void> {
    for (let turn = 0; !stopped; turn++) {
      const producer = options.kafka.producer({ transactionalId: `ghost-${topic}-${turn}`, maxInFlightRequests: 1, idempotent: true })
      try {
        await producer.connect()
        const transaction = await producer.transaction()
        const value = frame(schemaId, '{"n":-1,"key":"ghost"}')
        await transaction.send({
          topic,
          acks: -1,
          messages: Array.from({ length: partitions }, (_, partition) => ({ key: 'ghost', value, partition })),
        })
        await transaction.abort()
      } catch {
        // A broker is down: the transaction times out, which aborts it as well.
      }
      await producer.disconnect().catch(() => {})
      for (let waited = 0; waited < options.abortedEveryMs && !stopped; waited += TICK_MS)
        await new Promise((resolve) => setTimeout(resolve, TICK_MS))
    }
  }

  const writers = Array.from({ length: partitions }, (_, partition) => write(partition))
  const ghosts = options.abortedEveryMs > 0 ? writeAborted() : Promise.resolve()
  return {
    acknowledged: () => [...acknowledged],
    async stop() {
      stopped = true
      await Promise.all([...writers, ghosts])
      await connections.close().catch(() => {})
    },
  }
}
