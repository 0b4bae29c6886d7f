/**
 * A SmartModule made with Fluvio's SDK as a step: `filter`, `map` and `filter_map` get all records in one call, `array_map` one per call,
 * because its outputs do not name their record. The module sets values and keys; headers and times stay the record's.
 */
import { reasonOf } from '../../../errors/reason-of.ts'
import { FLUVIO_FUNCTIONS } from '../../../model/smartmodule-kind.ts'
import { SmartModuleTrap, type InitDocument } from '../../abi.ts'
import { newCallSeed, type Telemetry } from '../../call-seed.ts'
import { hostFunctions } from '../../imports.ts'
import { whyEnded } from '../../why-ended.ts'
import type { Kernel } from '../kernel.ts'
import type { BatchContext, StepInstance } from '../step.ts'
import { decodeHint, decodeOutput, encodeInput, encodeParameters, FLUVIO_VERSION, type FluvioOutput } from './fluvio-encoding.ts'
import { initialise, instantiatePlugIn } from './instantiate.ts'
import { openPlugInSection, textsOf, type PlugInSection } from './section.ts'

type Call = (at: number, length: number, version: number) => number
type Exports = { memory: WebAssembly.Memory; alloc(length: number): number; init?: Call } & Partial<
  Record<(typeof FLUVIO_FUNCTIONS)[number], Call>
>

/** An instance never frees what it answers with: once it has grown so much, it is replaced. */
const GROWN_BYTES_MAX = 16 << 20
/** Records of the next call after an error; twice as many after each one without. */
const AFTER_ERROR = 64
const ANSWER_BYTES_MAX = 32 << 20

const STATUSES: Readonly<Record<number, string>> = {
  [-1]: 'an unknown error',
  [-2]: 'its init failed',
  [-11]: 'it could not read its input',
  [-22]: 'it could not read the records',
  [-33]: 'it could not write its output',
  [-44]: 'it could not read its parameters',
}
const statusOf = (code: number): string => STATUSES[code] ?? `code ${code}`

/** Throws SmartModuleTrap when the module does not start, or its `init` refuses the config. */
export async function openFluvioInstance(module: WebAssembly.Module, document: InitDocument, telemetry: Telemetry): Promise<StepInstance> {
  const { step } = document
  const open = async () => {
    try {
      return await openGuest(module, document, telemetry)
    } catch (error) {
      throw new SmartModuleTrap(step, `failed while starting: ${reasonOf(error)}`)
    }
  }
  let guest = await open()
  async function renewIfGrown(): Promise<void> {
    if (guest.memory.buffer.byteLength > guest.bytesAtStart + GROWN_BYTES_MAX) guest = await open()
  }

  function callFor(section: PlugInSection, context: BatchContext, records: readonly number[]): FluvioOutput {
    try {
      guest.seed.offset = section.offsetOf(records[0]!)
      guest.seed.timestampMs = Number(section.timeOf(records[0]!))
      guest.seed.complaint = ''
      const inputs = records.map((record) => ({
        offsetDelta: section.records[record]!.offsetDelta,
        timestampDelta: section.timeOf(record) - context.baseTimestamp,
        key: section.records[record]!.key,
        value: section.inputs[record]!,
      }))
      const output = guest.process(encodeInput(inputs, context.baseOffset, context.baseTimestamp, guest.parameters), section.recordsLeft())
      context.alive()
      return output
    } catch (error) {
      throw new SmartModuleTrap(step, whyEnded(error, guest.seed))
    } finally {
      guest.seed.flushLines()
    }
  }

  /** For functions whose outputs say by their offset of which record they are. */
  async function runAtOnce(section: PlugInSection, context: BatchContext): Promise<void> {
    const all = section.asked
    const placeOf = new Map(all.map((record, place) => [section.records[record]!.offsetDelta, place]))
    let most = all.length
    for (let from = 0; from < all.length;) {
      const until = Math.min(all.length, from + most)
      const { records, error } = callFor(section, context, all.slice(from, until))
      for (const { offsetDelta, key, value } of records) {
        const place = placeOf.get(offsetDelta)
        if (place === undefined || place < from || place >= until)
          throw new SmartModuleTrap(step, 'returned a record that is not of its input')
        section.put(all[place]!, { key, value })
      }
      await renewIfGrown()
      if (!error) {
        from = until
        most *= 2
        continue
      }
      const failed = placeOf.get(Number(error.offset - context.baseOffset))
      if (failed === undefined || failed < from || failed >= until) throw new SmartModuleTrap(step, error.hint)
      section.fail(all[failed]!, error.hint)
      // The module stops at the first error: the records behind it are still to be handled, a few at a time while there are errors.
      from = failed + 1
      most = AFTER_ERROR
    }
  }

  async function runOneByOne(section: PlugInSection, context: BatchContext): Promise<void> {
    for (const record of section.asked) {
      const { records, error } = callFor(section, context, [record])
      if (error) section.fail(record, error.hint)
      else for (const { key, value } of records) section.put(record, { key, value })
      await renewIfGrown()
    }
  }

  return {
    memoryBytes: () => guest.memory.buffer.byteLength,
    async run(kernel: Kernel, context) {
      const section = openPlugInSection(kernel, document, context)
      const { asked } = section
      // Behind a step that makes several records of one, their offsets do not tell them apart.
      const areDistinct = new Set(asked.map((record) => section.records[record]!.offsetDelta)).size === asked.length
      await (guest.isOneByOne || !areDistinct ? runOneByOne : runAtOnce)(section, context)
      section.finish()
    },
  }
}

async function openGuest(module: WebAssembly.Module, document: InitDocument, telemetry: Telemetry) {
  const seed = newCallSeed(telemetry)
  let answer: { at: number; length: number } | undefined
  const functions = hostFunctions(seed)
  const instance = await instantiatePlugIn(module, {
    ...functions,
    env: { ...functions.env, copy_records: (at: number, length: number) => void (answer = { at: at >>> 0, length: length >>> 0 }) },
  })
  const exports = instance.exports as unknown as Exports
  seed.memoryOf = exports.memory
  initialise(instance)
  const name = FLUVIO_FUNCTIONS.find((each) => exports[each])
  if (name === undefined) throw new Error(`exports none of ${FLUVIO_FUNCTIONS.join(', ')}`)

  /** The function's status, and a copy of what it answers. */
  function invoke(call: Call, input: Buffer): { status: number; bytes: Buffer | undefined } {
    // The module frees its input by itself.
    const at = exports.alloc(input.length) >>> 0
    Buffer.from(exports.memory.buffer, at, input.length).set(input)
    answer = undefined
    const status = call(at, input.length, FLUVIO_VERSION)
    // It is set by `copy_records` during the call.
    const given = answer as { at: number; length: number } | undefined
    if (given && given.length > ANSWER_BYTES_MAX) throw new Error('answers with too many bytes')
    return { status, bytes: given && Buffer.from(Buffer.from(exports.memory.buffer, given.at, given.length)) }
  }

  const parameters = encodeParameters(textsOf(document))
  if (exports.init) {
    const { status, bytes } = invoke(exports.init, parameters)
    if (status < 0) throw new Error(bytes ? decodeHint(bytes) : statusOf(status))
  }
  const main = exports[name]!
  return {
    seed,
    parameters,
    memory: exports.memory,
    bytesAtStart: exports.memory.buffer.byteLength,
    isOneByOne: name === 'array_map',
    /** Throws when the call fails as a whole. */
    process(input: Buffer, recordsMax: number): FluvioOutput {
      const { status, bytes } = invoke(main, input)
      if (status < 0) throw new Error(statusOf(status))
      if (!bytes) throw new Error('answered nothing')
      return decodeOutput(bytes, recordsMax)
    },
  }
}
