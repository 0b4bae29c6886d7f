/** One step of a chain as the chain sees it, independent of its SmartModule's kind. */
import type { Kernel } from './kernel.ts'

/** A range of a step's memory that holds the members of `records` records, until the step runs again (docs/specs/abi.md). */
export type MembersNote = { memory: WebAssembly.Memory; pointer: number; length: number; records: number }

/** What a step may know about the current batch; `fail` records the failure of the source record at an offsetDelta. */
export type BatchContext = {
  partition: number
  baseOffset: bigint
  baseTimestamp: bigint
  maxTimestamp: bigint
  attributes: number
  fail(delta: number, code: number, message: string): void
  /** Where the members of the current section's records are, as the step before has written it; undefined when that is not known. */
  members?: MembersNote
  /** Tells the watchdog that a plug-in that is called per record has returned. */
  alive(): void
}

/**
 * An instance of a step's SmartModule. `run` replaces the kernel's current section by the SmartModule's output and throws SmartModuleTrap
 * when the instance is lost. Plug-ins that wait, or that may be replaced, return a promise.
 */
export type StepInstance = {
  run(kernel: Kernel, context: BatchContext): void | Promise<void>
  /** What the instance's memory takes now. */
  memoryBytes(): number
  /** Gives the instance up, where something outside of it would keep it. */
  close?(): void
}
