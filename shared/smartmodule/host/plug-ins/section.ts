/** One run of a plug-in over the kernel's current section: its records in, and the plug-in's output for each of them out, in order. */
import { decodeRecords, encodeRecords, LOG_APPEND_TIME, type KafkaRecord } from '../../../kafka/protocol/record-batch.ts'
import { SMARTMODULE_LIMITS, SmartModuleTrap, type InitDocument } from '../../abi.ts'
import { fillSection, type Kernel } from '../kernel.ts'
import type { BatchContext } from '../step.ts'

/** What a plug-in made of a record; a key or headers that are left out are the record's own. */
export type PlugInOutput = { value: Buffer | null; key?: Buffer | null; headers?: KafkaRecord['headers'] }

/** The records that a plug-in is called for, and where its outputs go. Records count from 0. */
export type PlugInSection = {
  records: KafkaRecord[]
  /** Each record's value without its frame; undefined for one that the plug-in is not called for: a tombstone, or one without a frame. */
  inputs: (Buffer | undefined)[]
  /** The records that have an input. */
  asked: number[]
  /** Bytes that the outputs may still take. */
  bytesLeft(): number
  /** Records that fit into them. */
  recordsLeft(): number
  offsetOf(record: number): bigint
  /** Milliseconds since 1970. */
  timeOf(record: number): bigint
  /** Adds an output of a record. Throws SmartModuleTrap when there are too many bytes. */
  put(record: number, output: PlugInOutput): void
  /** The record failed: it has no output. */
  fail(record: number, message: string): void
  /** Makes the outputs the kernel's current section. */
  finish(): void
}

const MESSAGE_MAX = 1024
/** What a record takes beside its key, value and headers. */
const RECORD_BYTES = 30

/** Opens the kernel's current section for a plug-in. Records without the frame that they must have fail here. */
export function openPlugInSection(kernel: Kernel, document: InitDocument, context: BatchContext): PlugInSection {
  const { step, input_prefix_length: prefixLength } = document
  const prefix = Buffer.from(document.output_prefix, 'base64')
  const bytes = Buffer.from(kernel.memory.buffer.slice(kernel.currentPtr(), kernel.currentPtr() + kernel.currentLength()))
  const records = decodeRecords(bytes, kernel.currentCount())
  const outputs: (KafkaRecord[] | undefined)[] = []
  const bytesMax = bytes.length * SMARTMODULE_LIMITS.output_bytes_per_input + SMARTMODULE_LIMITS.output_bytes_extra
  let produced = 0
  context.members = undefined
  const inputs = records.map((record, index) => {
    const { value, offsetDelta } = record
    if (value === null) {
      // A tombstone passes unchanged: dropping it would leave the deleted key alive in a compacted topic.
      outputs[index] = [record]
      return undefined
    }
    if (prefixLength > 0 && (value.length < prefixLength || value[0] !== 0)) {
      context.fail(offsetDelta, 3, 'the value does not start with the schema registry prefix (magic byte 0)')
      return undefined
    }
    return value.subarray(prefixLength)
  })
  return {
    records,
    inputs,
    asked: inputs.flatMap((input, record) => (input ? [record] : [])),
    bytesLeft: () => bytesMax - produced,
    recordsLeft: () => (bytesMax - produced) / RECORD_BYTES,
    offsetOf: (record) => context.baseOffset + BigInt(records[record]!.offsetDelta),
    timeOf: (record) =>
      (context.attributes & LOG_APPEND_TIME) === 0 ? context.baseTimestamp + records[record]!.timestampDelta : context.maxTimestamp,
    put(record, { value, key, headers }) {
      const own = records[record]!
      const [itsKey, itsHeaders] = [key === undefined ? own.key : key, headers ?? own.headers]
      // The record's own key and headers count too: they are written once for each output.
      produced += RECORD_BYTES + (value?.length ?? 0) + (itsKey?.length ?? 0)
      for (const [name, bytes] of itsHeaders) produced += Buffer.byteLength(name) + (bytes?.length ?? 0) + 4
      if (produced > bytesMax)
        throw new SmartModuleTrap(step, `returned more than ${SMARTMODULE_LIMITS.output_bytes_per_input} times its input`)
      const output: KafkaRecord = {
        ...own,
        value: value && (prefix.length === 0 ? value : Buffer.concat([prefix, value])),
        key: itsKey,
        headers: itsHeaders,
      }
      const others = outputs[record]
      if (others) others.push(output)
      else outputs[record] = [output]
    },
    fail(record, message) {
      outputs[record] = []
      context.fail(records[record]!.offsetDelta, 1, message.slice(0, MESSAGE_MAX))
    },
    finish() {
      const all = records.flatMap((_, index) => outputs[index] ?? [])
      const encoded = encodeRecords(all)
      fillSection(kernel, encoded)
      if (kernel.take(encoded.length, all.length, step + 1) < 0)
        throw new SmartModuleTrap(step, 'returned records that are not from its input')
    },
  }
}

/** A step's config as plug-ins get theirs: texts as they are, other values as JSON. */
export const textsOf = ({ config }: InitDocument): Record<string, string> =>
  Object.fromEntries(
    Object.entries((config ?? {}) as Record<string, unknown>).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  )
