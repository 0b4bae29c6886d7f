/**
 * A step of which another version handles a share of the keys. Should that version trap, or fail more records than it may, the running one
 * handles all of them from then on: the data plane does not wait for the control plane to roll it back. HOT: work per batch.
 */
import { CANARY_MEASURES } from '../../model/telemetry.ts'
import { SmartModuleTrap } from '../abi.ts'
import { canaryThreshold, failsTooMany } from '../canary-share.ts'
import type { Telemetry } from '../call-seed.ts'
import type { Kernel } from './kernel.ts'
import type { CanarySpec } from './spec.ts'
import type { StepInstance } from './step.ts'

/** Thrown when a canary has been taken off in the middle of a run: the chain runs the same records again, without it. */
export class CanaryOff extends Error {}

/** How many records a canary handled and failed in a chain. Outlives the step's instances; discarded attempts don't count. */
export type CanaryRecord = {
  readonly isOff: boolean
  /** Before an attempt at a slice. */
  begin(): void
  handled(count: number): void
  /** It has failed a record in this way. Throws CanaryOff where it has failed more than it may. */
  failed(code: string, message: string): void
  takeOff(why: string): void
  /** The attempt counts from now on. */
  keepAttempt(): void
}

/** `mustNotFail`: a failed record would stop the chain or be tried again and again, so that none is allowed. */
export function createCanaryRecord(
  { maxFailing }: Pick<CanarySpec, 'maxFailing'>,
  mustNotFail: boolean,
  { measure, log }: Telemetry,
): CanaryRecord {
  const all = { handled: 0, failed: 0 }
  const attempt = { handled: 0, failed: 0 }
  let isOff = false
  /** What it had failed and handled when it had failed too many. */
  let excess: { failed: number; records: number } | undefined

  function takeOff(why: string): void {
    if (!isOff) log('warn', `the canary is taken off (${why}): the running version handles all records from now on`)
    isOff = true
  }

  return {
    get isOff() {
      return isOff
    },
    begin() {
      attempt.handled = attempt.failed = 0
    },
    handled(count) {
      attempt.handled += count
    },
    failed(code, message) {
      attempt.failed++
      const [bad, of] = [all.failed + attempt.failed, all.handled + attempt.handled]
      if (!mustNotFail && !failsTooMany(bad, of, maxFailing)) return
      excess = { failed: bad, records: of }
      takeOff(`failed ${bad} of ${of} records, the last with ${code}: ${message}`)
      throw new CanaryOff()
    },
    takeOff,
    keepAttempt() {
      // In every run, because not all runs lead to a report.
      if (isOff) measure('count', CANARY_MEASURES.off, 1)
      if (excess) {
        measure('count', CANARY_MEASURES.offFailed, excess.failed)
        measure('count', CANARY_MEASURES.offRecords, excess.records)
      }
      if (attempt.handled > 0) measure('count', CANARY_MEASURES.records, attempt.handled)
      if (attempt.failed > 0) measure('count', CANARY_MEASURES.failed, attempt.failed)
      all.handled += attempt.handled
      all.failed += attempt.failed
    },
  }
}

/** Throws SmartModuleTrap as the running version does, and CanaryOff where the canary traps. */
export function openCanaryStep(running: StepInstance, canary: StepInstance, share: number, record: CanaryRecord): StepInstance {
  const threshold = canaryThreshold(share)
  return {
    memoryBytes: () => running.memoryBytes() + canary.memoryBytes(),
    close() {
      running.close?.()
      canary.close?.()
    },
    async run(kernel: Kernel, context) {
      const handled = record.isOff ? 0 : kernel.split(threshold, context.baseOffset)
      if (handled === 0) return running.run(kernel, context)
      context.members = undefined
      if (kernel.currentCount() > 0) await running.run(kernel, context)
      kernel.exchange()
      context.members = undefined
      record.handled(handled)
      try {
        await canary.run(kernel, context)
      } catch (error) {
        if (!(error instanceof SmartModuleTrap)) throw error
        record.takeOff(error.message)
        throw new CanaryOff()
      }
      kernel.merge()
      // Those of one part only.
      context.members = undefined
    },
  }
}
