/** Runs a chain of built-in SmartModules over values in this process, as a lane does over batches. */
import { join } from 'node:path'
import { cacheFolder } from '../../deploy/local/cache.ts'
import {
  BATCH_HEADER_BYTES,
  decodeRecords,
  encodeRecords,
  readBatchHeader,
  type KafkaRecord,
} from '../../shared/kafka/protocol/record-batch.ts'
import { compileCached } from '../../shared/smartmodule/compile-cache.ts'
import { COUNTERS, COUNTER_COUNT } from '../../shared/model/counters.ts'
import { callWatchOver } from '../../shared/smartmodule/host/call-watch.ts'
import { openChain } from '../../shared/smartmodule/host/chain.ts'
import {
  NO_TELEMETRY,
  type ChainOutput,
  type KnownFailures,
  type RecordFailure,
  type StepSpec,
} from '../../shared/smartmodule/host/spec.ts'
import { openKernel } from '../../shared/smartmodule/host/kernel.ts'
import { kernelBinary } from '../../shared/smartmodule/host/kernel-binary.ts'
import type { SendRequest } from '../../shared/model/plug-in-http.ts'
import type { LaneChain } from '../../services/processor/lane/messages.ts'
import type { Step } from './pipelines.ts'

const CATALOGUE = join(import.meta.dirname, '..', '..', 'shared', 'smartmodule', 'catalogue')

/** A chain without steps, in the form that a lane receives. */
export const BARE_CHAIN: LaneChain = {
  accountId: 'acc_test',
  runId: 'pl_test',
  pipelineId: 'pl_test',
  task: 0,
  revision: 1,
  sourceTopic: 't',
  steps: [],
  reframeSchemaId: 1,
  sinkBatchBytesMax: 1 << 20,
  sinkRecordBytesMax: 8 << 20,
  deadLetterBytesMax: 8 << 20,
  compression: 'none',
}

export type ChainResult = {
  values: (string | null)[]
  records: KafkaRecord[]
  failures: RecordFailure[]
  retries: bigint[]
  lost: number[]
  counters: Record<(typeof COUNTERS)[number], number>[]
}
export type TestChain = {
  run(
    values: (string | Buffer | null)[],
    hints?: KnownFailures,
    keyAt?: (index: number) => Buffer | null,
    headerAt?: (index: number) => Buffer,
  ): Promise<ChainResult>
  /** What a step's instance takes; steps count from 0. */
  memoryBytes(step: number): number
  close(): void
  /** Nanoseconds per record that the chain alone takes, over all the values `turns` times. Throws when a record fails. */
  measure(values: string[], turns: number): Promise<number>
}

/** A step, and another module for a share of its keys. */
export type TestStep = Step & {
  /** In place of the chain's. */
  kind?: StepSpec['kind']
  canary?: { name: string; share: number; maxFailing: number }
}

/** How all modules of a chain run. */
export type ModuleKind = Pick<StepSpec, 'kind' | 'extismFunction'> & { allowedHosts?: readonly string[]; send?: SendRequest }

const oneOfThree = (index: number): Buffer | null => Buffer.from(`k${index % 3}`)
const ofOneByte = (index: number): Buffer => Buffer.from([index & 255])

/** A records section as it comes from a topic, a header at each record. */
const sectionOf = (values: (string | Buffer | null)[], keyAt = oneOfThree, headerAt = ofOneByte): Buffer =>
  encodeRecords(
    values.map((value, index) => ({
      offsetDelta: index,
      timestampDelta: BigInt(index),
      key: keyAt(index),
      value: value === null ? null : Buffer.from(value),
      headers: [['h', headerAt(index)]],
    })),
  )

/** `modules` adds compiled modules by name to the built-ins. A record that makes more than `batchBytesMax` fails, as in a topic. */
export async function openTestChain(
  steps: TestStep[],
  modules: Record<string, WebAssembly.Module> = {},
  batchBytesMax = 1_000_000,
  { allowedHosts, send, ...how }: ModuleKind = { kind: 'batch' },
): Promise<TestChain> {
  const kernel = await openKernel(await WebAssembly.compile(await kernelBinary(cacheFolder())))
  const moduleOf = async (name: string) =>
    modules[name] ??
    (await WebAssembly.compile(await compileCached(join(CATALOGUE, name.replace('dps/', ''), 'module.ts'), 'smartmodule', cacheFolder())))
  const specs = await Promise.all(
    steps.map(async ({ name, config, canary, kind }, step): Promise<StepSpec> => {
      const spec = {
        module: await moduleOf(name),
        ...how,
        ...(kind ? { kind } : {}),
        document: {
          config,
          input_format: 'json',
          output_format: 'json',
          input_prefix_length: 0,
          output_prefix: '',
          pipeline: 'pl_test',
          step,
          partition: 0,
          ...(allowedHosts ? { allowed_hosts: [...allowedHosts] } : {}),
        },
      }
      if (!canary) return spec
      return { ...spec, canary: { ...spec, module: await moduleOf(canary.name), share: canary.share, maxFailing: canary.maxFailing } }
    }),
  )
  const chain = await openChain({ steps: specs, ...(send ? { send } : {}) }, kernel, callWatchOver(), NO_TELEMETRY)
  const runSection = (section: Buffer, recordCount: number, seal: () => void, output: ChainOutput, hints?: KnownFailures) =>
    chain.run(
      {
        section,
        recordCount,
        lastOffsetDelta: recordCount - 1,
        firstDelta: 0,
        baseOffset: 0n,
        baseTimestamp: 1000n,
        maxTimestamp: 1000n,
        attributes: 0,
        partition: 0,
        sinkPartition: 0,
      },
      { batchBytesMax, recordBytesMax: batchBytesMax, seal },
      output,
      hints,
    )
  return {
    memoryBytes: (step) => chain.memoryBytes(step),
    close: () => chain.close(),
    async measure(values, turns) {
      const section = sectionOf(values)
      const counts = new Float64Array(Math.max(1, steps.length) * COUNTER_COUNT)
      const lost = steps.map(() => 0)
      const output: ChainOutput = { counts, failures: [], retries: [], lost, lostMax: steps.map(() => 1000) }
      const from = process.hrtime.bigint()
      for (let turn = 0; turn < turns; turn++) {
        kernel.begin(1000n)
        await runSection(section, values.length, () => {}, output)
      }
      const nanoseconds = Number(process.hrtime.bigint() - from)
      if (output.failures.length > 0) throw new Error(output.failures[0]!.message)
      return nanoseconds / (values.length * turns)
    },
    async run(values, hints, keyAt, headerAt) {
      const section = sectionOf(values, keyAt, headerAt)
      const counts = new Float64Array(Math.max(1, steps.length) * COUNTER_COUNT)
      const failures: RecordFailure[] = []
      const lost = steps.map(() => 0)
      const output: ChainOutput = { counts, failures, retries: [], lost, lostMax: steps.map(() => 1000) }
      const batches: Buffer[] = []
      const take = () => {
        const from = kernel.builtAt()
        const batch = Buffer.from(kernel.memory.buffer.slice(from, from + kernel.builtBytes()))
        batches.push(encodeHeaderless(batch, kernel.builtRecords()))
      }
      kernel.begin(1000n)
      await runSection(section, values.length, take, output, hints)
      if (kernel.builtRecords() > 0) take()
      const records = batches.flatMap((batch) => decodeRecords(batch.subarray(BATCH_HEADER_BYTES), readBatchHeader(batch, 0)!.recordCount))
      const counters = Array.from(
        { length: counts.length / COUNTER_COUNT },
        (_, step) =>
          Object.fromEntries(
            COUNTERS.map((name, index) => [name, counts[step * COUNTER_COUNT + index]!]),
          ) as ChainResult['counters'][number],
      )
      return {
        retries: output.retries,
        lost,
        values: records.map(({ value }) => value?.toString('utf8') ?? null),
        records,
        failures,
        counters,
      }
    },
  }
}

/** Fills just enough of the header for `readBatchHeader`. */
function encodeHeaderless(batch: Buffer, records: number): Buffer {
  batch.fill(0, 0, BATCH_HEADER_BYTES)
  batch.writeInt32BE(batch.length - 12, 8)
  batch.writeInt8(2, 16)
  batch.writeInt32BE(records - 1, 23)
  batch.writeInt32BE(records, 57)
  return batch
}
