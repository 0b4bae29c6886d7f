/**
 * Latency: from just before a record is produced until a read-committed reader has it, through a pipeline of two steps, exactly once, at
 * a steady rate. Producer and reader are this process, so there is only one clock.
 */
import type { Kafka } from 'kafkajs'
import { ensureTopics } from '../../shared/kafka/admin/admin.ts'
import type { Cluster, TopicLayout } from '../../shared/kafka/cluster.ts'
import { batchesIn, sectionOf } from '../../shared/kafka/protocol/batches-in.ts'
import { decodeRecords, encodeBatch, stampProducer } from '../../shared/kafka/protocol/record-batch.ts'
import { fetchBatches } from '../../shared/kafka/wire/fetch.ts'
import { produceBatches } from '../../shared/kafka/wire/produce.ts'
import type { BenchProcessor, BenchStep } from './processor.ts'
import { framed } from './records.ts'

export type Latency = { records: number; p50: number; p99: number; max: number }

const PARTITIONS = 4
const TICK_MS = 10
const WARM_UP_MS = 3000
const FIELD = /"sent":([\d.]+)/

const clock = (): number => performance.timeOrigin + performance.now()
let count = 0

export async function measureLatency(
  kafka: Kafka,
  cluster: Cluster,
  processor: BenchProcessor,
  steps: BenchStep[],
  recordsPerSecond: number,
  seconds: number,
): Promise<Latency> {
  const id = `pl_latency${++count}`
  const [source, sink, deadLetters] = [`${id}-source`, `${id}-sink`, `${id}-dead`] as const
  const admin = kafka.admin()
  await admin.connect()
  await ensureTopics(
    admin,
    [source, sink, deadLetters].map((topic) => ({ topic, partitions: PARTITIONS, replicationFactor: 1 })),
  )
  await admin.disconnect()
  const definition = processor.definition(id, steps, { source, sink, deadLetters })
  const [sourceLayout, sinkLayout] = [(await cluster.describeTopic(source))!, (await cluster.describeTopic(sink))!]
  await cluster.ensureStartOffsets(definition.group_id, sourceLayout)
  await processor.publish(definition, 'running')
  await new Promise((resolve) => setTimeout(resolve, 1500))
  try {
    return await measureBetween(cluster, sourceLayout, sinkLayout, recordsPerSecond, seconds)
  } finally {
    await processor.publish(definition, 'stopped')
  }
}

/** Measures whatever runs from the source topic to the sink topic, at the given rate. Throws when records are missing in the end. */
export async function measureBetween(
  cluster: Cluster,
  sourceLayout: TopicLayout,
  sinkLayout: TopicLayout,
  recordsPerSecond: number,
  seconds: number,
  schemaId?: number,
): Promise<Latency> {
  const connections = cluster.openConnections(`${sourceLayout.topic}-produce`)
  const reading = cluster.openConnections(`${sinkLayout.topic}-read`)
  const latencies: number[] = []
  const startedAt = clock()
  const endAt = startedAt + WARM_UP_MS + seconds * 1000
  let sent = 0
  let seen = 0
  let isOver = false

  async function read(): Promise<void> {
    const connection = await reading.leader(sinkLayout.leaders[0]!)
    const positions = Array.from({ length: PARTITIONS }, () => 0n)
    while (!isOver) {
      const answer = await fetchBatches(connection, {
        topicId: sinkLayout.topicId,
        partitions: positions.map((offset, partition) => ({ partition, offset, bytesMax: 4 << 20 })),
        waitMs: 200,
        bytesMin: 1,
        bytesMax: 16 << 20,
      })
      const now = clock()
      for (const { partition, bytes } of answer.partitions) {
        if (!bytes) continue
        for (const batch of batchesIn(bytes)) {
          positions[partition] = batch.nextOffset
          for (const { value } of batch.isData ? decodeRecords(sectionOf(batch), batch.header.recordCount) : []) {
            const sentAt = Number(FIELD.exec(value!.toString('latin1'))?.[1])
            seen++
            if (sentAt > startedAt + WARM_UP_MS) latencies.push(now - sentAt)
          }
        }
      }
    }
  }

  async function produce(): Promise<void> {
    const connection = await connections.leader(sourceLayout.leaders[0]!)
    let partition = 0
    while (clock() < endAt) {
      const due = Math.floor(((clock() - startedAt) / 1000) * recordsPerSecond) - sent
      if (due > 0) {
        const sentAt = clock().toFixed(2)
        const records = Array.from({ length: due }, (_, offsetDelta) => ({
          offsetDelta,
          timestampDelta: 0n,
          key: Buffer.from(`user-${(sent + offsetDelta) % 5000}`),
          value: framed(
            `{"id":${sent + offsetDelta},"amount":${50 + (offsetDelta % 50)},"sent":${sentAt},"text":"lorem ipsum dolor sit amet consectetur adipiscing elit sed do"}`,
            schemaId,
          ),
          headers: [],
        }))
        const batch = encodeBatch(records, BigInt(Date.now()), 0)
        stampProducer(batch, -1n, -1, -1)
        // Not awaited: the rate is kept however long the answers take, as independent clients would keep it.
        void produceBatches(connection, null, [{ topic: sourceLayout.topic, partitions: [{ partition, batch }] }])
        partition = (partition + 1) % PARTITIONS
        sent += due
      }
      await new Promise((resolve) => setTimeout(resolve, TICK_MS))
    }
  }

  const reader = read()
  await produce()
  for (const deadline = Date.now() + 15_000; seen < sent && Date.now() < deadline;) await new Promise((resolve) => setTimeout(resolve, 50))
  isOver = true
  await reader
  await Promise.allSettled([connections.close(), reading.close()])
  if (seen !== sent) throw new Error(`latency at ${recordsPerSecond}/s: ${seen} of ${sent} records arrived`)
  latencies.sort((a, b) => a - b)
  const at = (share: number) => Math.round((latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0) * 10) / 10
  return { records: latencies.length, p50: at(0.5), p99: at(0.99), max: at(1) }
}
