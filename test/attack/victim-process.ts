/** Writes and reads the second account’s records, and times each. It answers `victim.ts`, and ends with the process that started it. */
import { createKafka } from '../../shared/kafka/admin/admin.ts'
import { openCluster } from '../../shared/kafka/cluster.ts'
import { frame } from '../../shared/model/framing.ts'
import { readCommitted } from '../chaos/reader.ts'
import { PARTITIONS, type VictimAnswers, type VictimPlace } from './victim.ts'
import { exactProducer } from '../harness/exact-producer.ts'

const BATCH = 25
const EVERY_MS = 50
const FINISH_MAX_MS = 60_000

const { brokers, from, to } = JSON.parse(process.argv[2]!) as VictimPlace
const kafka = createKafka(brokers, 'victim')
const producer = exactProducer(kafka)
const consumer = kafka.consumer({ groupId: 'attack-witness', readUncommitted: false, maxWaitTimeInMs: 20 })
await Promise.all([producer.connect(), consumer.connect()])
await consumer.subscribe({ topics: [to.topic], fromBeginning: true })

let times: number[] = []
let lastAt = performance.now()
let gap = 0
await consumer.run({
  autoCommit: false,
  eachBatch: async ({ batch }) => {
    const now = Date.now()
    gap = Math.max(gap, performance.now() - lastAt)
    lastAt = performance.now()
    for (const { value } of batch.messages) times.push(now - Number(JSON.parse(value!.toString('utf8', 5)).at))
  },
})

let written = 0
let isOver = false
async function write(): Promise<void> {
  for (let next = Date.now(); !isOver; next += EVERY_MS) {
    const messages = Array.from({ length: BATCH }, () => {
      const n = written++
      return { partition: n % PARTITIONS, value: frame(from.schemaId, JSON.stringify({ n, at: Date.now() })) }
    })
    await producer.send({ topic: from.topic, messages })
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, next + EVERY_MS - Date.now())))
  }
}
const writing = write()

async function finish(): Promise<VictimAnswers['finish']> {
  isOver = true
  await writing
  const cluster = openCluster({ brokers, clientId: 'victim' })
  const counts = new Map<number, number>()
  for (const until = Date.now() + FINISH_MAX_MS; Date.now() < until && counts.size < written;) {
    await new Promise((resolve) => setTimeout(resolve, 2000))
    counts.clear()
    await readCommitted(cluster, to.topic, (_partition, _offset, _key, value) => {
      const { n } = JSON.parse(value.toString('utf8', 5)) as { n: number }
      counts.set(n, (counts.get(n) ?? 0) + 1)
    })
  }
  await Promise.all([producer.disconnect(), consumer.disconnect(), cluster.close()])
  return { written, lost: written - counts.size, duplicated: [...counts.values()].filter((count) => count > 1).length }
}

const answers: { [Asked in keyof VictimAnswers]: () => VictimAnswers[Asked] | Promise<VictimAnswers[Asked]> } = {
  latencies() {
    const found = times
    times = []
    return found
  },
  longestGap() {
    const found = Math.max(gap, performance.now() - lastAt)
    gap = 0
    return found
  },
  finish,
}
process.on('message', async (asked: keyof VictimAnswers) => process.send!(await answers[asked]()))
process.once('disconnect', () => process.exit())
process.send!('it writes')
