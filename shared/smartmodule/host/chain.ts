/**
 * A chain: the SmartModules of one pipeline in their order, run over one source batch after the other, all bytes. Belongs here: what
 * happens between a source batch and the output batch it adds to (accounting, failures, bisecting). Not: where batches come from or go.
 * HOT: work per batch and per step; nothing is made per record unless it fails.
 */
import { SMARTMODULE_LIMITS, SmartModuleTrap, recordErrorName, type InitDocument } from '../abi.ts'
import type { ExtismFunction, SmartModuleKind } from '../../model/smartmodule-kind.ts'
import { openBatchInstance } from './batch-instance.ts'
import { openExtismInstance } from './extism-instance.ts'
import { fillSection, type Kernel } from './kernel.ts'
import type { StepInstance } from './step.ts'

export type StepSpec = { module: WebAssembly.Module; kind: SmartModuleKind; extismFunction?: ExtismFunction; document: InitDocument }

/** `reframe_schema_id`: for a chain without steps, the schema id its values carry afterwards. */
export type ChainSpec = { steps: StepSpec[]; reframe_schema_id?: number }

/** One source batch, inflated. `firstDelta` cuts off what lies before the position. */
export type SourceBatch = {
  section: Uint8Array
  recordCount: number
  lastOffsetDelta: number
  firstDelta: number
  baseOffset: bigint
  baseTimestamp: bigint
  maxTimestamp: bigint
  attributes: number
  partition: number
}

/** A source record that failed for good, and where. `step` counts from 0. */
export type RecordFailure = { delta: number; step: number; code: string; message: string }

/** Counters of one step, in the order of `COUNTERS`, all of distinct source records but the last. */
export const COUNTERS = ['in', 'out', 'filtered', 'skipped', 'failed', 'absorbed', 'emitted'] as const
export const COUNTER_COUNT = COUNTERS.length
const IN = 0
const OUT = 1
const FILTERED = 2
const FAILED = 4
const EMITTED = 6

/** Where finished output batches go: called when a batch is full; the kernel still holds it. */
export type BatchSink = {
  /** Batches are cut at this size. */ batchBytesMax: number
  /** What no batch may exceed, a record alone in it included. */ recordBytesMax: number
  seal(): void
}

/** Shared with the watchdog on the main thread: [grows, odd while inside a SmartModule; step; partition, -1 while starting; chain]. */
export type CallWatch = Int32Array

export type Chain = {
  stepCount: number
  /** Runs the batch through every step and appends what is left to the kernel's output batch. Counters are added to `counts`. */
  run(batch: SourceBatch, sink: BatchSink, counts: Float64Array, failures: RecordFailure[]): Promise<void>
}

/** The source's own bytes are damaged: nothing of ours or of an author's can be at fault. */
export class CorruptBatch extends Error {}

async function openStep(spec: StepSpec, watch: CallWatch, log: (line: string) => void): Promise<StepInstance> {
  watch[1] = spec.document.step
  watch[2] = -1
  Atomics.add(watch, 0, 1)
  try {
    return await openInstance(spec, log)
  } finally {
    Atomics.add(watch, 0, 1)
  }
}

function openInstance(spec: StepSpec, log: (line: string) => void): Promise<StepInstance> {
  return spec.kind === 'batch'
    ? openBatchInstance(spec.module, spec.document, log)
    : openExtismInstance(spec.module, spec.extismFunction ?? 'process', spec.document, log)
}

/** Opens an instance of every step. Throws SmartModuleTrap naming the step that does not start. */
export async function openChain(spec: ChainSpec, kernel: Kernel, watch: CallWatch, log: (line: string) => void): Promise<Chain> {
  const instances: StepInstance[] = []
  for (const step of spec.steps) instances.push(await openStep(step, watch, log))
  const stepCount = instances.length
  const local = new Float64Array(Math.max(1, stepCount) * COUNTER_COUNT)
  let failedNow = 0
  let pending: RecordFailure[] = []
  let currentStep = 0

  const context = {
    partition: 0,
    baseOffset: 0n,
    baseTimestamp: 0n,
    maxTimestamp: 0n,
    attributes: 0,
    alive(): void {
      Atomics.add(watch, 0, 2)
    },
    fail(delta: number, code: number, message: string): void {
      if (kernel.fail(delta) === 0) return
      failedNow++
      pending.push({ delta, step: currentStep, code: recordErrorName(code), message })
    },
  }

  function failNamed(ordinal: number, code: string, message: string): void {
    const delta = kernel.deltaOf(ordinal)
    if (kernel.fail(delta) === 0) return
    failedNow++
    pending.push({ delta, step: Math.max(0, stepCount - 1), code, message })
  }

  /** Opens the section in the kernel and runs the steps. The kernel holds the outcome; `local` and `pending` tell of it. */
  async function attempt(section: Uint8Array, count: number, batch: SourceBatch): Promise<void> {
    local.fill(0)
    pending = []
    fillSection(kernel, section)
    if (kernel.openBatch(section.length, count, batch.lastOffsetDelta, batch.firstDelta) < 0) {
      throw new CorruptBatch(`the batch at offset ${batch.baseOffset} of partition ${batch.partition} holds malformed records`)
    }
    for (let step = 0; step < stepCount; step++) {
      currentStep = step
      failedNow = 0
      const into = step * COUNTER_COUNT
      const before = kernel.currentDistinct()
      local[into + IN] = before
      if (kernel.currentCount() === 0) continue
      watch[1] = step
      watch[2] = batch.partition
      Atomics.add(watch, 0, 1)
      try {
        const running = instances[step]!.run(kernel, context)
        if (running) await running
      } finally {
        Atomics.add(watch, 0, 1)
      }
      // Also a record that failed earlier: a step may not bring it back.
      if (failedNow > 0 || kernel.hasFailed() !== 0) kernel.dropFailed()
      local[into + FAILED] = failedNow
      local[into + OUT] = kernel.currentDistinct()
      local[into + EMITTED] = kernel.currentCount()
      local[into + FILTERED] = before - kernel.currentDistinct() - failedNow
    }
    if (stepCount === 0) {
      local[IN] = kernel.currentDistinct()
      local[OUT] = kernel.currentDistinct()
      local[EMITTED] = kernel.currentCount()
    }
  }

  /** Reframes where there are no steps, and fails what no target batch could hold. */
  function finish(recordBytesMax: number): void {
    failedNow = 0
    if (stepCount === 0 && spec.reframe_schema_id !== undefined) {
      for (let at = kernel.reframe(0, spec.reframe_schema_id); at >= 0; at = kernel.reframe(at + 1, spec.reframe_schema_id)) {
        failNamed(at, 'not_framed', 'the value does not start with the schema registry prefix (magic byte 0)')
      }
    }
    // The batch header takes 61 bytes, and renumbering may lengthen a record by up to 20.
    const most = recordBytesMax - 81
    if (kernel.currentLargest() > most) {
      for (let at = kernel.findLarger(0, most); at >= 0; at = kernel.findLarger(at + 1, most)) {
        failNamed(at, 'record_too_large', `the record is larger than the sink's limit of ${recordBytesMax} bytes`)
      }
    }
    if (failedNow === 0) return
    kernel.dropFailed()
    const into = Math.max(0, stepCount - 1) * COUNTER_COUNT
    local[into + FAILED]! += failedNow
    local[into + OUT] = kernel.currentDistinct()
    local[into + EMITTED] = kernel.currentCount()
  }

  function append(batch: SourceBatch, sink: BatchSink): void {
    const fixedTime = (batch.attributes & 8) !== 0 ? batch.maxTimestamp : -1n
    const count = kernel.currentCount()
    for (let from = 0; (from = kernel.append(from, sink.batchBytesMax, batch.baseTimestamp, fixedTime)) < count;) {
      sink.seal()
      kernel.begin(batch.baseTimestamp)
    }
  }

  /** Runs one stretch of a batch; when a SmartModule is lost over it, halves it until the one record at fault is found. */
  async function runStretch(
    section: Uint8Array,
    count: number,
    batch: SourceBatch,
    sink: BatchSink,
    counts: Float64Array,
    failures: RecordFailure[],
    isRepeated = false,
  ): Promise<void> {
    try {
      await attempt(section, count, batch)
      finish(sink.recordBytesMax)
    } catch (error) {
      if (!(error instanceof SmartModuleTrap)) throw error
      const step = error.step
      instances[step] = await openStep(spec.steps[step]!, watch, log)
      if (count > 1) {
        // The kernel still has the source's marks, but its section may be half-way through the chain: open it again to cut it.
        fillSection(kernel, section)
        kernel.openBatch(section.length, count, batch.lastOffsetDelta, 0)
        const half = count >> 1
        const cut = kernel.positionOf(half)
        await runStretch(section.subarray(0, cut), half, batch, sink, counts, failures)
        await runStretch(section.subarray(cut), count - half, batch, sink, counts, failures)
        return
      }
      // What an instance had piled up may be at fault, not the record: it gets one more chance, in a fresh one.
      if (!isRepeated) return runStretch(section, 1, batch, sink, counts, failures, true)
      failAlone(section, batch, error, counts, failures)
      return
    }
    for (let i = 0; i < local.length; i++) counts[i]! += local[i]!
    failures.push(...pending)
    append(batch, sink)
  }

  /** Accounts for a single record that no instance of the step survives. */
  function failAlone(
    section: Uint8Array,
    batch: SourceBatch,
    trap: SmartModuleTrap,
    counts: Float64Array,
    failures: RecordFailure[],
  ): void {
    fillSection(kernel, section)
    kernel.openBatch(section.length, 1, batch.lastOffsetDelta, 0)
    failures.push({ delta: kernel.deltaOf(0), step: trap.step, code: 'module_trapped', message: trap.message.slice(0, 1024) })
    for (let step = 0; step < trap.step; step++) {
      counts[step * COUNTER_COUNT + IN]! += 1
      counts[step * COUNTER_COUNT + OUT]! += 1
      counts[step * COUNTER_COUNT + EMITTED]! += 1
    }
    counts[trap.step * COUNTER_COUNT + IN]! += 1
    counts[trap.step * COUNTER_COUNT + FAILED]! += 1
  }

  /** The section cut at the position and into calls of bounded size. The common batch is one stretch and no copy. */
  function stretches(batch: SourceBatch): { section: Uint8Array; count: number }[] {
    if (batch.firstDelta === 0 && batch.section.length <= SMARTMODULE_LIMITS.call_bytes_max)
      return [{ section: batch.section, count: batch.recordCount }]
    const length = batch.section.length
    fillSection(kernel, batch.section)
    if (kernel.openBatch(length, batch.recordCount, batch.lastOffsetDelta, batch.firstDelta) < 0) {
      throw new CorruptBatch(`the batch at offset ${batch.baseOffset} of partition ${batch.partition} holds malformed records`)
    }
    const kept = new Uint8Array(kernel.memory.buffer, kernel.currentPtr(), kernel.currentLength()).slice()
    const parts = []
    for (let from = 0; from < kept.length;) {
      const size = kernel.run(from, SMARTMODULE_LIMITS.call_bytes_max)
      parts.push({ section: kept.subarray(from, from + size), count: kernel.runCount() })
      from += size
    }
    return parts
  }

  return {
    stepCount,
    async run(batch, sink, counts, failures) {
      context.partition = batch.partition
      context.baseOffset = batch.baseOffset
      context.baseTimestamp = batch.baseTimestamp
      context.maxTimestamp = batch.maxTimestamp
      context.attributes = batch.attributes
      const parts = stretches(batch)
      const whole = batch.firstDelta === 0 ? batch : { ...batch, firstDelta: 0 }
      for (const part of parts) await runStretch(part.section, part.count, whole, sink, counts, failures)
    },
  }
}
