/**
 * Runs what must not run in a service's own thread: compiling and inspecting an upload, starting a chain to see whether its configs are
 * accepted, tracing records. Each request gets its own worker with a deadline and a memory limit, which is terminated afterwards.
 */
import { Worker } from 'node:worker_threads'
import type { ExtismFunction, SmartModuleKind } from '../../../shared/model/smartmodule-kind.ts'
import { SMARTMODULE_LIMITS, type InitDocument } from '../../../shared/smartmodule/abi.ts'
import type { ConfigFault } from './config-faults.ts'
import type { Inspection } from './inspect.ts'
import type { Traced, TraceInput, TraceProgress } from './trace.ts'

/** One step to start or trace; `parameters` is the JSON Schema for its config. */
export type SandboxStep = {
  binary: Uint8Array
  kind: SmartModuleKind
  extismFunction?: ExtismFunction
  parameters: unknown
  document: InitDocument
}
/** A request to the sandbox. A dry run only checks the configs. */
export type SandboxRequest =
  | { task: 'inspect'; binary: Uint8Array }
  | { task: 'start'; steps: SandboxStep[]; isDryRun: boolean }
  | { task: 'trace'; kernel: Uint8Array; steps: SandboxStep[]; sinkSchemaId: number; records: TraceInput[] }
/** The sandbox's answer; `refused` says why the request failed, and `step` (from 0) names the step at fault. */
export type SandboxAnswer =
  | { inspected: Inspection & { binary: Uint8Array<ArrayBuffer> } }
  | { started: true }
  | { traced: Traced[] }
  | { faults: (ConfigFault & { step: number })[] }
  | { refused: string; step?: number }

const HEAP_MIB = 256

/** Started in advance, because starting a thread takes a quarter of a second. */
let spare: Worker | undefined
/** Delayed, because the current request needs the same cores. */
const NEXT_SPARE_MS = 1500
let nextSpare: NodeJS.Timeout | undefined

function startWorker(): Worker {
  const worker = new Worker(new URL('./sandbox-worker.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
    env: {},
    stdout: true,
    stderr: true,
  })
  // A spare worker must not keep the process alive.
  worker.unref()
  worker.on('error', () => {})
  worker.once('exit', () => {
    if (spare === worker) spare = undefined
  })
  return worker
}

function takeWorker(): Worker {
  const worker = spare ?? startWorker()
  spare = undefined
  nextSpare ??= setTimeout(() => {
    nextSpare = undefined
    spare ??= startWorker()
  }, NEXT_SPARE_MS).unref()
  return worker
}

/** The worker's answer; a missed deadline or a dead worker gives `refused` with the reason. A trace returns what it has by then. */
export async function runInSandbox(
  request: SandboxRequest,
  timeoutMs: number = SMARTMODULE_LIMITS.compile_timeout_ms,
): Promise<SandboxAnswer> {
  const worker = takeWorker()
  const answered = Promise.withResolvers<SandboxAnswer>()
  const traced: Traced[] = []
  let hanging: Traced | undefined
  const timer = setTimeout(() => {
    // Keep what was traced so far, and report the record that did not return.
    if (hanging) answered.resolve({ traced: [...traced, hanging] })
    else answered.resolve({ refused: `the SmartModule did not compile or start within ${timeoutMs / 1000} s` })
  }, timeoutMs)
  worker.on('message', (message: SandboxAnswer | { progress: TraceProgress }) => {
    if (!('progress' in message)) return answered.resolve(message)
    const { progress } = message
    if ('traced' in progress) {
      traced.push(progress.traced)
      hanging = undefined
    } else {
      const error = { code: 'module_timeout', message: `did not return within ${timeoutMs / 1000} s` }
      hanging = { steps: [...progress.before, { in: progress.entering, out: [], error }], outputs: [] }
    }
  })
  worker.once('error', (error) => answered.resolve({ refused: `the SmartModule could not be examined: ${error.message}` }))
  worker.once('exit', () => answered.resolve({ refused: 'the SmartModule ended its sandbox' }))
  worker.postMessage(request)
  try {
    return await answered.promise
  } finally {
    clearTimeout(timer)
    await worker.terminate()
  }
}
