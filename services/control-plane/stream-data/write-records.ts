/** Writes validated records by an idempotent kafkajs producer, without a transaction. After any error the producer is replaced. */
import kafkajs, { type Kafka, type Message, type Producer } from 'kafkajs'
import { errorTypes } from '../../../shared/kafka/admin/admin.ts'

export type Written = { records: number; partitions: { partition: number; first_offset: string; records: number }[] }
export type Target = { id: string; topic: string; partitions: number; key_field: string | null }

/** Longer than any send may take. */
const RETIRE_MS = 30_000

export function createRecordWriter(kafka: Kafka) {
  let connecting: Promise<Producer> | undefined
  let current: Producer | undefined
  /** Without a key each request goes to the next partition, whole. */
  const turns = new Map<string, number>()
  const murmur2 = kafkajs.Partitioners.DefaultPartitioner()

  function connect(): Promise<Producer> {
    connecting ??= (async () => {
      const producer = kafka.producer({
        idempotent: true,
        maxInFlightRequests: 1,
        createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
      })
      await producer.connect()
      current = producer
      return producer
    })()
    connecting.catch(() => (connecting = undefined))
    return connecting
  }

  function partitionOf(stream: Target, key: string, partitionMetadata: { partitionId: number; leader: number }[]): number {
    return murmur2({ topic: stream.topic, partitionMetadata: partitionMetadata as never, message: { key, value: null } })
  }

  function messagesFor(stream: Target, records: Record<string, unknown>[], values: Buffer[]): Message[] {
    const turn = turns.get(stream.id) ?? Math.floor(Math.random() * stream.partitions)
    if (stream.key_field === null) turns.set(stream.id, (turn + 1) % stream.partitions)
    const metadata = Array.from({ length: stream.partitions }, (_, partitionId) => ({ partitionId, leader: 0 }))
    return records.map((record, index) => {
      const value = values[index]!
      const field = stream.key_field === null || typeof record !== 'object' || record === null ? undefined : record[stream.key_field]
      if (field === undefined || field === null) return { value, partition: turn % stream.partitions }
      const key = typeof field === 'string' ? field : JSON.stringify(field)
      return { key, value, partition: partitionOf(stream, key, metadata) }
    })
  }

  return {
    /** `values` are the records' framed values. */
    async write(stream: Target, records: Record<string, unknown>[], values: Buffer[]): Promise<Written> {
      const messages = messagesFor(stream, records, values)
      try {
        return await send(stream, messages)
      } catch (error) {
        // kafkajs asks for the metadata of every topic it ever wrote to, deleted ones too; nothing was written then, and a new producer forgets.
        if (errorTypes(error).includes('UNKNOWN_TOPIC_OR_PARTITION')) return send(stream, messages)
        throw error
      }
    },
    async close(): Promise<void> {
      const producer = await connecting?.catch(() => undefined)
      await producer?.disconnect().catch(() => {})
    },
  }

  /** The next write gets a new producer; what others still send through this one may finish. */
  function retire(producer: Producer): void {
    if (current === producer) connecting = undefined
    setTimeout(() => void producer.disconnect().catch(() => {}), RETIRE_MS).unref()
  }

  async function send(stream: Target, messages: Message[]): Promise<Written> {
    const producer = await connect()
    try {
      const answers = await producer.send({ topic: stream.topic, messages, acks: -1, timeout: 10_000 })
      const counts = new Map<number, number>()
      for (const { partition } of messages) counts.set(partition!, (counts.get(partition!) ?? 0) + 1)
      const partitions = answers.map(({ partition, baseOffset }) => ({
        partition,
        first_offset: baseOffset ?? '0',
        records: counts.get(partition) ?? 0,
      }))
      return { records: messages.length, partitions: partitions.sort((a, b) => a.partition - b.partition) }
    } catch (error) {
      retire(producer)
      throw error
    }
  }
}
