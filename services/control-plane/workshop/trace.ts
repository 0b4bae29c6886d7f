/**
 * Runs records through a chain step by step and captures each step's input and output, for explain and preview. Runs in a workshop, a
 * chain of one step at a time over one record at a time; nothing is written anywhere.
 */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { decodeRecords, encodeRecords, type KafkaRecord } from '../../../shared/kafka/protocol/record-batch.ts'
import type { OnError } from '../../../shared/model/definition.ts'
import { COUNTER_COUNT } from '../../../shared/model/counters.ts'
import { cutText, FAILURE_CHARACTERS_MAX } from '../../../shared/model/text.ts'
import { openChain, type Chain } from '../../../shared/smartmodule/host/chain.ts'
import { NO_TELEMETRY, type ChainOutput } from '../../../shared/smartmodule/host/spec.ts'
import { callWatchOver } from '../../../shared/smartmodule/host/call-watch.ts'
import { openKernel, type Kernel } from '../../../shared/smartmodule/host/kernel.ts'
import { RecordRefused } from '../../../shared/smartmodule/host/failure-policies.ts'
import { SmartModuleTrap } from '../../../shared/smartmodule/abi.ts'
import type { Job, Progress, TracedRecord, TraceInput } from './jobs.ts'
import type { SendRequest } from '../../../shared/model/plug-in-http.ts'
import { isSameRecord } from './same-record.ts'

const LARGEST = 64 << 20

/** `moduleAt`: the module of a step's `binary`. `send`: sends the requests of plug-ins. */
type TraceJob = Pick<Extract<Job, { kind: 'trace' }>, 'steps' | 'sink' | 'records'> & {
  moduleAt: (index: number) => Promise<WebAssembly.Module>
  send: SendRequest | undefined
}

/** Traces each input record, in order, and reports as it goes. Throws SmartModuleTrap when a step does not start. */
export async function traceRecords(
  kernelModule: WebAssembly.Module,
  { steps, moduleAt, sink, records: inputs, send }: TraceJob,
  onProgress: (progress: Progress) => Promise<void>,
): Promise<void> {
  const kernel = await openKernel(kernelModule)
  const watch = callWatchOver()
  const chains: Chain[] = []
  const logs = createLogs()
  for (const [index, step] of steps.entries()) {
    const needs_keys = sink.needsKeys && index === steps.length - 1
    const { binary, kind, extismFunction, document } = step
    const module = await moduleAt(binary)
    // Each chain has a single step, which is its step 0.
    chains.push(
      await openChain(
        { steps: [{ module, kind, extismFunction, document: { ...document, step: 0 }, onError: ALWAYS_SAY }], needs_keys, send },
        kernel,
        watch,
        { log: (_step, _level, line) => logs.add(line), measure: (_step, kind, name, value) => logs.add(`${kind} ${name} ${value}`) },
      ),
    )
  }
  if (steps.length === 0) {
    const bare = { steps: [], reframe_schema_id: sink.schemaId, needs_keys: sink.needsKeys, on_error: ALWAYS_SAY }
    chains.push(await openChain(bare, kernel, watch, NO_TELEMETRY))
  }
  const refusalOf = sink.codec && (await refusalsOf(sink.codec))
  const fitting = createRoom()
  for (const input of inputs) {
    let current: TracedRecord[] = [input]
    let hasFailed = false
    for (const chain of chains) {
      const entering = fitting(current.map(plain))
      // Sent before the step runs: a step that never returns keeps the process from sending anything more.
      await onProgress({ entering: entering.records })
      logs.take()
      const from = process.hrtime.bigint()
      const recordBytesMax = chain === chains.at(-1) ? (sink.bytesMax ?? LARGEST) : LARGEST
      const { out, error } = await runStep(kernel, chain, input, current, recordBytesMax)
      const nanoseconds = Number(process.hrtime.bigint() - from)
      const leaving = fitting(out)
      await onProgress({
        step: {
          in: entering.records,
          out: leaving.records,
          outCount: out.length,
          isSame: out.length === current.length && out.every((record, at) => isSameRecord(record, current[at]!, bare)),
          isCut: entering.isCut || leaving.isCut,
          logs: logs.take(),
          nanoseconds,
          memoryBytes: chain.memoryBytes(0),
          ...(error ? { error } : {}),
        },
      })
      hasFailed = error !== undefined
      current = out
      if (hasFailed || current.length === 0) break
    }
    const outputs = hasFailed ? [] : current.map(plain)
    const refused = refusalOf?.(outputs)
    await onProgress({ outputs: { ...fitting(outputs), count: outputs.length, ...(refused ? { refused } : {}) } })
  }
  for (const chain of chains) chain.close()
}

/** Bytes of records that one job reports: what an answer shows, once as it enters a step and once as it leaves the one before. */
const ROOM_BYTES = 40 << 20
/** What a record, and each of its headers, takes besides its bytes: about what they take in the control plane's memory. */
const RECORD_BYTES = 500
const HEADER_BYTES = 250

/** Keeps the records that fit into the job's room; the first ones of a list go first. */
function createRoom() {
  let left = ROOM_BYTES
  return (records: TracedRecord[]): { records: TracedRecord[]; isCut: boolean } => {
    const kept: TracedRecord[] = []
    for (const record of records) {
      if (left <= 0) break
      const { key, value, headers } = record
      left -= headers.reduce(
        (sum, [name, bytes]) => sum + HEADER_BYTES + name.length + (bytes?.length ?? 0),
        RECORD_BYTES + (key?.length ?? 0) + (value?.length ?? 0),
      )
      kept.push(record)
    }
    return { records: kept, isCut: kept.length < records.length }
  }
}

const LOG_LINES_MAX = 50
const LOG_CHARACTERS_MAX = 500
/** Of all records together. */
const LOG_ROOM = 1 << 20

/** What SmartModules log, up to so many lines of a step and so many characters of a line. */
function createLogs() {
  let lines: string[] = []
  let left = LOG_ROOM
  return {
    add(line: string): void {
      if (lines.length >= LOG_LINES_MAX || left <= 0) return
      const shown = line.length <= LOG_CHARACTERS_MAX ? line : `${line.slice(0, LOG_CHARACTERS_MAX)}…`
      left -= shown.length
      lines.push(shown)
    },
    /** The lines since the last call. */
    take(): string[] {
      const taken = lines
      lines = []
      return taken
    },
  }
}

/** Steps add and remove the framing prefix, so values are compared without it. */
const bare = (value: Uint8Array | null) => (value && value.length >= 5 && value[0] === 0 ? value.subarray(5) : value)

/** A policy only decides what happens after a failure; a trace shows every failure. */
const ALWAYS_SAY: OnError = { policy: 'dead_letter', retries_max: 0, backoff_ms: 0 }

/** Finds the first value of a record's outputs that the sink's format can't hold; the whole record fails by it. */
async function refusalsOf({ format, schema }: NonNullable<TraceJob['sink']['codec']>) {
  // Only few sinks need it.
  const { openCodec, textOfValue } = await import('../../../shared/codecs/codecs.ts')
  const codec = openCodec(format, schema)
  return (outputs: readonly TracedRecord[]): StepRun['error'] => {
    try {
      for (const { value } of outputs) if (value) codec.fromJson(textOfValue(bare(value)!))
    } catch (error) {
      return { code: `not_${format}`, message: cutText(reasonOf(error), FAILURE_CHARACTERS_MAX) }
    }
    return undefined
  }
}

type StepRun = { out: TracedRecord[]; error?: { code: string; message: string } }

async function runStep(
  kernel: Kernel,
  chain: Chain,
  source: TraceInput,
  records: TracedRecord[],
  recordBytesMax: number,
): Promise<StepRun> {
  const base = source.timestamp
  const section = encodeRecords(
    records.map(({ timestamp, key, value, headers }) => ({
      // In a pipeline all that was made of a record has its offset.
      offsetDelta: 0,
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
        lastOffsetDelta: 0,
        firstDelta: 0,
        baseOffset: source.offset,
        baseTimestamp: base,
        maxTimestamp: base,
        attributes: 0,
        partition: source.partition,
        sinkPartition: 0,
        isDerived: true,
      },
      { batchBytesMax: LARGEST, recordBytesMax, seal: take },
      output,
    )
  } catch (error) {
    if (!(error instanceof SmartModuleTrap) && !(error instanceof RecordRefused)) throw error
    return { out: [], error: { code: 'module_trapped', message: error.message } }
  }
  if (kernel.builtRecords() > 0) take()
  const [failure] = output.failures
  return {
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
