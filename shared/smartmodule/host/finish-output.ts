/**
 * The end of a chain: its output becomes batches or rows, and records that the sink can't take fail.
 * HOT: work per batch; nothing is allocated per record unless it fails.
 */
import { LOG_APPEND_TIME } from '../../kafka/protocol/record-batch.ts'
import { COUNTER, COUNTER_COUNT } from '../../model/counters.ts'
import { FRAMING_BYTES } from '../../model/framing.ts'
import { failKeyless, failUnframed, failUntimely } from './check-output.ts'
import type { CanaryRecord } from './canary-step.ts'
import type { Kernel } from './kernel.ts'
import { addRows, type RowTarget } from './rows.ts'
import type { BatchSink, ChainSpec, SourceBatch, KnownFailures } from './spec.ts'
import type { FailurePolicies } from './failure-policies.ts'

/** Records that have failed since `begin`, by what became of them. */
export type Failures = ReturnType<typeof createFailures>

/** Each failing record is judged by its step's policy. */
export function createFailures(kernel: Kernel, policies: FailurePolicies, canaries: readonly (CanaryRecord | undefined)[] = []) {
  const failures = {
    failed: 0,
    skipped: 0,
    begin(): void {
      failures.failed = 0
      failures.skipped = 0
    },
    all: (): number => failures.failed + failures.skipped,
    any: (): boolean => failures.failed + failures.skipped > 0,
    /** A record that has failed already stays as it is. Throws CanaryOff where a canary has failed too many by now. */
    add(delta: number, step: number, code: string, message: string): void {
      if (kernel.fail(delta) === 0) return
      const canary = canaries[step]
      const isCanarys = canary !== undefined && kernel.wasAside(delta) !== 0
      if (isCanarys) canary.failed(code, message)
      if (policies.judge(delta, step, code, message, true, isCanarys) === 'skipped') failures.skipped++
      else failures.failed++
    },
  }
  return failures
}

/** `local`: the counts of the attempt, which failures at the end correct. */
export function createFinisher(spec: ChainSpec, kernel: Kernel, failures: Failures, local: Float64Array) {
  const stepCount = spec.steps.length

  /**
   * Gives values the sink's frame if no step did, fails the records that the sink can't take, and turns the others into the sink's rows.
   */
  function finish(recordBytesMax: number, batch: SourceBatch, knownFailures: KnownFailures | undefined): void {
    failures.begin()
    const last = Math.max(0, stepCount - 1)
    const failAt = (ordinal: number, code: string, message: string) => failures.add(kernel.deltaOf(ordinal), last, code, message)
    if (stepCount === 0 && !spec.rows && spec.reframe_schema_id !== undefined) {
      for (let at = kernel.reframe(0, spec.reframe_schema_id); at >= 0; at = kernel.reframe(at + 1, spec.reframe_schema_id)) {
        failAt(at, 'not_framed', 'the value does not start with the schema registry prefix (magic byte 0)')
      }
    }
    failUnframed(kernel, failAt)
    if (spec.needs_keys) failKeyless(kernel, failAt)
    if ((!spec.rows || spec.rows.isForTopic) && fixedTimeOf(batch) < 0n) failUntimely(kernel, batch.baseTimestamp, failAt)
    // The batch header takes 61 bytes, and renumbering may lengthen a record by up to 20.
    const most = recordBytesMax - 81
    if (kernel.currentLargest() > most) {
      for (let at = kernel.findLarger(0, most); at >= 0; at = kernel.findLarger(at + 1, most)) {
        failAt(at, 'record_too_large', `the record is larger than the sink's limit of ${recordBytesMax} bytes`)
      }
    }
    if (spec.rows) encodeRows(spec.rows, batch, knownFailures)
    if (!failures.any()) return
    kernel.dropFailed()
    const into = last * COUNTER_COUNT
    local[into + COUNTER.failed]! += failures.failed
    local[into + COUNTER.skipped]! += failures.skipped
    local[into + COUNTER.out] = kernel.currentDistinct()
    local[into + COUNTER.emitted] = kernel.currentCount()
  }

  /** A failure at the sink belongs to no step: it is counted at the last one, and its dead letter names no SmartModule. */
  function encodeRows(rows: RowTarget, batch: SourceBatch, knownFailures: KnownFailures | undefined): void {
    const { baseOffset } = batch
    if (knownFailures && knownFailures.refused.size + knownFailures.deadLettered.size > 0) {
      for (let ordinal = kernel.currentCount() - 1; ordinal >= 0; ordinal--) {
        const delta = kernel.deltaOf(ordinal)
        const offset = baseOffset + BigInt(delta)
        const refused = knownFailures.deadLettered.has(offset) ? DEAD_LETTERED : knownFailures.refused.get(offset)
        if (refused) failures.add(delta, stepCount, refused.code, refused.message)
      }
    }
    const prefix = stepCount === 0 ? FRAMING_BYTES : 0
    let before = -1
    // Runs at most twice: all records left after the first pass make rows.
    while (before !== failures.all()) {
      if (failures.any()) kernel.dropFailed()
      before = failures.all()
      rows.drop()
      addRows(kernel, rows, prefix, baseOffset, Number(batch.baseTimestamp), Number(fixedTimeOf(batch)), (delta, { code, message }) =>
        failures.add(delta, stepCount, code, message),
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

  return { finish, append }
}

/** The time in milliseconds of all records of a batch with log-append time; -1 for any other batch. */
const fixedTimeOf = ({ attributes, maxTimestamp }: SourceBatch): bigint => ((attributes & LOG_APPEND_TIME) !== 0 ? maxTimestamp : -1n)

/** The failure of a record whose dead letter is already written; no second one is written. */
const DEAD_LETTERED = { code: 'dead_lettered', message: 'the record is already a dead letter' }
