/** A workshop: a child process of the control plane that does one job after the other, for one account, and may be killed at any moment. */
import { flushCompileCache } from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { cutText, REASON_CHARACTERS_MAX } from '../../../shared/model/text.ts'
import { openParent } from '../../../shared/processes/parent.ts'
import { muteConsole } from '../../../shared/processes/mute-console.ts'
import { ENDED_ITSELF } from '../../../shared/processes/watched-child.ts'
import { compileSmartModule, SmartModuleCompileError } from '../../../shared/smartmodule/compile.ts'
import { settingsOf } from '../../../shared/smartmodule/settings.ts'
import { SMARTMODULE_LIMITS, SmartModuleTrap } from '../../../shared/smartmodule/abi.ts'
import type { Telemetry } from '../../../shared/smartmodule/call-seed.ts'
import type { AddressRules } from '../../../shared/connectors/address-guard.ts'
import { openInstance } from '../../../shared/smartmodule/host/open-instance.ts'
import { tryEndpoint, disposeEndpoint } from './endpoints.ts'
import { configFaults, parametersFault } from './schema-faults.ts'
import { inspectBinary } from './inspect.ts'
import { InspectionError } from './wasm-reader.ts'
import { ToWorkshop, type Answer, type FromWorkshop, type Job, type JobStep } from './jobs.ts'
import { packed } from './packed.ts'
import { traceRecords } from './trace.ts'

/** V8's texts may hold names of the module, of any length. */
const REASON_MAX = 300

function inspect(upload: Uint8Array, parameters: unknown): Answer {
  const fault = parametersFault(parameters)
  if (fault !== undefined) return { parameters: fault }
  const inspected = inspectBinary(upload)
  try {
    // The binary as it was sent, without the limits that the inspection adds.
    for (const binary of [new Uint8Array(upload), inspected.binary]) void new WebAssembly.Module(binary)
  } catch (error) {
    throw new InspectionError(`the binary does not compile: ${reasonOf(error).slice(0, REASON_MAX)}`)
  }
  const { binary, ...about } = inspected
  return { inspected: about, binary }
}

/**
 * Whether V8 optimises WebAssembly that runs often. While the compiler runs it does not: optimising binaryen takes a third of the CPU time
 * of a process's first compilation, and most processes compile once or twice.
 */
function optimise(isOn: boolean): void {
  for (const flag of ['wasm-dynamic-tiering', 'wasm-tier-up']) setFlagsFromString(isOn ? `--${flag}` : `--no-${flag}`)
}

/** The compiler is 10 MB of JavaScript: loaded only when something is compiled. */
async function compile(code: string): Promise<Answer> {
  optimise(false)
  try {
    const binary = await compileSmartModule(code)
    const settings = await settingsOf(code)
    const compiled = settings && 'parameters' in settings ? { parameters: settings.parameters } : {}
    if (binary.length <= SMARTMODULE_LIMITS.file_bytes_max) return { compiled, binary }
    return { uncompiled: [{ message: `what it compiles to is larger than ${SMARTMODULE_LIMITS.file_bytes_max >> 20} MiB` }] }
  } catch (error) {
    if (error instanceof SmartModuleCompileError) return { uncompiled: error.faults }
    throw error
  } finally {
    optimise(true)
  }
}

/** Whether a module starts is all that is asked of it here. */
const SILENT: Telemetry = { log: () => {}, measure: () => {} }

/** Why steps do not start, each tried by itself: one that can't does not keep the others from being looked at. */
async function refusalsOf(
  steps: readonly JobStep[],
  kernelBinary: Uint8Array,
  moduleAt: (index: number) => Promise<WebAssembly.Module>,
): Promise<{ step: number; refused: string }[]> {
  const refusals: { step: number; refused: string }[] = []
  const kernel = await WebAssembly.compile(new Uint8Array(kernelBinary))
  for (const { binary, kind, extismFunction, document } of steps) {
    send({ progress: { starting: document.step } })
    await parent.flushed()
    try {
      const module = await moduleAt(binary)
      const instance = await openInstance({ module, kind, ...(extismFunction ? { extismFunction } : {}) }, document, SILENT, kernel)
      instance.close?.()
    } catch (error) {
      if (!(error instanceof SmartModuleTrap)) throw error
      refusals.push({ step: error.step, refused: reasonFor(error) })
    }
  }
  return refusals
}

async function start(
  { kernel: kernelBinary, steps, isDryRun }: Extract<Job, { kind: 'start' }>,
  moduleAt: (index: number) => Promise<WebAssembly.Module>,
): Promise<Answer> {
  const faults = steps.flatMap(({ parameters, document }) =>
    configFaults(parameters, document.config).map((fault) => ({ ...fault, step: document.step })),
  )
  const startable = isDryRun ? [] : steps.filter(({ document }) => !faults.some(({ step }) => step === document.step))
  const refusals = startable.length > 0 ? await refusalsOf(startable, kernelBinary, moduleAt) : []
  return faults.length + refusals.length > 0 ? { faults, refusals } : { started: true }
}

const reasonFor = (error: unknown): string => cutText(reasonOf(error), REASON_CHARACTERS_MAX)

/** What a trial waits for all requests of its plug-ins. */
const TRIAL_REQUESTS_MS = 8000

/** For steps that may send requests; loaded only for these. */
async function requestsOf(steps: JobStep[], addresses: AddressRules) {
  if (steps.every(({ document }) => !document.allowed_hosts)) return undefined
  const { openPlugInRequests } = await import('../../../shared/connectors/send-plug-in-requests.ts')
  return openPlugInRequests(addresses, TRIAL_REQUESTS_MS)
}

/** The job's binaries, each compiled once, however many steps run it. */
function modulesOf(binaries: readonly Uint8Array[]): (index: number) => Promise<WebAssembly.Module> {
  const modules = new Map<number, WebAssembly.Module>()
  return async (index) => {
    const module = modules.get(index) ?? (await WebAssembly.compile(new Uint8Array(binaries[index]!)))
    modules.set(index, module)
    return module
  }
}

async function answerTo(job: Job, binaries: readonly Uint8Array[]): Promise<Answer> {
  switch (job.kind) {
    case 'inspect':
      return inspect(binaries[0]!, job.parameters)
    case 'compile':
      return compile(job.code)
    case 'start':
      return start(job, modulesOf(binaries))
    case 'trace': {
      const kernel = await WebAssembly.compile(new Uint8Array(job.kernel))
      const { steps, sink, records, addresses } = job
      const requests = await requestsOf(steps, addresses)
      try {
        await traceRecords(kernel, { steps, moduleAt: modulesOf(binaries), sink, records, send: requests?.send }, (progress) => {
          send({ progress })
          return parent.flushed()
        })
      } finally {
        await requests?.close()
      }
      return { traced: true }
    }
    case 'types': {
      // The parser is loaded only where there are expressions.
      const { celTypeOf } = await import('./cel-types.ts')
      return { types: job.expressions.map((each) => celTypeOf(each, job.fields)) }
    }
    case 'check':
      return { checked: await tryEndpoint(job.endpoint, job.withinMs) }
    case 'dispose':
      await disposeEndpoint(job.endpoint)
      return { disposed: true }
  }
}

async function work(job: Job, binaries: readonly Uint8Array[]): Promise<void> {
  try {
    const answer = await answerTo(job, binaries)
    if (!('binary' in answer)) return send({ answer })
    const { binary, ...made } = answer
    parent.sendBytes(binary)
    send({ made })
  } catch (error) {
    const refused = reasonFor(error)
    send({ answer: error instanceof SmartModuleTrap ? { refused, step: error.step } : { refused } })
  }
}

/** Binaries of the next job. */
let arrived: Uint8Array[] = []

function onValue(job: ToWorkshop): void {
  const binaries = arrived
  arrived = []
  void work(job, binaries)
}

muteConsole()
const end = () => void process.kill(process.pid, ENDED_ITSELF)
// What a driver throws in a callback may contain a secret: it is not printed.
process.on('uncaughtException', end)
const parent = openParent<ToWorkshop, unknown>({ schema: ToWorkshop, onValue, onBytes: (bytes) => void arrived.push(bytes), onGone: end })
const send = (value: FromWorkshop): void => parent.send(packed(value))
send({ ready: true })
// Otherwise written at exit, and a workshop is killed instead.
flushCompileCache()
