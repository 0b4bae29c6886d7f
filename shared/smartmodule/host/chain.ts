/**
 * A chain: the SmartModules of one pipeline in order, run over one source batch after another, all as bytes. This file covers what happens
 * between a source batch and the output batches (accounting, failures, bisecting), not where batches come from or go.
 * HOT: work per batch and per step; nothing is allocated per record unless it fails.
 */
import { COUNTER, COUNTER_COUNT } from '../../model/counters.ts'
import { SmartModuleTrap, recordErrorName } from '../abi.ts'
import type { Telemetry } from '../call-seed.ts'
import { CanaryOff, createCanaryRecord, openCanaryStep, type CanaryRecord } from './canary-step.ts'
import { enterCall, enterStart, leaveCall, stillAlive, watchedSend, type CallWatch } from './call-watch.ts'
import type { Kernel } from './kernel.ts'
import {
  TooManyTraps,
  type BatchSink,
  type ChainOutput,
  type ChainSpec,
  type KnownFailures,
  type SourceBatch,
  type StepSpec,
  type StepTelemetry,
} from './spec.ts'
import { expectFrames } from './check-output.ts'
import { createFailures, createFinisher } from './finish-output.ts'
import { openSection, slicesByRecord, withOwnTimes } from './slices.ts'
import { openInstance } from './open-instance.ts'
import { createFailurePolicies } from './failure-policies.ts'
import type { BatchContext, StepInstance } from './step.ts'
import { createStepTimes } from './step-times.ts'

/** An open chain, with an instance of each of its steps. */
export type Chain = {
  stepCount: number
  /** Gives up the instances; the chain is not run any more. */
  close(): void
  /** Measures how long the steps have run since it was called last. */
  tellTimes(): void
  /** What the memory of a step's instance takes now; steps count from 0. */
  memoryBytes(step: number): number
  /**
   * Runs the batch through every step and appends the result to the kernel's output batches, or to the rows. Throws CorruptBatch for
   * malformed records, RecordRefused under the policy `fail`, TooManyTraps past `lostMax`.
   */
  run(batch: SourceBatch, sink: BatchSink, output: ChainOutput, knownFailures?: KnownFailures): Promise<void>
}

type Version = Pick<StepSpec, 'module' | 'kind' | 'extismFunction' | 'document'>

/** What instances are opened with besides their own version. */
type Around = { watch: CallWatch; kernel: WebAssembly.Module; send: ChainSpec['send'] }

async function openVersion(version: Version, { watch, kernel, send }: Around, own: Telemetry): Promise<StepInstance> {
  enterStart(watch, version.document.step)
  try {
    return await openInstance(version, version.document, own, kernel, send)
  } finally {
    leaveCall(watch)
  }
}

const telemetryOf = (telemetry: StepTelemetry, step: number): Telemetry => ({
  log: (level, line) => telemetry.log(step, level, line),
  measure: (kind, name, value) => telemetry.measure(step, kind, name, value),
})

/** The step with its init document, which says whether the step after it reads members. */
function specAt(steps: readonly StepSpec[], step: number): StepSpec {
  const spec = steps[step]!
  const next = steps[step + 1]
  const writes_members = next?.kind === 'batch' && WebAssembly.Module.exports(next.module).some(({ name }) => name === 'dps_members')
  return { ...spec, document: { ...spec.document, writes_members } }
}

async function openStep(
  spec: StepSpec,
  step: number,
  around: Around,
  telemetry: StepTelemetry,
  record: CanaryRecord | undefined,
): Promise<StepInstance> {
  const own = telemetryOf(telemetry, step)
  const running = await openVersion(spec, around, own)
  if (!spec.canary || !record) return running
  const ofCanary: Telemetry = { ...own, log: (level, line) => own.log(level, `canary: ${line}`) }
  return openCanaryStep(running, await openVersion(spec.canary, around, ofCanary), spec.canary.share, record)
}

const openerOf =
  ({ steps }: ChainSpec, around: Around, telemetry: StepTelemetry, canaries: readonly (CanaryRecord | undefined)[]) =>
  (step: number): Promise<StepInstance> =>
    openStep(specAt(steps, step), step, around, telemetry, canaries[step])

/** All steps' instances; where one does not open, none stays. */
async function openAll(steps: readonly StepSpec[], open: (step: number) => Promise<StepInstance>): Promise<StepInstance[]> {
  const instances: StepInstance[] = []
  try {
    for (const step of steps.keys()) instances.push(await open(step))
    return instances
  } catch (error) {
    for (const instance of instances) instance.close?.()
    throw error
  }
}

/** Replaces an instance that is lost. */
async function renew(instances: StepInstance[], step: number, open: (step: number) => Promise<StepInstance>): Promise<void> {
  instances[step]?.close?.()
  instances[step] = await open(step)
}

/** What steps are told of the batch that they run over. */
function createContext(watch: CallWatch, fail: BatchContext['fail']): BatchContext & { enter(batch: SourceBatch): void } {
  const context: BatchContext & { enter(batch: SourceBatch): void } = {
    partition: 0,
    baseOffset: 0n,
    baseTimestamp: 0n,
    maxTimestamp: 0n,
    attributes: 0,
    members: undefined,
    alive: () => stillAlive(watch),
    fail,
    enter(batch: SourceBatch): void {
      context.partition = batch.partition
      context.baseOffset = batch.baseOffset
      context.baseTimestamp = batch.baseTimestamp
      context.maxTimestamp = batch.maxTimestamp
      context.attributes = batch.attributes
      context.members = undefined
    },
  }
  return context
}

/** Takes the failed records out of the section, which is then no longer the one whose members are known. */
function dropFailed(kernel: Kernel, context: BatchContext): void {
  kernel.dropFailed()
  context.members = undefined
}

/** Counts a record that passed the steps before `step`, and ended there as `outcome`. */
function countAlone(counts: ChainOutput['counts'], step: number, outcome: number): void {
  for (let each = 0; each < step; each++) {
    counts[each * COUNTER_COUNT + COUNTER.in]! += 1
    counts[each * COUNTER_COUNT + COUNTER.out]! += 1
    counts[each * COUNTER_COUNT + COUNTER.emitted]! += 1
  }
  counts[step * COUNTER_COUNT + COUNTER.in]! += 1
  counts[step * COUNTER_COUNT + outcome]! += 1
}

/** Counts the section of a chain without steps. */
function countPassed(counts: Float64Array, kernel: Kernel): void {
  counts[COUNTER.in] = kernel.currentDistinct()
  counts[COUNTER.out] = kernel.currentDistinct()
  counts[COUNTER.emitted] = kernel.currentCount()
}

/** By step, the counts of its canary, if it has one. */
const canariesOf = ({ steps, on_error }: ChainSpec, telemetry: StepTelemetry) =>
  steps.map(({ canary, onError = on_error }, step) => {
    const mustNotFail = onError?.policy === 'fail' || onError?.policy === 'retry'
    return canary && createCanaryRecord(canary, mustNotFail, telemetryOf(telemetry, step))
  })

/** A chain with an instance of every step. Throws SmartModuleTrap naming the step that does not start. */
export async function openChain(spec: ChainSpec, kernel: Kernel, watch: CallWatch, telemetry: StepTelemetry): Promise<Chain> {
  const canaries = canariesOf(spec, telemetry)
  const open = openerOf(spec, { watch, kernel: kernel.module, send: spec.send && watchedSend(spec.send, watch) }, telemetry, canaries)
  const instances = await openAll(spec.steps, open)
  const stepCount = instances.length
  const local = new Float64Array(Math.max(1, stepCount) * COUNTER_COUNT)
  const policies = createFailurePolicies(spec)
  const failures = createFailures(kernel, policies, canaries)
  const { finish, append } = createFinisher(spec, kernel, failures, local)
  const times = createStepTimes(stepCount, telemetry)
  let currentStep = 0
  let knownFailures: KnownFailures | undefined

  const context = createContext(watch, (delta, code, message) => failures.add(delta, currentStep, recordErrorName(code), message))

  /** Opens the section in the kernel and runs the steps. Then the kernel holds the output, `local` the counts, the policies failures. */
  async function attempt(section: Uint8Array, count: number, batch: SourceBatch): Promise<void> {
    local.fill(0)
    context.enter(batch)
    policies.begin()
    for (const canary of canaries) canary?.begin()
    expectFrames(kernel, spec.steps)
    openSection(kernel, section, count, batch, batch.firstDelta)
    times.begin()
    for (let step = 0; step < stepCount; step++) {
      currentStep = step
      failures.begin()
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
      if (failures.any() || kernel.hasFailed() !== 0) dropFailed(kernel, context)
      local[into + COUNTER.failed] = failures.failed
      local[into + COUNTER.skipped] = failures.skipped
      local[into + COUNTER.out] = kernel.currentDistinct()
      local[into + COUNTER.emitted] = kernel.currentCount()
      local[into + COUNTER.filtered] = before - kernel.currentDistinct() - failures.failed - failures.skipped
      times.ran(step, before)
    }
    if (stepCount === 0) countPassed(local, kernel)
  }

  /** Runs one slice of a batch; when it costs a SmartModule its instance, halves the slice until the one record at fault is found. */
  async function runSlice(
    section: Uint8Array,
    count: number,
    batch: SourceBatch,
    sink: BatchSink,
    output: ChainOutput,
    isRepeated = false,
  ): Promise<void> {
    if (count === 1 && policies.hasPoison()) {
      openSection(kernel, section, 1, batch, 0)
      const poison = policies.poisonAt(kernel.deltaOf(0))
      const canary = poison && canaries[poison.step]
      // Of two versions it is not known which one hung: the record is the running version's now.
      if (poison && (!canary || canary.isOff)) return failAlone(section, batch, poison.step, 'module_timeout', poison.message, output)
      canary?.takeOff(poison!.message)
    }
    try {
      await attempt(section, count, batch)
      finish(sink.recordBytesMax, batch, knownFailures)
    } catch (error) {
      if (error instanceof CanaryOff) return runSlice(section, count, batch, sink, output)
      if (!(error instanceof SmartModuleTrap)) throw error
      const { step } = error
      await renew(instances, step, open)
      if (count > 1) {
        // The kernel still has the source's marks, but its section may be halfway through the chain: reopen the source to cut it.
        openSection(kernel, section, count, batch, 0)
        const half = count >> 1
        const cut = kernel.positionOf(half)
        await runSlice(section.subarray(0, cut), half, batch, sink, output)
        await runSlice(section.subarray(cut), count - half, batch, sink, output)
        return
      }
      // State that built up in the instance may be at fault, not the record: the record is tried once more in a fresh instance.
      if (!isRepeated) return runSlice(section, 1, batch, sink, output, true)
      if (++output.lost[step]! > output.lostMax[step]!) throw new TooManyTraps(step, error.message)
      failAlone(section, batch, step, 'module_trapped', error.message, output)
      return
    }
    for (const canary of canaries) canary?.keepAttempt()
    for (let i = 0; i < local.length; i++) output.counts[i]! += local[i]!
    policies.hand(output)
    append(batch, sink)
  }

  /** Records the failure of a single record that no instance of the step survives. */
  function failAlone(section: Uint8Array, batch: SourceBatch, step: number, code: string, message: string, output: ChainOutput): void {
    openSection(kernel, section, 1, batch, 0)
    policies.begin()
    // A record whose call hung is not retried: every attempt would cost a lane.
    const outcome = policies.judge(kernel.deltaOf(0), step, code, message, code !== 'module_timeout')
    policies.hand(output)
    countAlone(output.counts, step, outcome === 'skipped' ? COUNTER.skipped : COUNTER.failed)
  }

  return {
    stepCount,
    tellTimes: times.tell,
    memoryBytes: (step) => instances[step]?.memoryBytes() ?? 0,
    close: () => instances.forEach((instance) => instance.close?.()),
    async run(source, sink, output, given) {
      const batch = stepCount === 0 ? source : withOwnTimes(kernel, source)
      knownFailures = given
      policies.open(batch.partition, batch.baseOffset, given)
      const whole = batch.firstDelta === 0 ? batch : { ...batch, firstDelta: 0 }
      for (const { section, count } of slicesByRecord(kernel, batch, given?.cuts)) await runSlice(section, count, whole, sink, output)
    },
  }
}
