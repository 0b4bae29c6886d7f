/**
 * A chain: the SmartModules of one pipeline in order, run over one source batch after another, all as bytes. This file covers what happens
 * between a source batch and the output batches (accounting, failures, bisecting), not where batches come from or go.
 * HOT: work per batch and per step; nothing is allocated per record unless it fails.
 */
import { COUNTER, COUNTER_COUNT } from '../../model/counters.ts'
import { FRAMING_BYTES } from '../../model/framing.ts'
import { SmartModuleTrap, recordErrorName } from '../abi.ts'
import type { Telemetry } from '../imports.ts'
import { openBatchInstance } from './batch-instance.ts'
import { enterCall, enterStart, leaveCall, stillAlive, type CallWatch } from './call-watch.ts'
import type { Kernel } from './kernel.ts'
import {
  TooManyTraps,
  type BatchSink,
  type ChainOutput,
  type ChainSpec,
  type Suspects,
  type SourceBatch,
  type StepSpec,
  type StepTelemetry,
} from './spec.ts'
import { expectFrames, failUntimely, failUnframed } from './check-output.ts'
import { addRows, type RowTarget } from './rows.ts'
import { openSection, slicesByRecord } from './slices.ts'
import { createVerdicts } from './verdicts.ts'
import type { StepInstance } from './step.ts'

/** An open chain, with an instance of each of its steps. */
export type Chain = {
  stepCount: number
  /** What the memory of a step's instance takes now; steps count from 0. */
  memoryBytes(step: number): number
  /**
   * Runs the batch through every step and appends the result to the kernel's output batches, or to the rows. Throws CorruptBatch for
   * malformed records, RecordRefused under the policy `fail`, TooManyTraps past `lostMax`.
   */
  run(batch: SourceBatch, sink: BatchSink, output: ChainOutput, suspects?: Suspects): Promise<void>
}

async function openStep(spec: StepSpec, step: number, watch: CallWatch, telemetry: StepTelemetry): Promise<StepInstance> {
  const own: Telemetry = {
    log: (level, line) => telemetry.log(step, level, line),
    measure: (kind, name, value) => telemetry.measure(step, kind, name, value),
  }
  enterStart(watch, spec.document.step)
  try {
    return spec.kind === 'batch'
      ? await openBatchInstance(spec.module, spec.document, own)
      : // Most chains have no Extism plug-in: this is loaded for the first one.
        await (await import('./extism-instance.ts')).openExtismInstance(spec.module, spec.extismFunction ?? 'process', spec.document, own)
  } finally {
    leaveCall(watch)
  }
}

/** A chain with an instance of every step. Throws SmartModuleTrap naming the step that does not start. */
export async function openChain(spec: ChainSpec, kernel: Kernel, watch: CallWatch, telemetry: StepTelemetry): Promise<Chain> {
  const instances: StepInstance[] = []
  for (const [index, step] of spec.steps.entries()) instances.push(await openStep(step, index, watch, telemetry))
  const stepCount = instances.length
  const local = new Float64Array(Math.max(1, stepCount) * COUNTER_COUNT)
  const verdicts = createVerdicts(spec)
  let skippedNow = 0
  let failedNow = 0
  let currentStep = 0
  let known: Suspects | undefined

  const context = {
    partition: 0,
    baseOffset: 0n,
    baseTimestamp: 0n,
    maxTimestamp: 0n,
    attributes: 0,
    alive: () => stillAlive(watch),
    fail(delta: number, code: number, message: string): void {
      failDelta(delta, currentStep, recordErrorName(code), message)
    },
  }

  function failDelta(delta: number, step: number, code: string, message: string): void {
    if (kernel.fail(delta) === 0) return
    if (verdicts.judge(delta, step, code, message) === 'skipped') skippedNow++
    else failedNow++
  }

  /** Opens the section in the kernel and runs the steps. Then the kernel holds the output, `local` the counts, the verdicts failures. */
  async function attempt(section: Uint8Array, count: number, batch: SourceBatch): Promise<void> {
    local.fill(0)
    verdicts.begin()
    expectFrames(kernel, spec.steps)
    openSection(kernel, section, count, batch, batch.firstDelta)
    for (let step = 0; step < stepCount; step++) {
      currentStep = step
      failedNow = 0
      skippedNow = 0
      const into = step * COUNTER_COUNT
      const before = kernel.currentDistinct()
      local[into + COUNTER.in] = before
      if (kernel.currentCount() === 0) continue
      enterCall(watch, step, batch.partition, batch.baseOffset, kernel.deltaOf(0), kernel.deltaOf(kernel.currentCount() - 1))
      try {
        const running = instances[step]!.run(kernel, context)
        if (running) await running
      } finally {
        leaveCall(watch)
      }
      // Also outputs of a record that failed earlier: a step may not bring it back.
      if (failedNow + skippedNow > 0 || kernel.hasFailed() !== 0) kernel.dropFailed()
      local[into + COUNTER.failed] = failedNow
      local[into + COUNTER.skipped] = skippedNow
      local[into + COUNTER.out] = kernel.currentDistinct()
      local[into + COUNTER.emitted] = kernel.currentCount()
      local[into + COUNTER.filtered] = before - kernel.currentDistinct() - failedNow - skippedNow
    }
    if (stepCount === 0) {
      local[COUNTER.in] = kernel.currentDistinct()
      local[COUNTER.out] = kernel.currentDistinct()
      local[COUNTER.emitted] = kernel.currentCount()
    }
  }

  /** Reframes values when there are no steps, fails records that the sink can't take, and makes rows when the sink takes rows. */
  function finish(recordBytesMax: number, batch: SourceBatch, suspects: Suspects | undefined): void {
    failedNow = 0
    skippedNow = 0
    const last = Math.max(0, stepCount - 1)
    const failAt = (ordinal: number, code: string, message: string) => failDelta(kernel.deltaOf(ordinal), last, code, message)
    if (stepCount === 0 && !spec.rows && spec.reframe_schema_id !== undefined) {
      for (let at = kernel.reframe(0, spec.reframe_schema_id); at >= 0; at = kernel.reframe(at + 1, spec.reframe_schema_id)) {
        failAt(at, 'not_framed', 'the value does not start with the schema registry prefix (magic byte 0)')
      }
    }
    failUnframed(kernel, failAt)
    if (!spec.rows && fixedTimeOf(batch) < 0n) failUntimely(kernel, batch.baseTimestamp, Date.now(), failAt)
    // The batch header takes 61 bytes, and renumbering may lengthen a record by up to 20.
    const most = recordBytesMax - 81
    if (kernel.currentLargest() > most) {
      for (let at = kernel.findLarger(0, most); at >= 0; at = kernel.findLarger(at + 1, most)) {
        failAt(at, 'record_too_large', `the record is larger than the sink's limit of ${recordBytesMax} bytes`)
      }
    }
    if (spec.rows) encodeRows(spec.rows, batch, suspects)
    if (failedNow + skippedNow === 0) return
    kernel.dropFailed()
    const into = last * COUNTER_COUNT
    local[into + COUNTER.failed]! += failedNow
    local[into + COUNTER.skipped]! += skippedNow
    local[into + COUNTER.out] = kernel.currentDistinct()
    local[into + COUNTER.emitted] = kernel.currentCount()
  }

  /** A failure at the sink belongs to no step: it is counted at the last one, and its dead letter names no SmartModule. */
  function encodeRows(rows: RowTarget, batch: SourceBatch, suspects: Suspects | undefined): void {
    const { baseOffset } = batch
    if (suspects && suspects.refused.size + suspects.deadLettered.size > 0) {
      for (let ordinal = kernel.currentCount() - 1; ordinal >= 0; ordinal--) {
        const delta = kernel.deltaOf(ordinal)
        const offset = baseOffset + BigInt(delta)
        const refused = suspects.deadLettered.has(offset) ? LETTERED : suspects.refused.get(offset)
        if (refused) failDelta(delta, stepCount, refused.code, refused.message)
      }
    }
    const prefix = stepCount === 0 ? FRAMING_BYTES : 0
    let before = -1
    // Runs at most twice: all records left after the first pass make rows.
    while (before !== failedNow + skippedNow) {
      if (failedNow + skippedNow > 0) kernel.dropFailed()
      before = failedNow + skippedNow
      rows.drop()
      addRows(kernel, rows, prefix, baseOffset, Number(batch.baseTimestamp), Number(fixedTimeOf(batch)), (delta, { code, message }) =>
        failDelta(delta, stepCount, code, message),
      )
    }
  }

  function append(batch: SourceBatch, sink: BatchSink): void {
    const fixedTime = fixedTimeOf(batch)
    const base = batch.baseTimestamp
    const count = kernel.currentCount()
    const { partitions } = spec
    if (spec.rows) return spec.rows.keep()
    if (partitions !== undefined) {
      for (let from = 0; (from = kernel.scatter(from, partitions, batch.sinkPartition, sink.batchBytesMax, base, fixedTime)) < count;) {
        sink.seal()
        kernel.begin(base)
      }
      return
    }
    if (kernel.builtRecords() === 0) kernel.begin(base)
    for (let from = 0; (from = kernel.append(from, sink.batchBytesMax, base, fixedTime)) < count;) {
      sink.seal()
      kernel.begin(base)
    }
  }

  /** Runs one slice of a batch; when it costs a SmartModule its instance, halves the slice until the one record at fault is found. */
  async function runStretch(
    section: Uint8Array,
    count: number,
    batch: SourceBatch,
    sink: BatchSink,
    output: ChainOutput,
    isRepeated = false,
  ): Promise<void> {
    if (count === 1 && verdicts.hasPoison()) {
      openSection(kernel, section, 1, batch, 0)
      const poison = verdicts.poisonAt(kernel.deltaOf(0))
      if (poison) return failAlone(section, batch, poison.step, 'module_timeout', poison.message, output)
    }
    try {
      await attempt(section, count, batch)
      finish(sink.recordBytesMax, batch, known)
    } catch (error) {
      if (!(error instanceof SmartModuleTrap)) throw error
      const { step } = error
      instances[step] = await openStep(spec.steps[step]!, step, watch, telemetry)
      if (count > 1) {
        // The kernel still has the source's marks, but its section may be halfway through the chain: reopen the source to cut it.
        openSection(kernel, section, count, batch, 0)
        const half = count >> 1
        const cut = kernel.positionOf(half)
        await runStretch(section.subarray(0, cut), half, batch, sink, output)
        await runStretch(section.subarray(cut), count - half, batch, sink, output)
        return
      }
      // State that built up in the instance may be at fault, not the record: the record is tried once more in a fresh instance.
      if (!isRepeated) return runStretch(section, 1, batch, sink, output, true)
      if (++output.lost[step]! > output.lostMax[step]!) throw new TooManyTraps(step, error.message)
      failAlone(section, batch, step, 'module_trapped', error.message, output)
      return
    }
    for (let i = 0; i < local.length; i++) output.counts[i]! += local[i]!
    verdicts.hand(output)
    append(batch, sink)
  }

  /** Records the failure of a single record that no instance of the step survives. */
  function failAlone(section: Uint8Array, batch: SourceBatch, step: number, code: string, message: string, output: ChainOutput): void {
    openSection(kernel, section, 1, batch, 0)
    verdicts.begin()
    // A record whose call hung is not retried: every attempt would cost a lane.
    const verdict = verdicts.judge(kernel.deltaOf(0), step, code, message.slice(0, 1024), code !== 'module_timeout')
    verdicts.hand(output)
    for (let each = 0; each < step; each++) {
      output.counts[each * COUNTER_COUNT + COUNTER.in]! += 1
      output.counts[each * COUNTER_COUNT + COUNTER.out]! += 1
      output.counts[each * COUNTER_COUNT + COUNTER.emitted]! += 1
    }
    output.counts[step * COUNTER_COUNT + COUNTER.in]! += 1
    output.counts[step * COUNTER_COUNT + (verdict === 'skipped' ? COUNTER.skipped : COUNTER.failed)]! += 1
  }

  return {
    stepCount,
    memoryBytes: (step) => instances[step]?.memoryBytes() ?? 0,
    async run(batch, sink, output, suspects) {
      context.partition = batch.partition
      context.baseOffset = batch.baseOffset
      context.baseTimestamp = batch.baseTimestamp
      context.maxTimestamp = batch.maxTimestamp
      context.attributes = batch.attributes
      known = suspects
      verdicts.open(batch.partition, batch.baseOffset, suspects)
      const parts = slicesByRecord(kernel, batch, suspects?.cuts ?? NO_CUTS)
      const whole = batch.firstDelta === 0 ? batch : { ...batch, firstDelta: 0 }
      for (const part of parts) await runStretch(part.section, part.count, whole, sink, output)
    },
  }
}

/** The time in milliseconds of all records of a batch with log-append time; -1 for any other batch. */
const fixedTimeOf = ({ attributes, maxTimestamp }: SourceBatch): bigint => ((attributes & 8) !== 0 ? maxTimestamp : -1n)

const NO_CUTS: readonly bigint[] = []
/** The failure of a record whose dead letter is already written; no second one is written. */
const LETTERED = { code: 'dead_lettered', message: 'the record is already a dead letter' }
