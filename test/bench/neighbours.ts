/**
 * Neighbours: the latency of a pipeline alone on a processor, and beside another whose SmartModule never returns, eats memory, or returns
 * more than is allowed. The bad one starts in the middle of the measurement and gets new records all the time. One whose chain is soon
 * quarantined is started again every three seconds, with a binary that no quarantine knows.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kafka } from 'kafkajs'
import { ensureTopics } from '../../shared/kafka/admin/admin.ts'
import type { Cluster } from '../../shared/kafka/cluster.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { measureLatency, type Latency } from './latency.ts'
import { startBenchProcessor, type BenchProcessor, type BenchProcessorOptions, type BenchStep } from './processor.ts'
import { framed } from './records.ts'
import { exactProducer } from '../harness/exact-producer.ts'

const BAD: Record<string, string> = {
  loops: `import { Record } from 'dps'
export function filter(record: Record): bool { while (true) {}; return true }`,
  grows: `import { Record } from 'dps'
let kept: ArrayBuffer[] = []
export function filter(record: Record): bool { for (let i = 0; i < 10000; i++) kept.push(new ArrayBuffer(1 << 20)); return true }`,
  returns_too_much: `import { Record, Segment } from 'dps'
const n = new Segment('n')
export function map(record: Record): void { record.setText(n, 'x'.repeat(1 << 22)) }`,
}
const RATE = 2000
const SECONDS = 60
const BAD_AFTER_MS = 8000
const BAD_EVERY_MS = 100
/** Each record costs it an instance: without new attempts it would be over within the first second. */
const OVER_AT_ONCE = 'grows'
/** Long enough to join the group and get to work on a slow machine. */
const AGAIN_EVERY_MS = 3000

export type Neighbour = { alone: Latency; beside: Latency; p99_ratio: number }

/** The same module with a custom section more, which makes it another one to the quarantine. */
function withNote(binary: Uint8Array, note: string): Uint8Array {
  const bytes = Buffer.from(note)
  return Buffer.concat([binary, Buffer.from([0, bytes.length + 1, bytes.length]), bytes])
}

/** Starts the bad pipeline on the processor; it gets a few records every 100 ms until it is stopped. Returns how often it was started. */
async function letLoose(
  kafka: Kafka,
  cluster: Cluster,
  processor: BenchProcessor,
  name: string,
  binary: Uint8Array,
): Promise<() => Promise<number>> {
  const [source, sink, dead] = [`bad-${name}-source`, `bad-${name}-sink`, `bad-${name}-dead`] as const
  const admin = kafka.admin()
  await admin.connect()
  await ensureTopics(
    admin,
    [source, sink, dead].map((topic) => ({ topic, partitions: 4, replicationFactor: 1 })),
  )
  await admin.disconnect()
  const topics = { source, sink, deadLetters: dead }
  const define = async (attempt: number) => {
    const step = `${name}-${attempt}`
    await processor.addSmartModule(step, withNote(binary, step))
    const definition = processor.definition(`pl_bad_${name}`, [{ name: step, config: {} }], topics)
    // However many records fail, it goes on.
    return { ...definition, failure_threshold: 1, revision: attempt, attempt }
  }
  let definition = await define(1)
  await cluster.ensureStartOffsets(definition.group_id, (await cluster.describeTopic(source))!)
  const producer = exactProducer(kafka)
  await producer.connect()
  const write = () =>
    producer.send({
      topic: source,
      messages: Array.from({ length: 20 }, (_, n) => ({ partition: n % 4, value: framed(`{"n":${n}}`) })),
    })
  await write()
  await processor.publish(definition, 'running')
  const timer = setInterval(() => void write().catch(() => {}), BAD_EVERY_MS)
  let isOver = false
  const again = (async () => {
    for (await sleep(AGAIN_EVERY_MS); !isOver && name === OVER_AT_ONCE; await sleep(AGAIN_EVERY_MS)) {
      definition = await define(definition.attempt + 1)
      await processor.publish(definition, 'running')
    }
  })()
  return async () => {
    isOver = true
    clearInterval(timer)
    await again
    await processor.publish(definition, 'stopped')
    await producer.disconnect()
    return definition.attempt
  }
}

/** Every measurement has its own processor. */
export async function measureNeighbours(
  options: Omit<BenchProcessorOptions, 'prefix'> & { cluster: Cluster; say: (line: string) => void },
  steps: BenchStep[],
): Promise<Record<string, Neighbour>> {
  const { kafka, cluster, say } = options
  const found: Record<string, Neighbour> = {}
  for (const name of Object.keys(BAD)) {
    // Compiled beforehand: the compiler would block this process, whose clock measures the latency.
    const binary = await compileSmartModule(BAD[name]!)
    const processor = await startBenchProcessor({ ...options, prefix: `neighbour-${name.replaceAll('_', '-')}` })
    try {
      const alone = await measureLatency(kafka, cluster, processor, steps, RATE, SECONDS)
      const loose = new Promise<() => Promise<number>>((resolve, reject) => {
        setTimeout(() => void letLoose(kafka, cluster, processor, name, binary).then(resolve, reject), BAD_AFTER_MS)
      })
      const beside = await measureLatency(kafka, cluster, processor, steps, RATE, SECONDS)
      const stop = await loose
      const starts = await stop()
      found[name] = { alone, beside, p99_ratio: Math.round((beside.p99 / alone.p99) * 100) / 100 }
      say(
        `beside one that ${name} (started ${starts} times): p99 ${beside.p99} ms (alone ${alone.p99} ms), max ${beside.max} ms (alone ${alone.max} ms)`,
      )
    } finally {
      await processor.close()
    }
  }
  return found
}
