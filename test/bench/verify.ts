/** Reads an output topic at read-committed with kafkajs and checks it record by record before a figure counts. */
import type { Kafka } from 'kafkajs'
import type { BenchRecord } from './records.ts'

export type Expected = {
  /** Records in all. */
  count: number
  /** The value that input record `id` must have become. */
  recordAt?: (id: number) => unknown
}

/** Throws with the fault: a lost, duplicated, changed or misplaced record. */
export async function verifyOutput(kafka: Kafka, topic: string, expected: Expected): Promise<void> {
  const consumer = kafka.consumer({ groupId: `verify-${topic}`, maxBytesPerPartition: 8 << 20, maxBytes: 32 << 20, readUncommitted: false })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  const seen = new Set<number>()
  const lastId = new Map<string, number>()
  let count = 0
  const done = Promise.withResolvers<void>()
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch }) => {
      for (const { key, value } of batch.messages) {
        count++
        if (!expected.recordAt) continue
        const record = JSON.parse(value!.toString('utf8', 5)) as BenchRecord
        if (seen.has(record.id)) return done.reject(new Error(`${topic}: record ${record.id} is there twice`))
        seen.add(record.id)
        if (JSON.stringify(record) !== JSON.stringify(expected.recordAt(record.id)))
          return done.reject(new Error(`${topic}: record ${record.id} is ${JSON.stringify(record)}`))
        const owner = key!.toString()
        if (owner !== record.user || (lastId.get(owner) ?? -1) > record.id)
          return done.reject(new Error(`${topic}: record ${record.id} of ${owner} is out of order`))
        lastId.set(owner, record.id)
      }
      if (count >= expected.count) done.resolve()
    },
  })
  const timer = setTimeout(() => done.reject(new Error(`${topic}: only ${count} of ${expected.count} records arrived`)), 60_000)
  try {
    await done.promise
    // A moment more, for records that should not be there.
    await new Promise((resolve) => setTimeout(resolve, 300))
    if (count !== expected.count) throw new Error(`${topic}: ${count} records instead of ${expected.count}`)
  } finally {
    clearTimeout(timer)
    await consumer.disconnect()
  }
}
