/** Our contender: a real processor process, told by `dps.definitions` what to run, as the control plane would. */
import { createHash } from 'node:crypto'
import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import type { Kafka } from 'kafkajs'
import { PROCESSOR_NODE_FLAGS } from '../../deploy/local/node-flags.ts'
import { ensureServiceTopics, ensureTopics } from '../../shared/kafka/admin/admin.ts'
import type { Cluster } from '../../shared/kafka/cluster.ts'
import { definitionKeys, ON_ERROR_DEFAULT, serviceNames, type PipelineDefinition } from '../../shared/model/definition.ts'
import { builtInSmartModules } from '../../shared/smartmodule/catalogue/catalogue.ts'
import type { Run } from './child-runs.ts'
import { PARTITIONS, RECORD_COUNT, SCHEMA_ID } from './records.ts'
import { resources } from './resources.ts'

export type BenchStep = { name: string; config: Record<string, unknown> }

const names = serviceNames('bench')
const ROOT = join(import.meta.dirname, '..', '..')

export type ProcessorRuns = { run(label: string, steps: BenchStep[], outputTopic: string): Promise<Run>; close(): Promise<void> }

/** Starts the processor and publishes the built-in SmartModules. */
export async function startProcessorRuns(
  kafka: Kafka,
  cluster: Cluster,
  broker: string,
  inputTopic: string,
  cache: string,
): Promise<ProcessorRuns> {
  const admin = kafka.admin()
  const producer = kafka.producer()
  await Promise.all([admin.connect(), producer.connect()])
  await ensureServiceTopics(admin, names, 1)
  const builtIns = await builtInSmartModules(cache)
  const publish = (key: string, value: Buffer | string) => producer.send({ topic: names.definitions, messages: [{ key, value }], acks: -1 })
  const sha256Of = new Map(builtIns.map(({ name, binary }) => [name, createHash('sha256').update(binary).digest('hex')]))
  for (const { name, binary } of builtIns) await publish(definitionKeys.smartModule(sha256Of.get(name)!), Buffer.from(binary))
  const child: ChildProcess = spawn(
    process.execPath,
    ['--no-warnings', ...PROCESSOR_NODE_FLAGS, join(ROOT, 'services', 'processor', 'main.ts')],
    {
      env: { ...process.env, KAFKA_BROKERS: broker, DPS_PREFIX: 'bench', DPS_CACHE: cache, LOG_LEVEL: process.env.BENCH_LOG ?? 'error' },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    },
  )
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve())
    child.once('exit', (code) => reject(new Error(`the processor stopped with code ${code}`)))
  })
  let count = 0

  return {
    async run(label, steps, outputTopic) {
      const id = `pl_${label}${++count}`
      const groupId = names.pipelineGroup(id)
      const deadLetterTopic = `${outputTopic}.dead-letters`
      await ensureTopics(admin, [{ topic: deadLetterTopic, partitions: PARTITIONS, replicationFactor: 1 }])
      await cluster.ensureStartOffsets(groupId, (await cluster.describeTopic(inputTopic))!)
      const definition = (desired: PipelineDefinition['desired']): PipelineDefinition => ({
        pipeline_id: id,
        account_id: 'acc_bench',
        name: label,
        revision: 1,
        attempt: 1,
        desired,
        tasks: 1,
        source_topic: inputTopic,
        sink_topic: outputTopic,
        sink_schema_id: SCHEMA_ID,
        sink_bytes_max: 1_048_588,
        dead_letter_bytes_max: 1_048_588,
        dead_letter_topic: deadLetterTopic,
        group_id: groupId,
        steps: steps.map(({ name, config }) => ({
          module_id: name,
          name,
          version: '1.0.0',
          sha256: sha256Of.get(name)!,
          kind: 'batch',
          input_format: 'json',
          output_format: 'json',
          config,
          on_error: ON_ERROR_DEFAULT,
          changes_keys: false,
        })),
        source_partitions: PARTITIONS,
        compression: 'none',
        failure_threshold: 0.5,
      })
      // Joined and ready first, so that the run measures the work and not the start.
      await publish(definitionKeys.pipeline(id), JSON.stringify(definition('paused')))
      await new Promise((resolve) => setTimeout(resolve, 1500))
      const before = resources(child.pid!)
      const from = performance.now()
      await publish(definitionKeys.pipeline(id), JSON.stringify(definition('running')))
      let position = 0
      while (position < RECORD_COUNT) {
        await new Promise((resolve) => setTimeout(resolve, 20))
        const committed = await cluster.committedOffsets(groupId, inputTopic, [0, 1, 2, 3])
        position = [...committed.values()].reduce((sum, { offset }) => sum + Number(offset), 0)
        if (performance.now() - from > 120_000) throw new Error(`${label} did not finish within 120 s: ${position} of ${RECORD_COUNT}`)
      }
      const seconds = (performance.now() - from) / 1000
      const after = resources(child.pid!)
      await publish(definitionKeys.pipeline(id), JSON.stringify(definition('stopped')))
      return { records: position, seconds, cpuSeconds: after.cpuSeconds - before.cpuSeconds, rssMib: after.rssMib }
    },
    async close() {
      await Promise.all([admin.disconnect(), producer.disconnect()])
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await gone
    },
  }
}
