/**
 * One instance of a `batch` SmartModule (ABI 1), loaded by Extism and called through its linear memory: bytes in, bytes out.
 * HOT: nothing here runs per record except reading error entries. The guest's output is untrusted.
 */
import createPlugin, { type ExtismPluginOptions } from '@extism/extism'
import type { LogLevel } from '../../model/telemetry.ts'
import { SMARTMODULE_LIMITS, SmartModuleTrap, type BatchExports, type InitDocument } from '../abi.ts'
import { newCallSeed, type CallSeed, type HostFunctions, type Telemetry } from '../call-seed.ts'
import { hostFunctions } from '../imports.ts'
import { whyEnded } from '../why-ended.ts'
import { fillSection, isSection, type Kernel } from './kernel.ts'
import type { BatchContext, StepInstance } from './step.ts'

const RESULT_BYTES = 36
/** At 32 in a result block: the output is the input's bytes as they came, of which the kernel has its own. */
const SAME = 1

/** An instance that accepted its config. Throws SmartModuleTrap when it fails to start or, with the guest's text, refuses the config. */
export async function openBatchInstance(module: WebAssembly.Module, document: InitDocument, telemetry: Telemetry): Promise<StepInstance> {
  const step = document.step
  const call = newCallSeed(telemetry)
  try {
    const plugin = await createPlugin(
      { wasm: [{ module }] },
      { useWasi: false, functions: withoutContext(hostFunctions(call)), logger: consoleOf(telemetry), config: {} },
    )
    const exports = (await plugin.getInstance()).exports as unknown as BatchExports & { _initialize?: () => void }
    call.memoryOf = exports.memory
    exports._initialize?.()
    initialise(exports, document)
    return {
      run: (kernel, context) => runBatch(exports, call, document, kernel, context),
      memoryBytes: () => exports.memory.buffer.byteLength,
    }
  } catch (error) {
    throw error instanceof SmartModuleTrap ? error : new SmartModuleTrap(step, `failed while starting: ${whyEnded(error, call)}`)
  }
}

/** The functions as Extism calls them: with a context of its own in front, which is left out. */
const withoutContext = (functions: HostFunctions): ExtismPluginOptions['functions'] =>
  Object.fromEntries(
    Object.entries(functions).map(([namespace, each]) => [
      namespace,
      Object.fromEntries(
        Object.entries(each).map(([name, call]) => [
          name,
          (_context: unknown, ...values: unknown[]): unknown => (call as HostFunction)(...values),
        ]),
      ),
    ]),
  )
type HostFunction = (...values: unknown[]) => unknown

function initialise(exports: BatchExports, document: InitDocument): void {
  const json = Buffer.from(JSON.stringify(document), 'utf8')
  const pointer = exports.dps_alloc(json.length)
  bytesOf(exports, pointer, json.length, document.step).set(json)
  const refusal = exports.dps_init(pointer, json.length)
  if (refusal === 0) return
  const length = new DataView(exports.memory.buffer).getUint32(refusal, true)
  throw new SmartModuleTrap(document.step, bytesOf(exports, refusal + 4, Math.min(length, 4096), document.step).toString('utf8'))
}

/** A view of guest memory. Throws SmartModuleTrap for a range outside it, which is the guest's fault. */
function bytesOf(exports: BatchExports, pointer: number, length: number, step: number): Buffer {
  const at = pointer >>> 0
  const size = length >>> 0
  if (at + size > exports.memory.buffer.byteLength)
    throw new SmartModuleTrap(step, `returned a range outside of its memory (${at}+${size})`)
  return Buffer.from(exports.memory.buffer, at, size)
}

function runBatch(exports: BatchExports, call: CallSeed, document: InitDocument, kernel: Kernel, context: BatchContext): void {
  const { step } = document
  const length = kernel.currentLength()
  const count = kernel.currentCount()
  call.offset = context.baseOffset
  call.timestampMs = Number(context.maxTimestamp)
  call.complaint = ''
  let result: number
  try {
    const pointer = exports.dps_alloc(length)
    bytesOf(exports, pointer, length, step).set(new Uint8Array(kernel.memory.buffer, kernel.currentPtr(), length))
    passMembers(exports, step, count, context)
    result = exports.dps_process(
      pointer,
      length,
      count,
      context.partition,
      context.baseOffset,
      context.baseTimestamp,
      context.maxTimestamp,
      context.attributes,
    )
  } catch (error) {
    throw error instanceof SmartModuleTrap ? error : new SmartModuleTrap(step, whyEnded(error, call))
  } finally {
    call.flushLines()
  }
  bytesOf(exports, result, RESULT_BYTES, step)
  const block = new DataView(exports.memory.buffer, result >>> 0, RESULT_BYTES)
  const isSame = block.getUint32(32, true) === SAME
  const outLength = isSame ? length : block.getUint32(4, true)
  const outCount = isSame ? count : block.getUint32(8, true)
  if (outLength > length * SMARTMODULE_LIMITS.output_bytes_per_input + SMARTMODULE_LIMITS.output_bytes_extra) {
    throw new SmartModuleTrap(
      step,
      `returned ${outLength} bytes for ${length}: more than ${SMARTMODULE_LIMITS.output_bytes_per_input} times its input`,
    )
  }
  const errorCount = block.getUint32(20, true)
  if (errorCount > 0) readErrors(exports, block, errorCount, count, step, kernel, context)
  const out = isSame ? undefined : bytesOf(exports, block.getUint32(0, true), outLength, step)
  // The kernel counts steps from 1: 0 is the source itself.
  if (takeOutput(kernel, out, outCount, step + 1) < 0)
    throw new SmartModuleTrap(step, 'returned records that are malformed, out of order, or not from its input')
  if (document.writes_members) noteMembers(exports, block, outLength, outCount, context)
}

/**
 * Makes the step’s output the kernel’s section; undefined stands for the section as it is. What may have been kept whole is compared, which
 * is cheaper than to copy and to walk it again.
 */
function takeOutput(kernel: Kernel, out: Uint8Array | undefined, count: number, step: number): number {
  if (out === undefined || (count === kernel.currentCount() && isSection(kernel, out))) return kernel.takeSame(step)
  fillSection(kernel, out)
  return kernel.take(out.length, count, step)
}

/** Gives the instance what the step before has written about its records' members, if it reads that. */
function passMembers(exports: BatchExports, step: number, count: number, context: BatchContext): void {
  const { members } = context
  context.members = undefined
  if (members === undefined || members.records !== count || exports.dps_members === undefined) return
  const pointer = exports.dps_members(members.length)
  bytesOf(exports, pointer, members.length, step).set(new Uint8Array(members.memory.buffer, members.pointer, members.length))
}

/** Remembers what the instance has written about its output's members, for the next step. */
function noteMembers(exports: BatchExports, block: DataView, outLength: number, outCount: number, context: BatchContext): void {
  const length = block.getUint32(28, true)
  // A member takes at least 5 bytes of a value, and 8 here.
  if (length === 0 || length > 2 * (outLength + outCount)) return
  const pointer = block.getUint32(24, true)
  if (pointer + length > exports.memory.buffer.byteLength) return
  context.members = { memory: exports.memory, pointer, length, records: outCount }
}

/** Reads the guest's error entries (u32 ordinal, u32 code, u32 length, text) before `take`, which discards the input's ordinals. */
function readErrors(
  exports: BatchExports,
  block: DataView,
  errorCount: number,
  count: number,
  step: number,
  kernel: Kernel,
  context: BatchContext,
): void {
  const entries = bytesOf(exports, block.getUint32(12, true), block.getUint32(16, true), step)
  if (errorCount > count) throw new SmartModuleTrap(step, 'reported more errors than it received records')
  let at = 0
  for (let i = 0; i < errorCount; i++) {
    if (at + 12 > entries.length) throw new SmartModuleTrap(step, 'reported errors that run past the end of their list')
    const ordinal = entries.readUInt32LE(at)
    const code = entries.readUInt32LE(at + 4)
    const length = entries.readUInt32LE(at + 8)
    at += 12
    if (at + length > entries.length || ordinal >= count)
      throw new SmartModuleTrap(step, 'reported an error that is cut off, or for a record it did not receive')
    context.fail(kernel.deltaOf(ordinal), code, entries.toString('utf8', at, at + Math.min(length, 1024)))
    at += length
  }
}

/** A console for Extism, whose lines are the SmartModule's. */
function consoleOf({ log }: Telemetry): Console {
  const at =
    (level: LogLevel) =>
    (...parts: unknown[]) =>
      log(level, parts.map(String).join(' '))
  return { ...console, log: at('info'), info: at('info'), debug: at('debug'), warn: at('warn'), error: at('error'), trace: at('debug') }
}
