/** Records and write options as Redpanda's data transforms read and write them: the fields of a Kafka record, with their lengths as varints. */
import { readVarint, varintSize, writeVarint, type Cursor } from '../../../kafka/protocol/varint.ts'
import type { KafkaRecord } from '../../../kafka/protocol/record-batch.ts'

/** A record as a transform sees it: its place and times are told beside it. */
export type TransformRecord = Pick<KafkaRecord, 'key' | 'value' | 'headers'>

/** Each becomes an object. */
const HEADERS_MAX = 10_000

const sizeOf = (bytes: Uint8Array | null): number => (bytes === null ? 1 : varintSize(bytes.length) + bytes.length)

function put(target: Buffer, bytes: Uint8Array | null, at: number): number {
  const behind = writeVarint(target, bytes === null ? -1 : bytes.length, at)
  if (bytes === null) return behind
  target.set(bytes, behind)
  return behind + bytes.length
}

/** Key, value, the number of headers, and each one's name and value. */
export function encodeTransformRecord({ key, value, headers }: TransformRecord): Buffer {
  const names = headers.map(([name]) => Buffer.from(name))
  const size = headers.reduce((sum, [, each], index) => sum + sizeOf(names[index]!) + sizeOf(each), sizeOf(key) + sizeOf(value))
  const target = Buffer.allocUnsafe(size + varintSize(headers.length))
  let at = put(target, value, put(target, key, 0))
  at = writeVarint(target, headers.length, at)
  for (const [index, [, each]] of headers.entries()) at = put(target, each, put(target, names[index]!, at))
  return target
}

function take(bytes: Buffer, cursor: Cursor): Buffer | null {
  const length = readVarint(bytes, cursor)
  if (length === -1) return null
  if (length < 0 || length > bytes.length - cursor.at) throw new RangeError('a length is negative or runs past the end')
  const taken = bytes.subarray(cursor.at, cursor.at + length)
  cursor.at += length
  return taken
}

/** Throws RangeError for bytes that are not exactly one record. */
export function decodeTransformRecord(bytes: Buffer): TransformRecord {
  const cursor: Cursor = { at: 0 }
  const key = take(bytes, cursor)
  const value = take(bytes, cursor)
  const count = readVarint(bytes, cursor)
  if (count < 0 || count > HEADERS_MAX) throw new RangeError('the number of headers is wrong')
  const headers: KafkaRecord['headers'] = []
  for (let i = 0; i < count; i++) headers.push([take(bytes, cursor)?.toString('utf8') ?? '', take(bytes, cursor)])
  if (cursor.at !== bytes.length) throw new RangeError('there are bytes behind the record')
  return { key, value, headers }
}

const OPTION_TOPIC = 1

/** The topic that a record is written to; undefined for the default one. Throws RangeError for options that are not known. */
export function decodeTopic(options: Buffer): string | undefined {
  if (options.length === 0) return undefined
  const cursor: Cursor = { at: 1 }
  const topic = options[0] === OPTION_TOPIC ? take(options, cursor) : null
  if (topic === null || cursor.at !== options.length) throw new RangeError('an option is not known')
  return topic.toString('utf8')
}
