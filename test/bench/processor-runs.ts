/** Our contender: the whole input through a pipeline on a real processor, timed from the start command until everything is committed. */
import type { Kafka } from 'kafkajs'
import { ensureTopics } from '../../shared/kafka/admin/admin.ts'
import type { Cluster } from '../../shared/kafka/cluster.ts'
import type { Compression, PipelineDefinition } from '../../shared/model/definition.ts'
import type { Run } from './child-runs.ts'
import type { BenchProcessor, BenchStep } from './processor.ts'
import { RECORD_COUNT } from './records.ts'
import { resources } from './resources.ts'

export type RunOptions = {
  inputTopic: string
  outputTopic: string
  partitions: number
  records?: number
  compression?: Compression
  tasks?: number
  /** Takes the place of the output topic. */
  sink?: PipelineDefinition['sink']
}

let count = 0

/** CPU seconds and memory are summed over `processors`: one pipeline may run on several. */
export async function runPipeline(
  kafka: Kafka,
  cluster: Cluster,
  processors: readonly BenchProcessor[],
  steps: BenchStep[],
  options: RunOptions,
): Promise<Run> {
  const [first] = processors as [BenchProcessor]
  const { inputTopic, outputTopic, partitions } = options
  const records = options.records ?? RECORD_COUNT
  const id = `pl_run${++count}`
  const deadLetterTopic = `${outputTopic}.dead-letters`
  const admin = kafka.admin()
  await admin.connect()
  await ensureTopics(admin, [{ topic: deadLetterTopic, partitions, replicationFactor: 1 }])
  await admin.disconnect()
  const common = first.definition(id, steps, { source: inputTopic, sink: outputTopic, deadLetters: deadLetterTopic })
  const compressed = common.sink.kind === 'topic' ? { ...common.sink, compression: options.compression ?? 'none' } : common.sink
  const definition = { ...common, tasks: options.tasks ?? 1, sink: options.sink ?? compressed }
  await cluster.ensureStartOffsets(definition.group_id, (await cluster.describeTopic(inputTopic))!)
  // The tasks join and get ready first, so that the run measures the work and not the start.
  await first.publish(definition, 'paused')
  await new Promise((resolve) => setTimeout(resolve, processors.length > 1 ? 4000 : 1500))
  const before = processors.map(({ pid }) => resources(pid))
  const from = performance.now()
  await first.publish(definition, 'running')
  for (let position = 0; position < records;) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    const committed = await cluster.committedOffsets(
      definition.group_id,
      inputTopic,
      Array.from({ length: partitions }, (_, partition) => partition),
    )
    position = [...committed.values()].reduce((sum, { offset }) => sum + Number(offset), 0)
    if (performance.now() - from > 120_000) throw new Error(`${outputTopic} did not finish within 120 s: ${position} of ${records}`)
  }
  const seconds = (performance.now() - from) / 1000
  const after = processors.map(({ pid }) => resources(pid))
  await first.publish(definition, 'stopped')
  const cpuSeconds = after.reduce((sum, each, index) => sum + each.cpuSeconds - before[index]!.cpuSeconds, 0)
  return { records, seconds, cpuSeconds, rssMib: after.reduce((sum, { rssMib }) => sum + rssMib, 0) }
}
