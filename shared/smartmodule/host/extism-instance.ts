/**
 * One instance of an Extism plug-in as a step: one `call` per record, value in, value out. Any existing plug-in runs, but an order of
 * magnitude slower than ABI 1 (3–4 µs per record), which is why this is not the native kind.
 */
import createPlugin from '@extism/extism'
import type { InitDocument } from '../abi.ts'
import type { ExtismFunction } from '../../model/smartmodule-kind.ts'
import { elementSpans } from '../../model/json-members.ts'
import { SMARTMODULE_LIMITS, SmartModuleTrap } from '../abi.ts'
import { CallEnded, hostFunctions, newCallSeed, type CallSeed, type Telemetry } from '../imports.ts'
import { decodeRecords, encodeRecords, type KafkaRecord } from '../../kafka/protocol/record-batch.ts'
import { consoleOf, messageOf } from './batch-instance.ts'
import type { BatchContext, StepInstance } from './step.ts'
import { fillSection, type Kernel } from './kernel.ts'

/** Of the array that one call of `array_map` returns. */
const ELEMENTS_MAX = 100_000

type Plugin = Awaited<ReturnType<typeof createPlugin>>

/** A plug-in's answer for one record: keep it, drop it, or replace it with records of these values. */
type Outcome = 'keep' | 'drop' | Buffer[]

/** A plug-in whose Extism config is the step's: strings as they are, other values as JSON. Throws SmartModuleTrap if it does not start. */
export async function openExtismInstance(
  module: WebAssembly.Module,
  functionName: ExtismFunction,
  document: InitDocument,
  telemetry: Telemetry,
): Promise<StepInstance> {
  const call = newCallSeed(telemetry)
  const given = (document.config ?? {}) as Record<string, unknown>
  const config = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
  let plugin: Plugin
  try {
    plugin = await createPlugin(
      { wasm: [{ module }] },
      { useWasi: false, functions: hostFunctions(call), logger: consoleOf(telemetry), config },
    )
    const exports = (await plugin.getInstance()).exports as { memory: WebAssembly.Memory; _initialize?: () => void }
    call.memoryOf = exports.memory
    exports._initialize?.()
  } catch (error) {
    throw new SmartModuleTrap(document.step, `failed while starting: ${messageOf(error)}`)
  }
  const prefix = Buffer.from(document.output_prefix, 'base64')
  return {
    run: (kernel, context) => runRecords(plugin, functionName, document, prefix, call, kernel, context),
    memoryBytes: () => call.memoryOf?.buffer.byteLength ?? 0,
  }
}

async function runRecords(
  plugin: Plugin,
  functionName: ExtismFunction,
  document: InitDocument,
  prefix: Buffer,
  seed: CallSeed,
  kernel: Kernel,
  context: BatchContext,
): Promise<void> {
  const section = Buffer.from(kernel.memory.buffer.slice(kernel.currentPtr(), kernel.currentPtr() + kernel.currentLength()))
  const records = decodeRecords(section, kernel.currentCount())
  const out: KafkaRecord[] = []
  let produced = 0
  const most = section.length * SMARTMODULE_LIMITS.output_bytes_per_input + SMARTMODULE_LIMITS.output_bytes_extra
  for (const record of records) {
    if (record.value === null) {
      // A tombstone passes unchanged: dropping it would leave the deleted key alive in a compacted topic.
      out.push(record)
      continue
    }
    const framed = document.input_prefix_length > 0
    if (framed && (record.value.length < document.input_prefix_length || record.value[0] !== 0)) {
      context.fail(record.offsetDelta, 3, 'the value does not start with the schema registry prefix (magic byte 0)')
      continue
    }
    const input = record.value.subarray(document.input_prefix_length)
    seed.offset = context.baseOffset + BigInt(record.offsetDelta)
    seed.timestampMs = Number(context.baseTimestamp + record.timestampDelta)
    let outcome: Outcome
    try {
      seed.blocks = seed.blockBytes = 0
      outcome = await callPlugin(plugin, functionName, input, most - produced)
      context.alive()
    } catch (error) {
      // The call was cut off: what its instance holds is not to be trusted. A RangeError is a stack that overflowed.
      if (error instanceof WebAssembly.RuntimeError || error instanceof CallEnded || error instanceof RangeError)
        throw new SmartModuleTrap(document.step, messageOf(error))
      context.fail(record.offsetDelta, 1, messageOf(error).slice(0, 1024))
      continue
    }
    if (outcome === 'drop') continue
    for (const value of outcome === 'keep' ? [input] : outcome) {
      produced += value.length
      if (produced > most)
        throw new SmartModuleTrap(document.step, `returned more than ${SMARTMODULE_LIMITS.output_bytes_per_input} times its input`)
      out.push({ ...record, value: Buffer.concat([prefix, value]) })
    }
  }
  const encoded = encodeRecords(out)
  fillSection(kernel, encoded)
  if (kernel.take(encoded.length, out.length, document.step + 1) < 0)
    throw new SmartModuleTrap(document.step, 'returned records that are not from its input')
}

/** Throws CallEnded for an output of more than `bytesMax`. */
async function callPlugin(plugin: Plugin, functionName: ExtismFunction, input: Buffer, bytesMax: number): Promise<Outcome> {
  try {
    // Extism 1.0.3 passes on the whole ArrayBuffer behind a view, with other records and Node's shared pool: give it an exact copy.
    const output = await plugin.call(functionName, new Uint8Array(input))
    const found = output?.bytes()
    if (found && found.length > bytesMax)
      throw new CallEnded(`returned more than ${SMARTMODULE_LIMITS.output_bytes_per_input} times its input`)
    // A view of a block that `reset` frees, so it is copied.
    const bytes = found && Buffer.from(found)
    switch (functionName) {
      case 'filter': {
        const answer = bytes?.toString('utf8').trim()
        return answer === 'true' || answer === '1' ? 'keep' : 'drop'
      }
      case 'filter_map':
        return bytes === undefined || bytes.length === 0 ? 'drop' : [bytes]
      case 'array_map':
        return elementsOf(bytes)
      default:
        return [bytes ?? Buffer.alloc(0)]
    }
  } finally {
    // Extism 1.0.3 keeps every block until `reset`.
    await plugin.reset()
  }
}

const EMPTY = Buffer.alloc(0)
/** Throws TypeError for what is no UTF-8. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

function elementsOf(bytes: Buffer | undefined): Buffer[] {
  const elements: unknown = bytes === undefined || bytes.length === 0 ? [] : JSON.parse(utf8.decode(bytes))
  if (!Array.isArray(elements)) throw new Error('array_map did not return a JSON array')
  if (elements.length > ELEMENTS_MAX) throw new Error(`array_map returned ${elements.length} elements; at most ${ELEMENTS_MAX} are allowed`)
  // Their own bytes: written again, numbers would lose digits and members their order.
  const spans = elementSpans(bytes ?? EMPTY, undefined, elements.length)
  return elements.map((_, index) => Buffer.from((bytes ?? EMPTY).subarray(spans[2 * index], spans[2 * index + 1])))
}
