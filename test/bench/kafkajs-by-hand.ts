/** What one would write without this service: kafkajs, `eachBatch`, `JSON.parse`, the two steps' work, `producer.send`, at least once. */
import kafkajs from 'kafkajs'
import { framed, RECORD_COUNT, SCHEMA_ID, type BenchRecord } from './records.ts'
import { nextOutput, say } from './child-runs.ts'

process.env.KAFKAJS_NO_PARTITIONER_WARNING = '1'
const [broker, input] = process.argv.slice(2) as [string, string]
const kafka = new kafkajs.Kafka({ brokers: [broker], logLevel: kafkajs.logLevel.NOTHING })
const SEND_RECORDS = 2000

async function run(output: string): Promise<{ records: number; seconds: number }> {
  const consumer = kafka.consumer({
    groupId: `by-hand-${process.pid}-${performance.now()}`,
    maxBytesPerPartition: 4 << 20,
    maxBytes: 32 << 20,
  })
  const producer = kafka.producer()
  await consumer.connect()
  await producer.connect()
  await consumer.subscribe({ topics: [input], fromBeginning: true })
  let records = 0
  let from = 0
  const done = Promise.withResolvers<void>()
  consumer.on(consumer.events.GROUP_JOIN, () => (from = performance.now()))
  await consumer.run({
    partitionsConsumedConcurrently: 4,
    eachBatch: async ({ batch }) => {
      const messages = []
      for (const message of batch.messages) {
        const value = JSON.parse(message.value!.toString('utf8', 5)) as BenchRecord
        if (value.amount < 50) continue
        value.text = value.text.toUpperCase()
        messages.push({
          key: message.key,
          value: framed(JSON.stringify(value), SCHEMA_ID),
          partition: batch.partition,
          timestamp: message.timestamp,
        })
      }
      for (let at = 0; at < messages.length; at += SEND_RECORDS)
        await producer.send({ topic: output, messages: messages.slice(at, at + SEND_RECORDS), acks: -1 })
      records += batch.messages.length
      if (records >= RECORD_COUNT) done.resolve()
    },
  })
  await done.promise
  const seconds = (performance.now() - from) / 1000
  await consumer.disconnect()
  await producer.disconnect()
  return { records, seconds }
}

for (let output = await nextOutput(); output !== undefined; output = await nextOutput()) say(await run(output))
process.exit(0)
