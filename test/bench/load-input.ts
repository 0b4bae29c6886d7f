/** Writes the benchmark's input once: 1,000,000 records, four partitions, in batches of a thousand as a busy producer makes them. */
import type { Kafka } from 'kafkajs'
import { exactProducer } from '../harness/exact-producer.ts'
import { framed, PARTITIONS, RECORD_COUNT, recordOf } from './records.ts'

const BATCH_RECORDS = 1000

/** A record's partition is id % 4 and its key is the user, so that order per partition is order per key. */
export async function loadInput(kafka: Kafka, topic: string, count = RECORD_COUNT): Promise<void> {
  const producer = exactProducer(kafka)
  await producer.connect()
  for (let from = 0; from < count; from += BATCH_RECORDS * PARTITIONS) {
    const messages = Array.from({ length: Math.min(BATCH_RECORDS * PARTITIONS, count - from) }, (_, index) => {
      const record = recordOf(from + index)
      return {
        key: record.user,
        value: framed(JSON.stringify(record)),
        partition: (from + index) % PARTITIONS,
        timestamp: String(Date.parse(record.ts)),
      }
    })
    await producer.send({ topic, messages, acks: -1 })
  }
  await producer.disconnect()
}
