/** Two steps over varied shapes: partitions, lanes, record sizes, compression of source and sink, processors. One run each. */
import type { Kafka } from 'kafkajs'
import { ensureTopics } from '../../shared/kafka/admin/admin.ts'
import type { Cluster } from '../../shared/kafka/cluster.ts'
import { compressBatch, encodeBatch, stampProducer } from '../../shared/kafka/protocol/record-batch.ts'
import { produceBatches } from '../../shared/kafka/wire/produce.ts'
import type { Compression } from '../../shared/model/definition.ts'
import { perMillion, perSecond } from './contenders.ts'
import { startBenchProcessor, type BenchProcessor, type BenchProcessorOptions, type BenchStep } from './processor.ts'
import { runPipeline } from './processor-runs.ts'
import { framed } from './records.ts'

type Options = Omit<BenchProcessorOptions, 'prefix'> & { kafka: Kafka; cluster: Cluster; say: (line: string) => void }
type Shape = { partitions: number; lanes: number; bytes: number; compression: Compression; processors: number }
export type MatrixRow = Shape & { records_per_second: number; mib_per_second: number; cpu_seconds_per_million: number }

const BASE: Shape = { partitions: 4, lanes: 1, bytes: 165, compression: 'none', processors: 1 }
const SHAPES: Shape[] = [
  BASE,
  { ...BASE, partitions: 1 },
  { ...BASE, partitions: 16 },
  { ...BASE, lanes: 2 },
  { ...BASE, lanes: 4 },
  { ...BASE, bytes: 100 },
  { ...BASE, bytes: 1024 },
  { ...BASE, bytes: 10_240 },
  { ...BASE, compression: 'gzip' },
  { ...BASE, compression: 'snappy' },
  { ...BASE, compression: 'lz4' },
  { ...BASE, compression: 'zstd' },
  { ...BASE, processors: 2 },
]
const STEPS: BenchStep[] = [
  { name: 'dps/filter', config: { field: 'amount', operator: 'gte', value: 50 } },
  { name: 'dps/map-fields', config: { uppercase: ['text'] } },
]
/** About two seconds of work, whatever the size of a record. */
const INPUT_BYTES = 160 << 20
const WORDS = 'lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt ut labore et dolore magna aliqua '

function recordOf(id: number, bytes: number): Buffer {
  const head = `{"id":${id},"amount":${(id * 37) % 100},"text":"`
  const room = Math.max(1, bytes - head.length - 7)
  const from = (id * 7) % WORDS.length
  return framed(`${head}${WORDS.repeat(Math.ceil((room + from) / WORDS.length)).slice(from, from + room)}"}`)
}

/** Fills a topic with input of this shape; returns the number of records. */
async function load(cluster: Cluster, topic: string, { partitions, bytes, compression }: Shape): Promise<number> {
  const layout = (await cluster.describeTopic(topic))!
  const connections = cluster.openConnections('matrix-load')
  const records = Math.min(1_000_000, Math.floor(INPUT_BYTES / bytes))
  const batchRecords = Math.max(1, Math.floor(500_000 / bytes))
  for (let from = 0, turn = 0; from < records; from += batchRecords, turn++) {
    const plain = encodeBatch(
      Array.from({ length: Math.min(batchRecords, records - from) }, (_, offsetDelta) => ({
        offsetDelta,
        timestampDelta: 0n,
        key: Buffer.from(`user-${(from + offsetDelta) % 5000}`),
        value: recordOf(from + offsetDelta, bytes),
        headers: [],
      })),
      BigInt(Date.now()),
      0,
    )
    const batch = compression === 'none' ? plain : compressBatch(plain, compression)
    stampProducer(batch, -1n, -1, -1)
    const partition = turn % partitions
    const [answer] = await produceBatches(await connections.leader(layout.leaders[partition]!), null, [
      { topic, partitions: [{ partition, batch }] },
    ])
    if (answer?.errorCode !== 0) throw new Error(`loading ${topic}: Kafka error ${answer?.errorCode}`)
  }
  await connections.close()
  return records
}

export async function runMatrix({ kafka, cluster, say, ...options }: Options): Promise<MatrixRow[]> {
  const admin = kafka.admin()
  await admin.connect()
  const rows: MatrixRow[] = []
  for (const [index, shape] of SHAPES.entries()) {
    const { partitions, lanes, bytes, compression } = shape
    const [inputTopic, outputTopic] = [`matrix-in-${index}`, `matrix-out-${index}`]
    await ensureTopics(
      admin,
      [inputTopic, outputTopic].map((topic) => ({ topic, partitions, replicationFactor: 1 })),
    )
    const records = await load(cluster, inputTopic, shape)
    const own = { ...options, kafka, partitions, prefix: `matrix${index}`, env: { LANES: String(lanes) } }
    const processors: BenchProcessor[] = []
    try {
      for (let count = 0; count < shape.processors; count++) processors.push(await startBenchProcessor(own))
      const run = await runPipeline(kafka, cluster, processors, STEPS, {
        inputTopic,
        outputTopic,
        partitions,
        records,
        compression,
        tasks: shape.processors * 2 > partitions ? 1 : shape.processors,
      })
      const row = {
        ...shape,
        records_per_second: perSecond(run),
        mib_per_second: Math.round((perSecond(run) * bytes) / (1 << 20)),
        cpu_seconds_per_million: Math.round(perMillion(run) * 100) / 100,
      }
      rows.push(row)
      say(
        `${partitions} partitions, ${lanes} lanes, ${bytes} B, ${compression}, ${shape.processors} processors: ${row.records_per_second.toLocaleString('en')} records/s, ${row.mib_per_second} MiB/s, ${row.cpu_seconds_per_million} CPU-s/million`,
      )
    } finally {
      await Promise.all(processors.map((processor) => processor.close()))
      await admin.deleteTopics({ topics: [inputTopic, outputTopic] })
    }
  }
  await admin.disconnect()
  return rows
}
