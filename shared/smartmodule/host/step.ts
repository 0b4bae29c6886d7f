/** One step of a chain as the chain runner sees it, whatever kind its SmartModule is. */
import type { Kernel } from './kernel.ts'

/** What a step may know of the batch under way; `fail` records the failure of the source record at an offsetDelta. */
export type BatchContext = {
  partition: number
  baseOffset: bigint
  baseTimestamp: bigint
  maxTimestamp: bigint
  attributes: number
  fail(delta: number, code: number, message: string): void
  /** Tells the watchdog that a plug-in which is called per record has come back. */
  alive(): void
}

/**
 * `run` replaces the kernel's current section by what the SmartModule made of it. Throws SmartModuleTrap when the instance is lost.
 * Only plug-ins that are called per record answer a promise.
 */
export type StepInstance = { run(kernel: Kernel, context: BatchContext): void | Promise<void> }
