/** Records and write options in the format of Redpanda's data transforms: the fields of a Kafka record, their lengths as varints. */
import { bytesSize, encodeHeaders, writeBytes, type KafkaRecord } from '../../../kafka/protocol/record-batch.ts'
import { readVarint, type Cursor } from '../../../kafka/protocol/varint.ts'
import { takeBytes } from './take-bytes.ts'

/** A record as a transform sees it: its place and times are told beside it. */
export type TransformRecord = Pick<KafkaRecord, 'key' | 'value' | 'headers'>

/** Each becomes an object. */
const HEADERS_MAX = 10_000

/** Key, value, the number of headers, and each one's name and value. */
export function encodeTransformRecord({ key, value, headers }: TransformRecord): Buffer {
  const encodedHeaders = encodeHeaders(headers)
  const target = Buffer.allocUnsafe(bytesSize(key) + bytesSize(value) + encodedHeaders.length)
  encodedHeaders.copy(target, writeBytes(target, value, writeBytes(target, key, 0)))
  return target
}

function take(bytes: Buffer, cursor: Cursor): Buffer | null {
  const length = readVarint(bytes, cursor)
  return length === -1 ? null : takeBytes(bytes, cursor, length)
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
