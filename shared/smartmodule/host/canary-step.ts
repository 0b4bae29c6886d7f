/**
 * A step of which another version handles a share of the keys. Should that version fail more records than it may, the running one handles all
 * of them from then on: the data plane does not wait for the control plane to roll it back. HOT: work per batch.
 */
import type { Telemetry } from '../imports.ts'
import { CANARY_MEASURES } from '../../model/telemetry.ts'
import { SmartModuleTrap } from '../abi.ts'
import { canaryThreshold } from '../canary-share.ts'
import type { Kernel } from './kernel.ts'
import type { CanarySpec } from './spec.ts'
import type { BatchContext, StepInstance } from './step.ts'

/** Fewer records say nothing about a share of failures. */
const JUDGED_FROM = 20

/** How a canary's version fares in a chain. It outlives the step's instances. */
export type CanaryRecord = { readonly isOff: boolean; count(handled: number, failed: number): void }

/** Nothing has been handled yet. What is counted is measured too. */
export function createCanaryRecord({ maxFailing }: Pick<CanarySpec, 'maxFailing'>, { measure, log }: Telemetry): CanaryRecord {
  let all = 0
  let bad = 0
  let isOff = false
  return {
    get isOff() {
      return isOff
    },
    count(handled, failed) {
      all += handled
      bad += failed
      if (handled > 0) measure('count', CANARY_MEASURES.records, handled)
      if (failed === 0) return
      measure('count', CANARY_MEASURES.failed, failed)
      if (isOff || bad <= maxFailing * all || (all < JUDGED_FROM && maxFailing > 0)) return
      isOff = true
      log('warn', `the canary failed ${bad} of ${all} records: the running version handles all of them from now on`)
    },
  }
}

/** Throws SmartModuleTrap as its instances do; one of the canary's version says so. */
export function openCanaryStep(running: StepInstance, canary: StepInstance, share: number, record: CanaryRecord): StepInstance {
  const threshold = canaryThreshold(share)

  async function runCanary(kernel: Kernel, context: BatchContext, handled: number): Promise<void> {
    let failed = 0
    const counting: BatchContext = {
      ...context,
      fail(delta, code, message) {
        failed++
        context.fail(delta, code, message)
      },
    }
    try {
      await canary.run(kernel, counting)
    } catch (error) {
      // Of several records it is not known which one is at fault: the chain comes again with fewer.
      if (handled === 1) record.count(1, 1)
      throw error instanceof SmartModuleTrap ? new CanaryTrap(error.step, error.message) : error
    }
    record.count(handled, failed)
  }

  return {
    memoryBytes: () => running.memoryBytes() + canary.memoryBytes(),
    async run(kernel, context) {
      const handled = record.isOff ? 0 : kernel.split(threshold, context.baseOffset)
      if (handled === 0) return running.run(kernel, context)
      if (kernel.currentCount() > 0) await running.run(kernel, context)
      kernel.exchange()
      await runCanary(kernel, context, handled)
      kernel.merge()
    },
  }
}

/** A fault of a canary's version: it counts against the canary, and not against the version that runs. */
export class CanaryTrap extends SmartModuleTrap {}
