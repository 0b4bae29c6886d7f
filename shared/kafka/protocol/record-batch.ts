/**
 * The Kafka record batch, format v2 (KIP-98): header fields, and a record codec for code off the hot path. Pure functions over bytes,
 * independent of connections and pipelines.
 */
import { crc32c } from '@node-rs/crc32'
import type { Compression } from '../../model/definition.ts'
import { atOnce } from '../../model/turns.ts'
import { CODECS, deflate } from './compression.ts'
import { readVarint, readVarlong, varintSize, varlongSize, writeVarint, writeVarlong, type Cursor } from './varint.ts'

/** Length of a batch's header in bytes (KIP-98); the records section follows. The constants below are offsets of header fields. */
export const BATCH_HEADER_BYTES = 61
const BATCH_LENGTH = 8
const LEADER_EPOCH = 12
const MAGIC = 16
const CRC = 17
/** The CRC covers the batch from here to its end. */
const ATTRIBUTES = 21
const LAST_OFFSET_DELTA = 23
const BASE_TIMESTAMP = 27
const MAX_TIMESTAMP = 35
const PRODUCER_ID = 43
const PRODUCER_EPOCH = 51
const BASE_SEQUENCE = 53
const RECORD_COUNT = 57

/** Attribute bits that hold the codec of a batch, 0 for none (KIP-98). */
export const COMPRESSION_MASK = 0x07
/** Attribute bit: all records have `maxTimestamp` as their time, set by the broker (KIP-32). */
export const LOG_APPEND_TIME = 0x08
/** Attribute bit: the batch is part of a transaction (KIP-98). */
export const TRANSACTIONAL = 0x10
/** Attribute bit: the batch holds a control record, such as a transaction marker, and no data (KIP-98). */
export const CONTROL = 0x20

/** Header fields of a batch (KIP-98). `size` is the length of the whole batch in bytes; timestamps are in milliseconds. */
export type BatchHeader = {
  baseOffset: bigint
  size: number
  magic: number
  attributes: number
  lastOffsetDelta: number
  baseTimestamp: bigint
  maxTimestamp: bigint
  producerId: bigint
  recordCount: number
}

/** What a header says about the records of its section. */
export type SectionHeader = Omit<BatchHeader, 'size' | 'magic' | 'producerId'>

/**
 * The header of the batch at byte offset `at`; undefined when no complete batch starts there, because a Fetch answer may end in a
 * partial one.
 */
export function readBatchHeader(bytes: Buffer, at: number): BatchHeader | undefined {
  if (bytes.length - at < BATCH_HEADER_BYTES) return undefined
  const size = 12 + bytes.readInt32BE(at + BATCH_LENGTH)
  if (size < BATCH_HEADER_BYTES || bytes.length - at < size) return undefined
  return {
    baseOffset: bytes.readBigInt64BE(at),
    size,
    magic: bytes.readInt8(at + MAGIC),
    attributes: bytes.readInt16BE(at + ATTRIBUTES),
    lastOffsetDelta: bytes.readInt32BE(at + LAST_OFFSET_DELTA),
    baseTimestamp: bytes.readBigInt64BE(at + BASE_TIMESTAMP),
    maxTimestamp: bytes.readBigInt64BE(at + MAX_TIMESTAMP),
    producerId: bytes.readBigInt64BE(at + PRODUCER_ID),
    recordCount: bytes.readInt32BE(at + RECORD_COUNT),
  }
}

/** True when the batch at `at` is neither compressed nor stamped by the broker, and not larger than `bytesMax`. */
export function isPlainBatch(bytes: Buffer, at: number, bytesMax: number): boolean {
  return (
    bytes.length - at >= BATCH_HEADER_BYTES &&
    bytes.readInt32BE(at + BATCH_LENGTH) + 12 <= bytesMax &&
    (bytes.readInt16BE(at + ATTRIBUTES) & (COMPRESSION_MASK | LOG_APPEND_TIME)) === 0
  )
}

/** Header fields set when a batch is built; `stampProducer` adds producer and sequence later. */
export type NewBatch = { attributes: number; recordCount: number; baseTimestamp: bigint; maxTimestamp: bigint }

/** Writes the header of a batch whose records section is already in place. The batch is complete only after `stampProducer`. */
export function writeBatchHeader(batch: Buffer, values: NewBatch): void {
  batch.writeBigInt64BE(0n, 0)
  batch.writeInt32BE(batch.length - 12, BATCH_LENGTH)
  batch.writeInt32BE(0, LEADER_EPOCH)
  batch.writeInt8(2, MAGIC)
  batch.writeInt16BE(values.attributes, ATTRIBUTES)
  batch.writeInt32BE(values.recordCount - 1, LAST_OFFSET_DELTA)
  batch.writeBigInt64BE(values.baseTimestamp, BASE_TIMESTAMP)
  batch.writeBigInt64BE(values.maxTimestamp, MAX_TIMESTAMP)
  batch.writeInt32BE(values.recordCount, RECORD_COUNT)
}

/** Writes producer id, epoch and the first record's sequence (all -1 for a producer without idempotence), then the CRC-32C. */
export function stampProducer(batch: Buffer, producerId: bigint, producerEpoch: number, baseSequence: number): void {
  batch.writeBigInt64BE(producerId, PRODUCER_ID)
  batch.writeInt16BE(producerEpoch, PRODUCER_EPOCH)
  batch.writeInt32BE(baseSequence, BASE_SEQUENCE)
  batch.writeUInt32BE(crc32c(batch.subarray(ATTRIBUTES)), CRC)
}

/** One decoded record. Its buffers are views of the section it came from; header keys are UTF-8, as the format requires. */
export type KafkaRecord = {
  offsetDelta: number
  timestampDelta: bigint
  key: Buffer | null
  value: Buffer | null
  headers: [key: string, value: Buffer | null][]
}

function readBytes(section: Buffer, cursor: Cursor): Buffer | null {
  const length = readVarint(section, cursor)
  if (length < 0) return null
  const bytes = section.subarray(cursor.at, cursor.at + length)
  cursor.at += length
  return bytes
}

/** The record at the cursor in an uncompressed section; the cursor moves past it. Throws RangeError on malformed bytes. */
export function decodeRecord(section: Buffer, cursor: Cursor): KafkaRecord {
  const length = readVarint(section, cursor)
  const end = cursor.at + length
  if (length < 1 || end > section.length) throw new RangeError('a record is longer than its section')
  cursor.at++
  const timestampDelta = readVarlong(section, cursor)
  const offsetDelta = readVarint(section, cursor)
  const key = readBytes(section, cursor)
  const value = readBytes(section, cursor)
  const headerCount = readVarint(section, cursor)
  const headers: KafkaRecord['headers'] = []
  for (let h = 0; h < headerCount; h++) headers.push([readBytes(section, cursor)?.toString('utf8') ?? '', readBytes(section, cursor)])
  if (cursor.at !== end) throw new RangeError('a record does not fill its length')
  return { offsetDelta, timestampDelta, key, value, headers }
}

/** The first `count` records of an uncompressed section. Throws RangeError on malformed bytes. */
export const decodeRecords = (section: Buffer, count: number): KafkaRecord[] => atOnce(decodeSteps(section, count))

/** Records between two places where `decodeSteps` may pause. */
const STEP_RECORDS = 64

/** The records of `decodeRecords`. Yields where the work may pause. */
export function* decodeSteps(section: Buffer, count: number): Generator<void, KafkaRecord[]> {
  const cursor: Cursor = { at: 0 }
  const records: KafkaRecord[] = []
  while (records.length < count) {
    records.push(decodeRecord(section, cursor))
    if (records.length % STEP_RECORDS === 0) yield
  }
  return records
}

/** How many bytes `writeBytes` writes. */
export function bytesSize(bytes: Buffer | null): number {
  return bytes === null ? 1 : varintSize(bytes.length) + bytes.length
}

/** Writes a key or a value as records have them, its length as a varint in front and -1 for null; returns the offset behind it. */
export function writeBytes(target: Buffer, bytes: Buffer | null, at: number): number {
  if (bytes === null) return writeVarint(target, -1, at)
  const after = writeVarint(target, bytes.length, at)
  bytes.copy(target, after)
  return after + bytes.length
}

/** The records as one uncompressed section, in the given order and with the given deltas. */
export function encodeRecords(records: KafkaRecord[]): Buffer {
  const bodies = records.map((record) => {
    const headerKeys = record.headers.map(([key]) => Buffer.from(key, 'utf8'))
    let size =
      1 +
      varlongSize(record.timestampDelta) +
      varintSize(record.offsetDelta) +
      bytesSize(record.key) +
      bytesSize(record.value) +
      varintSize(record.headers.length)
    for (const [index, [, value]] of record.headers.entries()) size += bytesSize(headerKeys[index]!) + bytesSize(value)
    return { size, headerKeys }
  })
  const target = Buffer.allocUnsafeSlow(bodies.reduce((sum, { size }) => sum + varintSize(size) + size, 0))
  let at = 0
  for (const [index, record] of records.entries()) {
    at = writeVarint(target, bodies[index]!.size, at)
    target[at++] = 0
    at = writeVarlong(target, record.timestampDelta, at)
    at = writeVarint(target, record.offsetDelta, at)
    at = writeBytes(target, record.key, at)
    at = writeBytes(target, record.value, at)
    at = writeVarint(target, record.headers.length, at)
    for (const [h, [, value]] of record.headers.entries())
      at = writeBytes(target, value, writeBytes(target, bodies[index]!.headerKeys[h]!, at))
  }
  return target
}

/** Headers encoded as at the end of a record: their count, then each key and value. */
export function encodeHeaders(headers: KafkaRecord['headers']): Buffer {
  const keys = headers.map(([key]) => Buffer.from(key, 'utf8'))
  const size = headers.reduce((sum, [, value], index) => sum + bytesSize(keys[index]!) + bytesSize(value), varintSize(headers.length))
  const target = Buffer.allocUnsafe(size)
  let at = writeVarint(target, headers.length, 0)
  for (const [index, [, value]] of headers.entries()) at = writeBytes(target, value, writeBytes(target, keys[index]!, at))
  return target
}

/** A whole batch of records whose offset deltas are 0, 1, 2, …; not yet stamped with a producer. */
export function encodeBatch(records: KafkaRecord[], baseTimestamp: bigint, attributes: number): Buffer {
  const section = encodeRecords(records)
  const batch = Buffer.allocUnsafeSlow(BATCH_HEADER_BYTES + section.length)
  section.copy(batch, BATCH_HEADER_BYTES)
  const maxTimestamp = records.reduce(
    (max, record) => (baseTimestamp + record.timestampDelta > max ? baseTimestamp + record.timestampDelta : max),
    baseTimestamp,
  )
  writeBatchHeader(batch, { attributes, recordCount: records.length, baseTimestamp, maxTimestamp })
  return batch
}

/** A copy of the batch with its records section compressed; its CRC is invalid until `stampProducer`. */
export function compressBatch(batch: Buffer, compression: Exclude<Compression, 'none'>): Buffer {
  const section = deflate(compression, batch.subarray(BATCH_HEADER_BYTES))
  const compressed = Buffer.allocUnsafeSlow(BATCH_HEADER_BYTES + section.length)
  batch.copy(compressed, 0, 0, BATCH_HEADER_BYTES)
  section.copy(compressed, BATCH_HEADER_BYTES)
  compressed.writeInt32BE(compressed.length - 12, BATCH_LENGTH)
  compressed.writeInt16BE(batch.readInt16BE(ATTRIBUTES) | CODECS[compression], ATTRIBUTES)
  return compressed
}
