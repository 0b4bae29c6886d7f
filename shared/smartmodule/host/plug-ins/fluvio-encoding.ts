/** What Fluvio's SmartModules are called with and answer, in the encoding of Fluvio's protocol: big-endian numbers, varints as in Kafka. */
import { bytesSize, writeBytes } from '../../../kafka/protocol/record-batch.ts'
import { readVarint, readVarlong, varintSize, varlongSize, writeVarint, writeVarlong, type Cursor } from '../../../kafka/protocol/varint.ts'
import { takeBytes } from './take-bytes.ts'

/** The version of the encoding: the newest that modules of old SDKs (0.4.0) read too. */
export const FLUVIO_VERSION = 22

/** A record of a call; its offset and time are less those of the call. */
export type FluvioRecord = { offsetDelta: number; timestampDelta: bigint; key: Buffer | null; value: Buffer }

const u32 = (value: number): Buffer => {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeUInt32BE(value)
  return bytes
}
const i64 = (value: bigint): Buffer => {
  const bytes = Buffer.allocUnsafe(8)
  bytes.writeBigInt64BE(value)
  return bytes
}
const u16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255])
const text = (value: string): Buffer => {
  const bytes = Buffer.from(value)
  return Buffer.concat([u16(bytes.length), bytes])
}
const NONE = Buffer.from([0])
/** Bytes kept of a text that says why. */
const HINT_MAX = 4096
const TEXT_BYTES_MAX = 32_767

/**
 * Parameters as `init` and every call get them: a map in the order of its keys, without look-back. Throws RangeError for a text too long.
 */
export function encodeParameters(parameters: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries(parameters).sort(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  const long = entries.flat().find((each) => Buffer.byteLength(each) > TEXT_BYTES_MAX)
  if (long !== undefined) throw new RangeError(`a parameter of a Fluvio module may have ${TEXT_BYTES_MAX} bytes`)
  return Buffer.concat([u16(entries.length), ...entries.flatMap(([name, value]) => [text(name), text(value)]), NONE])
}

function encodeRecord({ offsetDelta, timestampDelta, key, value }: FluvioRecord): Buffer {
  const keySize = key === null ? 0 : bytesSize(key)
  const size = 3 + varlongSize(timestampDelta) + varintSize(offsetDelta) + keySize + bytesSize(value)
  const target = Buffer.allocUnsafe(varintSize(size) + size)
  let at = writeVarint(target, size, 0)
  target[at++] = 0
  at = writeVarlong(target, timestampDelta, at)
  at = writeVarint(target, offsetDelta, at)
  target[at++] = key === null ? 0 : 1
  if (key) at = writeBytes(target, key, at)
  at = writeBytes(target, value, at)
  // No headers: Fluvio has none.
  target[at] = 0
  return target
}

/** The input of one call; `parameters` as encoded. */
export function encodeInput(records: readonly FluvioRecord[], baseOffset: bigint, baseTimestamp: bigint, parameters: Buffer): Buffer {
  const encoded = records.map(encodeRecord)
  const size = encoded.reduce((sum, { length }) => sum + length, 4)
  const noJoin = u32(0)
  return Buffer.concat([i64(baseOffset), u32(size), u32(records.length), ...encoded, parameters, noJoin, i64(baseTimestamp)])
}

/** What a call made of its records: outputs, and the error at which it stopped. `offset` is the record's. */
export type FluvioOutput = {
  records: { offsetDelta: number; key: Buffer | null; value: Buffer }[]
  error?: { hint: string; offset: bigint }
}

const takeData = (bytes: Buffer, cursor: Cursor): Buffer => takeBytes(bytes, cursor, readVarint(bytes, cursor))
const takeOption = (bytes: Buffer, cursor: Cursor): Buffer | null => (takeBytes(bytes, cursor, 1)[0] === 0 ? null : takeData(bytes, cursor))
/** The text that an error of `init` is. Throws RangeError when it is none. */
export const decodeHint = (bytes: Buffer, cursor: Cursor = { at: 0 }): string =>
  takeBytes(bytes, cursor, takeBytes(bytes, cursor, 2).readUInt16BE())
    .subarray(0, HINT_MAX)
    .toString('utf8')

/** Throws RangeError when the bytes are not an output, or hold more than `recordsMax` records. */
export function decodeOutput(bytes: Buffer, recordsMax: number): FluvioOutput {
  const cursor: Cursor = { at: 0 }
  const count = takeBytes(bytes, cursor, 4).readUInt32BE()
  if (count > bytes.length || count > recordsMax) throw new RangeError('there are more records than there may be')
  const records: FluvioOutput['records'] = []
  for (let i = 0; i < count; i++) {
    const size = readVarint(bytes, cursor)
    const end = cursor.at + size
    takeBytes(bytes, cursor, 1)
    readVarlong(bytes, cursor)
    const offsetDelta = readVarint(bytes, cursor)
    const key = takeOption(bytes, cursor)
    const value = takeData(bytes, cursor)
    readVarint(bytes, cursor)
    if (cursor.at !== end) throw new RangeError('a record does not end where it says')
    records.push({ offsetDelta, key, value })
  }
  if (takeBytes(bytes, cursor, 1)[0] === 0) return { records }
  const hint = decodeHint(bytes, cursor)
  return { records, error: { hint, offset: takeBytes(bytes, cursor, 8).readBigInt64BE() } }
}
