/** The second account: a pipeline under 500 records a second, each timed from its write until a reader at read-committed sees it. */
import type { Consumer, Kafka, Producer } from 'kafkajs'
import type { Cluster } from '../../shared/kafka/cluster.ts'
import { frame } from '../../shared/model/framing.ts'
import { readCommitted } from '../chaos/reader.ts'
import { good, type Caller } from './account.ts'

export type Victim = {
  /** Milliseconds of the records that arrived since the last call. */
  latencies(): number[]
  /** The longest time without any arrival since the last call, in milliseconds. */
  longestGap(): number
  /** Ends the load, waits for the last records, and compares all of them. */
  finish(): Promise<{ written: number; lost: number; duplicated: number }>
}

const BATCH = 25
const EVERY_MS = 50
const PARTITIONS = 4

type Parts = { call: Caller; kafka: Kafka; cluster: Cluster }

export async function startVictim({ call, kafka, cluster }: Parts): Promise<Victim> {
  const stream = async (name: string) => {
    const body = { name, description: '', schema: { n: 'integer', at: 'number' }, partitions: PARTITIONS }
    const { id } = good(await call<{ id: string }>('POST', '/streams', body), 'POST /streams')
    return good(await call<{ id: string; topic: string; schema_id: number }>('GET', `/streams/${id}`), 'GET /streams')
  }
  const [from, to] = [await stream('victim-in'), await stream('victim-out')]
  good(
    await call('POST', '/pipelines', {
      name: 'victim',
      source: { connector_id: 'conn_stream', config: { stream_id: from.id } },
      processors: [{ module_id: 'dps/map-fields', config: { set: { seen: true } } }],
      sink: { connector_id: 'conn_stream', config: { stream_id: to.id } },
    }),
    'POST /pipelines',
  )
  const producer: Producer = kafka.producer()
  const consumer: Consumer = kafka.consumer({ groupId: 'attack-witness', readUncommitted: false, maxWaitTimeInMs: 20 })
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
  const load = (async () => {
    for (let next = Date.now(); !isOver; next += EVERY_MS) {
      const messages = Array.from({ length: BATCH }, () => {
        const n = written++
        return { partition: n % PARTITIONS, value: frame(from.schema_id, JSON.stringify({ n, at: Date.now() })) }
      })
      await producer.send({ topic: from.topic, messages })
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, next + EVERY_MS - Date.now())))
    }
  })()
  return {
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
    async finish() {
      isOver = true
      await load
      const counts = new Map<number, number>()
      for (const until = Date.now() + 60_000; Date.now() < until && counts.size < written;) {
        await new Promise((resolve) => setTimeout(resolve, 2000))
        counts.clear()
        await readCommitted(cluster, to.topic, (_partition, _offset, _key, value) => {
          const { n } = JSON.parse(value.toString('utf8', 5)) as { n: number }
          counts.set(n, (counts.get(n) ?? 0) + 1)
        })
      }
      await Promise.all([producer.disconnect(), consumer.disconnect()])
      return { written, lost: written - counts.size, duplicated: [...counts.values()].filter((count) => count > 1).length }
    },
  }
}

/** The value below which the share lies; 0 for none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0)
}
