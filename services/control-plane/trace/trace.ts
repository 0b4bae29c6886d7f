/** Runs records through a revision in a workshop and describes what each step did. */
import type { Trace } from '../../../shared/api/observability.ts'
import { ServiceError } from '../service-error.ts'
import type { KafkaRecord } from '../../../shared/kafka/protocol/record-batch.ts'
import type { PipelineDefinition, SourceCodec, TopicSink } from '../../../shared/model/definition.ts'
import { frameIdOf, outputPrefixOf, type Framing } from '../../../shared/model/framing.ts'
import { initDocumentOf, SMARTMODULE_LIMITS } from '../../../shared/smartmodule/abi.ts'
import { openValueDecoder } from '../../../shared/codecs/codecs.ts'
import { isOfCanary } from '../../../shared/smartmodule/canary-share.ts'
import { kernelBinary } from '../../../shared/smartmodule/host/kernel-binary.ts'
import type { JobStep, Progress, Traced, TracedRecord, TracedStep, TraceSink } from '../workshop/jobs.ts'
import type { Deps } from '../deps.ts'
import { binariesOf, type Binaries } from '../definitions/chain-binaries.ts'
import { shownBytes, type ShownBytes } from '../shown/bytes.ts'
import { showHeader, showKey, showValue, type Decode } from '../shown/records.ts'

export type SourceRecord = { partition: number; offset: bigint; timestamp: bigint; record: KafkaRecord }
export type Chain = Pick<PipelineDefinition, 'account_id' | 'pipeline_id' | 'steps'> & {
  source: { kind: PipelineDefinition['source']['kind']; codec?: SourceCodec | undefined }
  sink: Framing & Partial<Pick<TopicSink, 'bytes_max' | 'is_compacted' | 'on_error'>>
}
/** Where a chain is run without a pipeline: JSON in, JSON out. */
export const JSON_ENDS = { source: { kind: 'topic' }, sink: { kind: 'topic', schema_id: 0 } } as const

/** The largest time value of a Date (ECMA-262 §21.4.1.1). */
const TIME_MAX_MS = 8.64e15
/** The time limit for all records together. */
const DEADLINES = { cpuMs: 6000, wallMs: 15_000 }
/** The least limit of one call: the first call of an instance also compiles what it runs, which a later one in a pipeline does not. */
const CALL_MS_MIN = 1000

function jobSteps(chain: Chain, indexOf: (sha256: string) => number): JobStep[] {
  const { pipeline_id, steps } = chain
  return steps.map(({ sha256, kind, extism_function, config, input_format, output_format, allowed_hosts }, index) => ({
    binary: indexOf(sha256),
    kind,
    ...(extism_function ? { extismFunction: extism_function } : {}),
    parameters: undefined,
    document: initDocumentOf(
      { config, input_format, output_format, allowed_hosts },
      {
        pipeline: pipeline_id,
        step: index,
        isFirst: index === 0,
        output_prefix: index === steps.length - 1 ? outputPrefixOf(chain.sink) : '',
      },
    ),
  }))
}

/** What the sink takes, as far as it is known without asking it. */
const sinkOf = ({ sink }: Chain): TraceSink => ({
  schemaId: frameIdOf(sink),
  bytesMax: sink.bytes_max,
  needsKeys: sink.is_compacted,
  codec: sink.kind === 'topic' ? sink.codec : undefined,
})

/** The record with its value as the chain sees it: values of non-JSON streams are decoded to JSON. */
function asJson(source: SourceRecord, decode: Decode | undefined): SourceRecord {
  const { value } = source.record
  if (!decode || !value) return source
  try {
    return { ...source, record: { ...source.record, value: decode(value) } }
  } catch {
    return source
  }
}

/** The step (from 0) whose canary has the record's key, as long as no task has taken it off; -1 if there is none. */
export const canaryStepOf = ({ steps }: Pick<Chain, 'steps'>, { offset, record }: SourceRecord): number =>
  steps.findIndex(({ canary }) => canary && isOfCanary(record.key, offset, canary.share))

/** The chain with the versions that handle this record: a canary's, where it has the record's key. */
export function versionsFor<T extends Chain>(chain: T, source: SourceRecord): T {
  const at = canaryStepOf(chain, source)
  return { ...chain, steps: chain.steps.map((step, index) => (index === at ? { ...step, ...step.canary } : step)) }
}

/** Throws ServiceError `conflict` when the chain does not start. Of a chain that does not return, the records before are shown. */
export async function traceThrough(deps: TraceDeps, chain: Chain, found: SourceRecord[], unstored: Binaries = new Map()): Promise<Trace[]> {
  const { records, traced, hanging } = await runTrace(deps, chain, found, unstored)
  const room = shownBytes()
  return [...traced, ...(hanging ? [hanging] : [])].map((each, index) => describe(chain, records[index]!, each, room))
}

/** For an answer: how many of the last records have no trace, where some have none. */
export const notRun = (records: readonly SourceRecord[], traces: readonly Trace[]): { not_run?: number } =>
  traces.length < records.length ? { not_run: records.length - traces.length } : {}

/** How long one call of the step may take here: as in the pipeline, but for short limits. */
const callMsOf = (step: Chain['steps'][number] | undefined): number =>
  step ? Math.max(step.timeout_ms ?? SMARTMODULE_LIMITS.call_timeout_ms, CALL_MS_MIN) : DEADLINES.cpuMs

export type TraceDeps = Pick<Deps, 'db' | 'cacheFolder' | 'workshop' | 'connectorDefaults'> & {
  /** How long a run may wait for a busy machine; as long as a client waits where it is not given. */
  traceWallMs?: number
}
/**
 * `records` as the chain saw them; `traced`: what it did with the first ones; `hanging`: the record after these, if a step did not return.
 */
export type RunTrace = { records: SourceRecord[]; traced: Traced[]; hanging: Traced | undefined }

/** Throws ServiceError `conflict` when the chain does not start. */
export async function runTrace(
  { db, cacheFolder, workshop, connectorDefaults, traceWallMs }: TraceDeps,
  chain: Chain,
  found: SourceRecord[],
  unstored: Binaries = new Map(),
): Promise<RunTrace> {
  const { codec } = chain.source
  const decode = codec && openValueDecoder(codec)
  const records = found.map((record) => asJson(record, decode))
  const trace = createTrace()
  const { binaries, indexOf } = binariesOf(
    db,
    chain.steps.map(({ sha256 }) => sha256),
    unstored,
  )
  const answer = await workshop.run(
    chain.account_id,
    {
      kind: 'trace',
      kernel: await kernelBinary(cacheFolder),
      binaries,
      steps: jobSteps(chain, indexOf),
      addresses: connectorDefaults.addresses,
      sink: sinkOf(chain),
      records: records.map(({ partition, offset, timestamp, record: { key, value, headers } }) => ({
        partition,
        offset,
        timestamp,
        key: key && new Uint8Array(key),
        value: value && new Uint8Array(value),
        headers: headers.map(([name, bytes]) => [name, bytes && new Uint8Array(bytes)]),
      })),
    },
    {
      cpuMs: DEADLINES.cpuMs,
      wallMs: traceWallMs ?? DEADLINES.wallMs,
      quietCpuMs: () => callMsOf(chain.steps[trace.at()]),
      // A client learns more from the step that was at work than from being told to try again.
      ...(traceWallMs === undefined ? { lateCpuMs: CALL_MS_MIN } : {}),
      isWaiting: chain.steps.some(({ allowed_hosts }) => allowed_hosts),
    },
    trace.onProgress,
  )
  const hanging = 'traced' in answer ? undefined : trace.hanging()
  if (!('traced' in answer) && !hanging)
    throw new ServiceError('conflict', `the chain could not be run: ${'refused' in answer ? answer.refused : 'no answer'}`)
  return { records, traced: trace.whole(), hanging }
}

// Producers may write any 64-bit number as a timestamp.
const showTime = (timestamp: bigint) => new Date(Math.min(Math.max(Number(timestamp), -TIME_MAX_MS), TIME_MAX_MS)).toISOString()

/** A record as responses show it; `decode` makes JSON of values that are in another format. */
export const showRecord = ({ timestamp, key, value, headers }: TracedRecord, room: ShownBytes, decode?: Decode) => ({
  timestamp: showTime(timestamp),
  key: showKey(key && Buffer.from(key), room),
  value: showValue(value && Buffer.from(value), room, decode),
  headers: headers.map(([name, bytes]) => showHeader([name, bytes && Buffer.from(bytes)], room)),
})

/** A record and its place as responses show them. */
export const showPlaced = ({ partition, offset, timestamp, record }: SourceRecord, room: ShownBytes, decode?: Decode) => ({
  partition,
  offset: Number(offset),
  record: showRecord({ ...record, timestamp }, room, decode),
})

/** Puts a trace together from its progress. */
function createTrace() {
  const traced: Traced[] = []
  let steps: TracedStep[] = []
  let entering: TracedRecord[] | undefined
  return {
    onProgress(progress: Progress): void {
      if ('entering' in progress) ({ entering } = progress)
      else if ('step' in progress) {
        steps.push(progress.step)
        entering = undefined
      } else if ('outputs' in progress) {
        traced.push({ steps, outputs: progress.outputs })
        steps = []
      }
    },
    whole: () => traced,
    /** The index of the step that is under way; -1 while none is. */
    at: () => (entering ? steps.length : -1),
    /** The record at whose step the job ended; undefined when no step was under way. */
    hanging(): Traced | undefined {
      if (!entering) return undefined
      const error = { code: 'module_timeout', message: 'did not return in time' }
      const hanging: TracedStep = {
        in: entering,
        out: [],
        outCount: 0,
        isSame: false,
        isCut: false,
        logs: [],
        nanoseconds: 0,
        memoryBytes: 0,
        error,
      }
      return { steps: [...steps, hanging], outputs: { records: [], count: 0, isCut: false } }
    },
  }
}

/** What a record takes in a response besides its bytes. */
const RECORD_BYTES = 100

/** The records as they are shown, as far as there is room: a step may make any number of them, and even an empty one takes some. */
function listed(records: readonly TracedRecord[], room: ShownBytes): { shown: ReturnType<typeof showRecord>[]; isCut: boolean } {
  const shown: ReturnType<typeof showRecord>[] = []
  for (const record of records) {
    if (room.left <= 0) return { shown, isCut: true }
    room.left -= RECORD_BYTES
    shown.push(showRecord(record, room))
  }
  return { shown, isCut: false }
}

/** What a step did, as far as there is room; `truncated` where records are left out. `index` counts from 0. */
export function showStep(step: Chain['steps'][number], index: number, ran: TracedStep, room: ShownBytes) {
  const { shown: into, isCut } = listed(ran.in, room)
  const { shown: out, isCut: isOutCut } = listed(ran.out, room)
  room.left -= ran.logs.reduce((sum, line) => sum + line.length, 0)
  const { outcome, reason } = outcomeOf(step.name, ran)
  return {
    step: index + 1,
    module: step.name,
    version: step.version,
    config: step.config,
    outcome,
    reason,
    in: into,
    out,
    error: ran.error ?? null,
    logs: ran.logs,
    nanoseconds: ran.nanoseconds,
    memory_bytes: ran.memoryBytes,
    ...(isCut || isOutCut || ran.isCut ? { truncated: true as const } : {}),
  }
}

function outcomeOf(name: string, { error, outCount, isSame }: TracedStep): Pick<Trace['steps'][number], 'outcome' | 'reason'> {
  if (error) return { outcome: 'failed', reason: `${name} failed the record (${error.code}): ${error.message}` }
  if (outCount === 0) return { outcome: 'filtered', reason: `${name} dropped the record: with this config it returned nothing for it` }
  if (isSame) return { outcome: 'passed', reason: `${name} passed the record on unchanged` }
  return { outcome: 'changed', reason: `${name} turned it into ${outCount === 1 ? 'a changed record' : `${outCount} records`}` }
}

const NOT_REACHED = {
  outcome: 'not_reached' as const,
  reason: 'the record did not reach this step',
  in: [],
  out: [],
  error: null,
  logs: [],
  nanoseconds: 0,
  memory_bytes: 0,
}

/** A record's trace as it is shown, as far as there is room. */
export function describe(chain: Pick<Chain, 'steps' | 'sink'>, source: SourceRecord, traced: Traced, room: ShownBytes): Trace {
  const input = showRecord({ ...source.record, timestamp: source.timestamp }, room)
  const { shown: outputs, isCut: isOutputCut } = listed(traced.outputs.records, room)
  let isCut = isOutputCut || traced.outputs.isCut
  const steps = chain.steps.map((step, index): Trace['steps'][number] => {
    const ran = traced.steps[index]
    if (!ran) return { step: index + 1, module: step.name, version: step.version, config: step.config, ...NOT_REACHED }
    const { truncated = false, ...shown } = showStep(step, index, ran, room)
    isCut ||= truncated
    return shown
  })
  const last = steps.findLast(({ outcome }) => outcome !== 'not_reached')
  const failedAt = traced.steps.findIndex(({ error }) => error !== undefined)
  const { refused, count } = traced.outputs
  // Without steps, what fails is the sink's refusal too.
  const { on_error } = chain.steps[failedAt] ?? chain.sink
  const isThrough = failedAt < 0 && !refused
  const outcome = isThrough ? (count === 0 ? 'filtered' : 'delivered') : OUTCOMES[on_error?.policy ?? 'dead_letter']
  const withoutSteps = traced.steps[0]?.error?.message ?? 'without steps, records go to the sink unchanged'
  const reason = refused ? refusal(refused.code, refused.message) : (last?.reason ?? withoutSteps)
  return {
    partition: source.partition,
    offset: Number(source.offset),
    outcome,
    reason,
    input,
    outputs,
    steps,
    ...(isCut ? { truncated: true as const } : {}),
  }
}

/** How a trace says that the sink does not take the record. */
export const refusal = (code: string, message: string): string => `the sink refused the record (${code}): ${message}`

const OUTCOMES = { dead_letter: 'dead_letter', retry: 'dead_letter', skip: 'skipped', fail: 'failed' } as const
