/**
 * What an idle pipeline costs, and what the hot path allocates, both measured from outside: by the resident memory of the process after a
 * full collection, and by V8's own report of each collection.
 */
import type { Kafka } from 'kafkajs'
import { ensureTopics } from '../../shared/kafka/admin/admin.ts'
import type { Cluster } from '../../shared/kafka/cluster.ts'
import { startBenchProcessor, type BenchProcessor, type BenchProcessorOptions, type BenchStep } from './processor.ts'
import { runPipeline } from './processor-runs.ts'
import { RECORD_COUNT } from './records.ts'
import { resources } from './resources.ts'

/** Collects all garbage in the process, over the inspector that it was started with. */
async function collect(url: string): Promise<void> {
  const socket = new WebSocket(url)
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve, { once: true })
    socket.addEventListener('error', reject, { once: true })
  })
  const answered = new Promise((resolve) => socket.addEventListener('message', resolve, { once: true }))
  socket.send(JSON.stringify({ id: 1, method: 'HeapProfiler.collectGarbage' }))
  await answered
  socket.close()
}

export type IdleCost = { pipelines: number; mibPerPipeline: number; coldStartMs: number }

/** Two-step pipelines on one processor; `coldStartMs` is the median from the definition's publication to a member in its group. */
export async function measureIdle(
  options: BenchProcessorOptions,
  cluster: Cluster,
  steps: BenchStep[],
  pipelines: number,
): Promise<IdleCost> {
  const [source, sink, deadLetters] = ['idle-source', 'idle-sink', 'idle-dead'] as const
  const admin = options.kafka.admin()
  await admin.connect()
  await ensureTopics(
    admin,
    [source, sink, deadLetters].map((topic) => ({ topic, partitions: options.partitions, replicationFactor: 1 })),
  )
  let inspector = ''
  const processor = await startBenchProcessor({ ...options, flags: ['--inspect=127.0.0.1:0'], env: { NODE_OPTIONS: '' } })
  processor.onLine((line) => (inspector ||= /ws:\/\/\S+/.exec(line)?.[0] ?? ''))
  try {
    const layout = (await cluster.describeTopic(source))!
    const topics = { source, sink, deadLetters }
    const start = async (index: number): Promise<string> => {
      const definition = processor.definition(`pl_idle${index}`, steps, topics)
      await cluster.ensureStartOffsets(definition.group_id, layout)
      await processor.publish(definition, 'running')
      return definition.group_id
    }
    const isMember = async (groupId: string) => (await admin.describeGroups([groupId])).groups[0]?.state === 'Stable'
    const waitFor = async (groupId: string) => {
      for (const deadline = Date.now() + 60_000; !(await isMember(groupId));) {
        if (Date.now() > deadline) throw new Error(`${groupId} did not start within 60 s`)
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    }
    // The first pipelines pay for what all share: compiled modules, lazily loaded code.
    const starts: number[] = []
    for (let index = 0; index < 5; index++) {
      const from = performance.now()
      await waitFor(await start(index))
      starts.push(performance.now() - from)
    }
    const settle = async () => {
      await new Promise((resolve) => setTimeout(resolve, 3000))
      for (let turn = 0; turn < 3; turn++) await collect(inspectorOf(inspector))
      return resources(processor.pid).rssMib
    }
    const before = await settle()
    let last = ''
    for (let index = 5; index < pipelines + 5; index++) last = await start(index)
    await waitFor(last)
    await new Promise((resolve) => setTimeout(resolve, 5000))
    const after = await settle()
    return {
      pipelines,
      mibPerPipeline: Math.round(((after - before) / pipelines) * 100) / 100,
      coldStartMs: Math.round(starts.toSorted((a, b) => a - b)[2]!),
    }
  } finally {
    await processor.close()
    await admin.disconnect()
  }
}

function inspectorOf(url: string): string {
  if (url === '') throw new Error('the processor did not say where its inspector listens')
  return url
}

const COLLECTION = /(?:Scavenge|Mark-Compact).*? ([\d.]+) \([\d.]+\) -> ([\d.]+) \(/
const ISOLATE = /^\[\d+:(0x[0-9a-f]+)/

/** Bytes that JavaScript allocates per million records, main thread and lanes together: the growth between collections. */
export async function measureAllocations(
  options: BenchProcessorOptions,
  kafka: Kafka,
  cluster: Cluster,
  steps: BenchStep[],
  inputTopic: string,
): Promise<number> {
  const last = new Map<string, number>()
  let allocated = 0
  // A small young generation collects often, and each collection reports how much was allocated since the last one.
  const processor: BenchProcessor = await startBenchProcessor({ ...options, flags: ['--trace-gc', '--max-semi-space-size=1'] })
  processor.onLine((line) => {
    const isolate = ISOLATE.exec(line)?.[1]
    const sizes = COLLECTION.exec(line)
    if (isolate === undefined || !sizes) return
    allocated += Math.max(0, Number(sizes[1]) - (last.get(isolate) ?? Number(sizes[1])))
    last.set(isolate, Number(sizes[2]))
  })
  const admin = kafka.admin()
  await admin.connect()
  const run = async (name: string) => {
    await ensureTopics(admin, [{ topic: name, partitions: options.partitions, replicationFactor: 1, config: { 'retention.ms': '-1' } }])
    await runPipeline(kafka, cluster, [processor], steps, { inputTopic, outputTopic: name, partitions: options.partitions })
    await admin.deleteTopics({ topics: [name] })
  }
  try {
    await run('allocations-warm-up')
    const before = allocated
    const runs = 3
    for (let turn = 0; turn < runs; turn++) await run(`allocations-${turn}`)
    return Math.round(((allocated - before) * (1 << 20) * 1_000_000) / (runs * RECORD_COUNT))
  } finally {
    await processor.close()
    await admin.disconnect()
  }
}
