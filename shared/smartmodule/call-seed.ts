/** One call of a SmartModule as the functions see it that the host gives it. */
import type { LogLevel, Measure } from '../model/telemetry.ts'

/** Where a SmartModule's lines and numbers go. */
export type Telemetry = { log(level: LogLevel, line: string): void; measure(kind: Measure['kind'], name: string, value: number): void }

/** The current call as the host functions see it; clock and random numbers derive from it, so that a replay gives the same. */
export type CallSeed = {
  timestampMs: number
  offset: bigint
  telemetry: Telemetry
  memory: () => WebAssembly.Memory | undefined
  /** Variables that a program finds in its environment. */
  environment: Readonly<Record<string, string>>
  /** The start of what the call has written to its standard error: where languages say why they end. */
  complaint: string
  /** Logs what the call has written without an end of its line. */
  flushLines: () => void
}

/** The seed of an instance's calls, before the first one; `memoryOf` is set once the instance has a memory. */
export function newCallSeed(telemetry: Telemetry): CallSeed & { memoryOf?: WebAssembly.Memory } {
  const call: CallSeed & { memoryOf?: WebAssembly.Memory } = {
    timestampMs: 0,
    offset: 0n,
    telemetry,
    memory: () => call.memoryOf,
    environment: {},
    complaint: '',
    flushLines: () => {},
  }
  return call
}

/** Functions by namespace and name, as WebAssembly imports them. */
export type HostFunctions = Record<string, Record<string, WebAssembly.ImportValue>>

/** Thrown by a host function to end the call: the module asked for it, or for more than it may have. Its instance is lost. */
export class CallEnded extends Error {}
