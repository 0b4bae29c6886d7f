/**
 * Encodes a block of records as Kafka record batches (KIP-98), unstamped.
 * HOT: allocates nothing per record.
 */
import { createBlockBuilder, REFUSED, SPAN, type RecordBlock } from './record-block.ts'
import { partitionOfKey } from '../kafka/protocol/murmur2.ts'
import { BATCH_HEADER_BYTES, writeBatchHeader } from '../kafka/protocol/record-batch.ts'
import { atOnce } from '../model/turns.ts'
import { varintSize, varlongSizeOf, writeVarint, writeVarlongOf } from '../kafka/protocol/varint.ts'

const BATCH_BYTES = 1_000_000
/** Most bytes of a record beside its contents: length, attributes, two deltas, two lengths and the header count. */
const RECORD_OVERHEAD = 5 + 1 + 1 + 5 + 5 + 5 + 1
/** What the timestamp's delta may take besides, where records have times of their own. */
const TIME_OVERHEAD = 9

/** A batch for one partition: the first `length` bytes of `bytes`. */
export type BlockBatch = { partition: number; bytes: ArrayBuffer; length: number; records: number }

/**
 * `keyless`: partition of records without a key. `times`: each record's time in milliseconds; without it, all have `nowMs`. `prefix`: bytes
 * before every value that is neither null nor refused. `bytesMax`: limit in bytes of a batch with more than one record.
 */
export type BatchOptions = {
  partitions: number
  keyless: number
  nowMs: number
  times?: Float64Array
  attributes: number
  prefix: Buffer
  bytesMax?: number
}

const NO_FRAME = Buffer.alloc(0)

type Open = { bytes: Buffer; at: number; records: number; baseMs: number; latestMs: number }

/** Records between two places where `batchSteps` may pause. */
const STEP_RECORDS = 64

/** Returns the block's records as batches, one or more per partition. A record with a key goes to the key's partition. */
export const batchesOf = (block: RecordBlock, options: BatchOptions): BlockBatch[] => atOnce(batchSteps(block, options))

/** Makes the batches of `batchesOf`. Yields where the work may pause. */
export function* batchSteps(
  block: RecordBlock,
  { partitions, keyless, nowMs, times, attributes, prefix, bytesMax = BATCH_BYTES }: BatchOptions,
): Generator<void, BlockBatch[]> {
  const batches: BlockBatch[] = []
  const open: (Open | undefined)[] = Array.from({ length: partitions }, () => undefined)
  const { bytes, spans } = block
  const overhead = RECORD_OVERHEAD + (times ? TIME_OVERHEAD : 0)

  /** Most bytes that a batch of all records from this one on would take. Their bytes are contiguous in the block. */
  function roomFor(record: number): number {
    let from = bytes.length
    for (let part = 0; part < SPAN; part += 2) {
      const start = spans[record * SPAN + part]!
      if (start >= 0 && start < from) from = start
    }
    return BATCH_HEADER_BYTES + bytes.length - from + (block.count - record) * (overhead + prefix.length)
  }

  function seal(partition: number): void {
    const batch = open[partition]
    if (!batch) return
    open[partition] = undefined
    const whole = batch.bytes.subarray(0, batch.at)
    const [baseTimestamp, maxTimestamp] = [BigInt(batch.baseMs), BigInt(batch.latestMs)]
    writeBatchHeader(whole, { attributes, recordCount: batch.records, baseTimestamp, maxTimestamp })
    batches.push({ partition, bytes: whole.buffer as ArrayBuffer, length: batch.at, records: batch.records })
  }

  for (let i = 0; i < block.count; i++) {
    const keyFrom = spans[i * SPAN]!
    const keyTo = spans[i * SPAN + 1]!
    const valueFrom = spans[i * SPAN + 2]!
    const valueTo = spans[i * SPAN + 3]!
    const keyLength = keyFrom < 0 ? -1 : keyTo - keyFrom
    const frame = keyTo === REFUSED ? NO_FRAME : prefix
    const valueLength = valueFrom < 0 ? -1 : valueTo - valueFrom + frame.length
    const headersFrom = spans[i * SPAN + 4]!
    // Without headers, one byte holds the count 0.
    const headersLength = headersFrom < 0 ? 1 : spans[i * SPAN + 5]! - headersFrom
    const need = Math.max(0, keyLength) + Math.max(0, valueLength) + headersLength + overhead
    const timeMs = times ? times[i]! : nowMs
    const partition = keyFrom < 0 ? keyless : partitionOfKey(bytes, keyFrom, keyTo, partitions)
    if (open[partition] && open[partition].at + need > open[partition].bytes.length) seal(partition)
    // Each batch has its own ArrayBuffer, because it is handed out without a copy.
    const batch = (open[partition] ??= {
      bytes: Buffer.from(new ArrayBuffer(Math.max(Math.min(bytesMax, roomFor(i)), BATCH_HEADER_BYTES + need))),
      at: BATCH_HEADER_BYTES,
      records: 0,
      baseMs: timeMs,
      latestMs: timeMs,
    })
    if (timeMs > batch.latestMs) batch.latestMs = timeMs
    const delta = timeMs - batch.baseMs
    const size =
      1 +
      varlongSizeOf(delta) +
      varintSize(batch.records) +
      varintSize(keyLength) +
      Math.max(0, keyLength) +
      varintSize(valueLength) +
      Math.max(0, valueLength) +
      headersLength
    const target = batch.bytes
    let at = writeVarint(target, size, batch.at)
    target[at++] = 0
    at = writeVarlongOf(target, delta, at)
    at = writeVarint(target, batch.records, at)
    at = writeVarint(target, keyLength, at)
    if (keyFrom >= 0) at += bytes.copy(target, at, keyFrom, keyTo)
    at = writeVarint(target, valueLength, at)
    if (valueFrom >= 0) {
      at += frame.copy(target, at)
      at += bytes.copy(target, at, valueFrom, valueTo)
    }
    if (headersFrom < 0) target[at++] = 0
    else at += bytes.copy(target, at, headersFrom, headersFrom + headersLength)
    batch.at = at
    batch.records++
    if (i % STEP_RECORDS === STEP_RECORDS - 1) yield
  }
  for (let partition = 0; partition < partitions; partition++) seal(partition)
  return batches
}

/**
 * Returns the block with each record that is too large for a topic of `bytesMax` replaced by a refused one, so that it becomes a dead
 * letter instead of stopping the source. Returns the same block if no record is too large.
 */
export function refuseTooLarge(block: RecordBlock, bytesMax: number): RecordBlock {
  const { bytes, spans, count } = block
  const sizeOf = (i: number): number => {
    let size = 0
    for (let part = 0; part < SPAN; part += 2)
      if (spans[i * SPAN + part]! >= 0) size += spans[i * SPAN + part + 1]! - spans[i * SPAN + part]!
    return size
  }
  const most = bytesMax - BATCH_HEADER_BYTES - RECORD_OVERHEAD - FRAME_BYTES_MAX
  let largest = 0
  for (let i = 0; i < count; i++) largest = Math.max(largest, sizeOf(i))
  if (largest <= most) return block
  const builder = createBlockBuilder(bytes.length)
  const part = (at: number): Uint8Array | null => (spans[at]! < 0 ? null : bytes.subarray(spans[at], spans[at + 1]))
  for (let i = 0; i < count; i++) {
    const [key, value, headers] = [part(i * SPAN), part(i * SPAN + 2), part(i * SPAN + 4)]
    if (sizeOf(i) > most)
      builder.refuse('record_too_large', `the record has ${sizeOf(i)} bytes; a topic takes at most ${most}`, value ?? new Uint8Array())
    else if (spans[i * SPAN + 1] === REFUSED) builder.addRefused(value, headers)
    else builder.add(key, value, headers)
  }
  return builder.take()
}

/** Upper bound for the registry's prefix. */
const FRAME_BYTES_MAX = 16
