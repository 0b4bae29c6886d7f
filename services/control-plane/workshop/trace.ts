/**
 * Runs records through a chain step by step and captures each step's input and output, for explain and preview. Runs in a workshop, a
 * chain of one step at a time over one record at a time; nothing is written anywhere.
 */
import { decodeRecords, encodeRecords, type KafkaRecord } from '../../../shared/kafka/protocol/record-batch.ts'
import type { OnError } from '../../../shared/model/definition.ts'
import { COUNTER_COUNT } from '../../../shared/model/counters.ts'
import { openChain, type Chain } from '../../../shared/smartmodule/host/chain.ts'
import type { ChainOutput } from '../../../shared/smartmodule/host/spec.ts'
import { callWatchOver } from '../../../shared/smartmodule/host/call-watch.ts'
import { openKernel, type Kernel } from '../../../shared/smartmodule/host/kernel.ts'
import { RecordRefused } from '../../../shared/smartmodule/host/verdicts.ts'
import { SmartModuleTrap } from '../../../shared/smartmodule/abi.ts'
import type { JobStep, Progress, Traced, TracedRecord, TracedStep, TraceInput } from './jobs.ts'

const LARGEST = 64 << 20

/** The trace of each input record, in order. Throws SmartModuleTrap when a step does not start. */
export async function traceRecords(
  kernelModule: WebAssembly.Module,
  steps: JobStep[],
  sinkSchemaId: number,
  inputs: TraceInput[],
  onProgress: (progress: Progress) => void,
): Promise<Traced[]> {
  const kernel = await openKernel(kernelModule)
  const watch = callWatchOver()
  const chains: Chain[] = []
  for (const step of steps) {
    const { binary, kind, extismFunction, document } = step
    const module = await WebAssembly.compile(new Uint8Array(binary))
    // Each chain has a single step, which is its step 0.
    chains.push(
      await openChain(
        { steps: [{ module, kind, extismFunction, document: { ...document, step: 0 }, onError: ALWAYS_SAY }] },
        kernel,
        watch,
        () => {},
      ),
    )
  }
  if (steps.length === 0)
    chains.push(await openChain({ steps: [], reframe_schema_id: sinkSchemaId, on_error: ALWAYS_SAY }, kernel, watch, () => {}))
  const traced: Traced[] = []
  for (const input of inputs) {
    const done: TracedStep[] = []
    let current: TracedRecord[] = [input]
    for (const chain of chains) {
      onProgress({ before: done, entering: current.map(plain) })
      const step = await runStep(kernel, chain, input, current)
      done.push(step)
      current = step.out
      if (step.error || current.length === 0) break
    }
    const failed = done.at(-1)?.error !== undefined
    const whole = { steps: done, outputs: failed ? [] : current }
    traced.push(whole)
    onProgress({ traced: whole })
  }
  return traced
}

/** A policy only decides what happens after a failure; a trace shows every failure. */
const ALWAYS_SAY: OnError = { policy: 'dead_letter', retries_max: 0, backoff_ms: 0 }

async function runStep(kernel: Kernel, chain: Chain, source: TraceInput, records: TracedRecord[]): Promise<TracedStep> {
  const base = source.timestamp
  const section = encodeRecords(
    records.map(({ timestamp, key, value, headers }, offsetDelta) => ({
      offsetDelta,
      timestampDelta: timestamp - base,
      key: key && Buffer.from(key),
      value: value && Buffer.from(value),
      headers: headers.map(([name, bytes]) => [name, bytes && Buffer.from(bytes)]),
    })),
  )
  const output: ChainOutput = {
    counts: new Float64Array(Math.max(1, chain.stepCount) * COUNTER_COUNT),
    failures: [],
    retries: [],
    lost: [0],
    lostMax: [1000],
  }
  const out: TracedRecord[] = []
  const take = () => {
    const from = kernel.builtAt() + 61
    const bytes = Buffer.from(kernel.memory.buffer.slice(from, from + kernel.builtBytes() - 61))
    const builtBase = kernel.builtBaseTimestamp()
    for (const record of decodeRecords(bytes, kernel.builtRecords())) out.push(shown(record, builtBase))
  }
  kernel.select(0)
  kernel.begin(base)
  try {
    await chain.run(
      {
        section,
        recordCount: records.length,
        lastOffsetDelta: records.length - 1,
        firstDelta: 0,
        baseOffset: source.offset,
        baseTimestamp: base,
        maxTimestamp: base,
        attributes: 0,
        partition: source.partition,
        sinkPartition: 0,
      },
      { batchBytesMax: LARGEST, recordBytesMax: LARGEST, seal: take },
      output,
    )
  } catch (error) {
    if (!(error instanceof SmartModuleTrap) && !(error instanceof RecordRefused)) throw error
    return { in: records.map(plain), out: [], error: { code: 'module_trapped', message: error.message } }
  }
  if (kernel.builtRecords() > 0) take()
  const [failure] = output.failures
  return {
    in: records.map(plain),
    out: failure ? [] : out,
    ...(failure ? { error: { code: failure.code, message: failure.message } } : {}),
  }
}

const plain = ({ timestamp, key, value, headers }: TracedRecord): TracedRecord => ({ timestamp, key, value, headers })

function shown({ timestampDelta, key, value, headers }: KafkaRecord, base: bigint): TracedRecord {
  return {
    timestamp: base + timestampDelta,
    key: key && new Uint8Array(key),
    value: value && new Uint8Array(value),
    headers: headers.map(([name, bytes]) => [name, bytes && new Uint8Array(bytes)]),
  }
}
