/** A real processor process for the benchmarks, which gets its definitions on a topic, as from the control plane. */
import { createHash } from 'node:crypto'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Kafka } from 'kafkajs'
import { ensureServiceTopics } from '../../shared/kafka/admin/admin.ts'
import { definitionKeys, serviceNames, type PipelineDefinition } from '../../shared/model/definition.ts'
import { ON_ERROR_DEFAULT } from '../../shared/model/policies.ts'
import { builtInSmartModules } from '../../shared/smartmodule/catalogue/catalogue.ts'
import { SCHEMA_ID } from './records.ts'
import { limitMs } from '../harness/machine-speed.ts'

export type BenchStep = { name: string; config: Record<string, unknown> }

export type BenchProcessor = {
  pid: number
  /** Gets each line of the process's standard output and error; there are none unless flags make Node print something. */
  onLine(listener: (line: string) => void): void
  /** `topics`: the names of its topics. */
  definition(id: string, steps: BenchStep[], topics: { source: string; sink: string; deadLetters: string }): PipelineDefinition
  addSmartModule(name: string, binary: Uint8Array): Promise<void>
  publish(definition: PipelineDefinition, desired: PipelineDefinition['desired']): Promise<void>
  /** Sends SIGTERM; resolves when the process has ended. */
  close(): Promise<void>
}

export type BenchProcessorOptions = {
  kafka: Kafka
  brokers: string[]
  /** Of its own topics and groups, so that several processors can share one broker. */
  prefix: string
  cache: string
  partitions: number
  flags?: string[]
  /** Of the service's topics; 1 by default. */
  replicationFactor?: number
  env?: Record<string, string>
}

const EARLY_LINES_MAX = 1000
/** Shorter than a test's own deadline, so that no processor outlives a failed test. */
const START_MAX_MS = limitMs(40_000)
const ROOT = join(import.meta.dirname, '..', '..')

/** Publishes the built-in SmartModules and starts the processor. */
export async function startBenchProcessor(options: BenchProcessorOptions): Promise<BenchProcessor> {
  const { kafka, prefix } = options
  const names = serviceNames(prefix)
  const admin = kafka.admin()
  const producer = kafka.producer()
  await Promise.all([admin.connect(), producer.connect()])
  await ensureServiceTopics(admin, names, options.replicationFactor ?? 1)
  await admin.disconnect()
  const send = async (key: string, value: Buffer | string) =>
    void (await producer.send({ topic: names.definitions, messages: [{ key, value }], acks: -1 }))
  const sha256Of = new Map<string, string>()
  async function addSmartModule(name: string, binary: Uint8Array): Promise<void> {
    const sha256 = createHash('sha256').update(binary).digest('hex')
    sha256Of.set(name, sha256)
    await send(definitionKeys.smartModule(sha256), Buffer.from(binary))
  }
  for (const { name, binary } of await builtInSmartModules(options.cache)) await addSmartModule(name, binary)
  const child = spawn(process.execPath, ['--no-warnings', ...(options.flags ?? []), join(ROOT, 'services', 'processor', 'main.ts')], {
    env: {
      ...process.env,
      KAFKA_BROKERS: options.brokers.join(','),
      DPS_PREFIX: prefix,
      DPS_CACHE: options.cache,
      NODE_COMPILE_CACHE: join(options.cache, 'node'),
      LOG_LEVEL: process.env.BENCH_LOG ?? 'error',
      ...options.env,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const listeners: ((line: string) => void)[] = []
  /** Lines from before the first listener. */
  const early: string[] = []
  for (const readable of [child.stdout!, child.stderr!]) {
    let rest = ''
    readable.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n')
      rest = lines.pop()!
      if (listeners.length === 0 && process.env.BENCH_LOG) process.stdout.write(text)
      if (listeners.length === 0) early.push(...lines.slice(0, EARLY_LINES_MAX - early.length))
      for (const line of lines) listeners.forEach((listener) => listener(line))
    })
  }
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      reject(new Error(`the processor was not up within ${START_MAX_MS / 1000} s`))
    }, START_MAX_MS)
    child.once('message', () => {
      clearTimeout(timer)
      resolve()
    })
    child.once('exit', (code) => {
      clearTimeout(timer)
      reject(new Error(`the processor stopped with code ${code}`))
    })
  })
  return {
    pid: child.pid!,
    onLine(listener) {
      early.splice(0).forEach(listener)
      listeners.push(listener)
    },
    definition: (id, steps, topics) => ({
      pipeline_id: id,
      account_id: 'acc_bench',
      name: id,
      revision: 1,
      attempt: 1,
      desired: 'running',
      tasks: 1,
      source: { kind: 'topic', topic: topics.source, partitions: options.partitions },
      sink: {
        kind: 'topic',
        topic: topics.sink,
        schema_id: SCHEMA_ID,
        bytes_max: 1_048_588,
        compression: 'none',
        is_compacted: false,
        on_error: ON_ERROR_DEFAULT,
      },
      dead_letter_topic: topics.deadLetters,
      dead_letter_bytes_max: 1_048_588,
      group_id: names.runGroup(id),
      failure_threshold: 0.5,
      on_lost_position: 'fail',
      reset_revision: 0,
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
    }),
    addSmartModule,
    publish: (definition, desired) => send(definitionKeys.pipeline(definition.pipeline_id), JSON.stringify({ ...definition, desired })),
    async close() {
      await producer.disconnect()
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      await gone
    },
  }
}
