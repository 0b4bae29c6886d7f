/**
 * A data transform made with Redpanda's SDK (ABI 1 and 2) as a step. A transform is a program: its `main` asks for batch after batch, for
 * ever. It runs in a stack of its own (JavaScript Promise Integration), which waits in `read_batch_header` between two batches. Whatever it
 * writes after reading a record is that record's output.
 */
import { SmartModuleTrap, type InitDocument } from '../../abi.ts'
import { CallEnded, newCallSeed, type CallSeed, type HostFunctions, type Telemetry } from '../../call-seed.ts'
import { hostFunctions } from '../../imports.ts'
import { whyEnded } from '../../why-ended.ts'
import type { BatchContext, StepInstance } from '../step.ts'
import { instantiatePlugIn, promising, suspending } from './instantiate.ts'
import { decodeTransformRecord, decodeTopic, encodeTransformRecord } from './transform-record.ts'
import { openPlugInSection, textsOf, type PlugInSection } from './section.ts'

/** Error codes of the ABI. */
const NO_ACTIVE_TRANSFORM = -1
const INVALID_BUFFER = -2
const INVALID_WRITE = -3
/** The result of the schema registry's functions, which are not supported. */
const NO_REGISTRY = -1

/** Names of the topics that a transform may ask its environment for; writing to another one is refused. */
const INPUT_TOPIC = 'input'
const OUTPUT_TOPIC = 'output'
const TOPIC_MAX = 200
/** A record may be a little larger than what is left: `put` says so then. */
const WRITE_BYTES_EXTRA = 1 << 20

/** The batch that the transform is at work on. */
type Work = {
  section: PlugInSection
  context: BatchContext
  /** Records that it is called for, their encoded bytes, and how many of them it has read. */
  records: number[]
  encoded: Buffer[]
  read: number
}

/** Throws SmartModuleTrap unless the transform comes to ask for its first batch. */
export async function openRedpandaInstance(
  module: WebAssembly.Module,
  document: InitDocument,
  telemetry: Telemetry,
): Promise<StepInstance> {
  const { step } = document
  const call = newCallSeed(telemetry)
  call.environment = { ...textsOf(document), REDPANDA_INPUT_TOPIC: INPUT_TOPIC, REDPANDA_OUTPUT_TOPIC_0: OUTPUT_TOPIC }
  const guest = openGuest(call)
  try {
    const instance = await instantiatePlugIn(module, { ...hostFunctions(call), ...guest.functions })
    call.memoryOf = instance.exports.memory as WebAssembly.Memory
    await guest.start(instance.exports._start)
  } catch (error) {
    throw new SmartModuleTrap(step, `failed while starting: ${whyEnded(error, call)}`)
  }
  return {
    memoryBytes: () => call.memoryOf?.buffer.byteLength ?? 0,
    close: guest.close,
    async run(kernel, context) {
      const section = openPlugInSection(kernel, document, context)
      const records = section.asked
      const encoded = records.map((record) => encodeTransformRecord({ ...section.records[record]!, value: section.inputs[record]! }))
      call.complaint = ''
      try {
        const work = { section, context, records, encoded, read: 0 }
        if (records.length > 0) await guest.process(work)
        if (work.read < records.length) throw new Error('asked for another batch before it had read all records of this one')
      } catch (error) {
        throw error instanceof SmartModuleTrap ? error : new SmartModuleTrap(step, whyEnded(error, call))
      } finally {
        call.flushLines()
      }
      section.finish()
    },
  }
}

function openGuest(call: CallSeed): {
  functions: HostFunctions
  /** Settles when the program asks for its first batch. */
  start(main: unknown): Promise<void>
  /** Settles when the program asks for another batch. Rejects when it ends instead; it is lost then. */
  process(work: Work): Promise<void>
  /** Ends the program where it waits: V8 keeps a stack that waits, and the memory of its instance, as long as its promise is open. */
  close(): void
} {
  let work: Work | undefined
  /** How the program gets its next batch, or ends instead. */
  let next: PromiseWithResolvers<Work> | undefined
  /** Who waits until the program asks for a batch: a promise for each time, because one for all would keep them. */
  let asked: PromiseWithResolvers<void> | undefined
  let ended: { reason: unknown } | undefined
  function untilAsked(): Promise<void> {
    asked = Promise.withResolvers<void>()
    if (ended) asked.reject(ended.reason)
    return asked.promise
  }
  const memory = () => call.memory()!
  const bytesAt = (at: number, length: number) => Buffer.from(memory().buffer, at >>> 0, length >>> 0)

  async function readBatchHeader(...pointers: number[]): Promise<number> {
    work = undefined
    next = Promise.withResolvers<Work>()
    asked?.resolve()
    work = await next.promise
    return writeHeader(new DataView(memory().buffer), pointers, work)
  }

  function readNextRecord(attributes: number, timestamp: number, offset: number, at: number, length: number): number {
    const record = work?.records[work.read]
    const bytes = work?.encoded[work.read]
    if (work === undefined || record === undefined || bytes === undefined) return NO_ACTIVE_TRANSFORM
    if (length >>> 0 < bytes.length) return INVALID_BUFFER
    work.read++
    work.context.alive()
    call.offset = work.section.offsetOf(record)
    const time = work.section.timeOf(record)
    call.timestampMs = Number(time)
    const view = new DataView(memory().buffer)
    view.setUint8(attributes, 0)
    view.setBigInt64(timestamp, time, true)
    view.setBigInt64(offset, call.offset, true)
    bytesAt(at, bytes.length).set(bytes)
    return bytes.length
  }

  function write(at: number, length: number, optionsAt: number, optionsLength: number): number {
    const record = work?.records[work.read - 1]
    if (work === undefined || record === undefined) return NO_ACTIVE_TRANSFORM
    if (length >>> 0 > work.section.bytesLeft() + WRITE_BYTES_EXTRA) throw new CallEnded('writes more than a step may return')
    let output
    let topic
    try {
      // Copies: the program goes on using its memory.
      output = decodeTransformRecord(Buffer.from(bytesAt(at, length)))
      topic = decodeTopic(bytesAt(optionsAt, optionsLength)) ?? OUTPUT_TOPIC
    } catch (error) {
      if (error instanceof RangeError) return INVALID_BUFFER
      throw error
    }
    if (topic !== OUTPUT_TOPIC) {
      call.telemetry.log('error', `a transform has one output here, ${OUTPUT_TOPIC}: it can't write to ${topic.slice(0, TOPIC_MAX)}`)
      return INVALID_WRITE
    }
    work.section.put(record, output)
    return length
  }

  const nothing = () => {}
  const noRegistry = () => NO_REGISTRY
  return {
    functions: {
      redpanda_transform: {
        check_abi_version_1: nothing,
        check_abi_version_2: nothing,
        read_batch_header: suspending(readBatchHeader),
        read_next_record: readNextRecord,
        write_record: (at: number, length: number) => write(at, length, 0, 0),
        write_record_with_options: write,
      },
      redpanda_schema_registry: {
        check_abi_version_0: nothing,
        get_schema_definition_len: noRegistry,
        get_schema_definition: noRegistry,
        get_subject_schema_len: noRegistry,
        get_subject_schema: noRegistry,
        create_subject_schema: noRegistry,
      },
    },
    async start(main) {
      const isWaiting = untilAsked()
      const end = (reason: unknown) => {
        ended = { reason }
        asked?.reject(reason)
      }
      promising(main)().then(() => end(new Error('the program ended by itself')), end)
      await isWaiting
    },
    async process(given) {
      const isWaiting = untilAsked()
      next?.resolve(given)
      await isWaiting
    },
    close: () => next?.reject(new CallEnded('the instance is given up')),
  }
}

/** Writes what the program asks of its batch, each to its pointer, and returns the size of the largest record. */
function writeHeader(view: DataView, pointers: number[], { section, context, records, encoded }: Work): number {
  const [offset, count, epoch, attributes, lastDelta, baseTime, maxTime, producer, producerEpoch, sequence] = pointers as Pointers
  const first = section.offsetOf(records[0]!)
  view.setBigInt64(offset, first, true)
  view.setInt32(count, records.length, true)
  view.setInt32(epoch, 0, true)
  view.setInt16(attributes, 0, true)
  view.setInt32(lastDelta, Number(section.offsetOf(records.at(-1)!) - first), true)
  view.setBigInt64(baseTime, context.baseTimestamp, true)
  view.setBigInt64(maxTime, context.maxTimestamp, true)
  // Who produced the batch is not a transform's matter.
  view.setBigInt64(producer, -1n, true)
  view.setInt16(producerEpoch, -1, true)
  view.setInt32(sequence, -1, true)
  return encoded.reduce((largest, { length }) => Math.max(largest, length), 0)
}
type Pointers = [number, number, number, number, number, number, number, number, number, number]
