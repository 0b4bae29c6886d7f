/**
 * One instance of an Extism plug-in as a step: one call per record, value in, value out. Any existing plug-in runs, but each call costs as
 * much as several records of a module of ABI 1, which is why this is not the native kind.
 */
import { reasonOf } from '../../../errors/reason-of.ts'
import type { ExtismFunction } from '../../../model/smartmodule-kind.ts'
import { elementSpans } from '../../../model/json-members.ts'
import { SmartModuleTrap, type InitDocument } from '../../abi.ts'
import { CallEnded, newCallSeed, type Telemetry } from '../../call-seed.ts'
import { hostFunctions } from '../../imports.ts'
import { whyEnded } from '../../why-ended.ts'
import type { Kernel } from '../kernel.ts'
import type { BatchContext, StepInstance } from '../step.ts'
import { openExtismEnv, type ExtismEnv } from './extism-env.ts'
import type { SendRequest } from '../../../model/plug-in-http.ts'
import { sendsRequests } from './extism-http.ts'
import { initialise, instantiatePlugIn, promising } from './instantiate.ts'
import { openPlugInSection, textsOf } from './section.ts'

/** Of the array that one call of `array_map` returns. */
const ELEMENTS_MAX = 100_000

/** A plug-in's answer for one record: keep it, drop it, or replace it with records of these values. */
type Outcome = 'keep' | 'drop' | Buffer[]

/** A call of a plug-in; one that may send requests is suspended meanwhile. */
type PlugIn = () => number | undefined | Promise<number | undefined>

/** A plug-in whose Extism config is the step's: strings as they are, other values as JSON. Throws SmartModuleTrap if it does not start. */
export async function openExtismInstance(
  module: WebAssembly.Module,
  functionName: ExtismFunction,
  document: InitDocument,
  telemetry: Telemetry,
  kernelModule: WebAssembly.Module,
  send: SendRequest | undefined,
): Promise<StepInstance> {
  const call = newCallSeed(telemetry)
  let env: ExtismEnv
  let plugIn: PlugIn
  try {
    env = await openExtismEnv(kernelModule, { config: textsOf(document), allowedHosts: document.allowed_hosts ?? [], send }, call)
    const instance = await instantiatePlugIn(module, { ...hostFunctions(call), 'extism:host/env': env.functions })
    call.memoryOf = instance.exports.memory as WebAssembly.Memory
    initialise(instance)
    const called = instance.exports[functionName]
    plugIn = (sendsRequests(module) ? promising(called) : called) as PlugIn
  } catch (error) {
    throw new SmartModuleTrap(document.step, `failed while starting: ${whyEnded(error, call)}`)
  }

  async function run(kernel: Kernel, context: BatchContext): Promise<void> {
    try {
      await runRecords(kernel, context)
    } finally {
      call.flushLines()
    }
  }

  async function runRecords(kernel: Kernel, context: BatchContext): Promise<void> {
    const section = openPlugInSection(kernel, document, context)
    for (const record of section.asked) {
      const input = section.inputs[record]!
      call.offset = section.offsetOf(record)
      call.timestampMs = Number(section.timeOf(record))
      call.complaint = ''
      let outcome: Outcome
      try {
        env.begin(input)
        // Awaited only where it has to be: a promise for each record would cost as much as the call.
        const running = plugIn()
        const code = running instanceof Promise ? await running : running
        outcome = outcomeOf(code, functionName, env, section.bytesLeft())
        context.alive()
      } catch (error) {
        // The call was cut off: what its instance holds is not to be trusted. A RangeError is a stack that overflowed.
        if (error instanceof WebAssembly.RuntimeError || error instanceof CallEnded || error instanceof RangeError)
          throw new SmartModuleTrap(document.step, whyEnded(error, call))
        section.fail(record, reasonOf(error))
        continue
      }
      if (outcome === 'drop') continue
      for (const value of outcome === 'keep' ? [input] : outcome) section.put(record, { value })
    }
    section.finish()
  }
  return { run, memoryBytes: () => (call.memoryOf?.buffer.byteLength ?? 0) + env.memoryBytes() }
}

/** Throws CallEnded for an output of more than `bytesMax`, and an error with the plug-in's own text when it reports one. */
function outcomeOf(code: number | undefined, functionName: ExtismFunction, env: ExtismEnv, bytesMax: number): Outcome {
  const said = env.error()
  // Some toolkits make functions without a result, which stands for 0.
  if ((code ?? 0) !== 0 || said !== undefined) throw new Error(said ?? `returned ${code}`)
  const bytes = env.output(bytesMax)
  switch (functionName) {
    case 'filter': {
      const answer = bytes?.toString('utf8').trim()
      return answer === 'true' || answer === '1' ? 'keep' : 'drop'
    }
    case 'filter_map':
      return bytes === undefined ? 'drop' : [bytes]
    case 'array_map':
      return elementsOf(bytes)
    default:
      return [bytes ?? EMPTY]
  }
}

const EMPTY = Buffer.alloc(0)
/** Throws TypeError for what is no UTF-8. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

function elementsOf(bytes: Buffer | undefined): Buffer[] {
  const elements: unknown = bytes === undefined ? [] : JSON.parse(utf8.decode(bytes))
  if (!Array.isArray(elements)) throw new Error('array_map did not return a JSON array')
  if (elements.length > ELEMENTS_MAX) throw new Error(`array_map returned ${elements.length} elements; at most ${ELEMENTS_MAX} are allowed`)
  // Their own bytes: written again, numbers would lose digits and members their order.
  const spans = elementSpans(bytes ?? EMPTY, undefined, elements.length)
  return elements.map((_, index) => Buffer.from((bytes ?? EMPTY).subarray(spans[2 * index], spans[2 * index + 1])))
}
