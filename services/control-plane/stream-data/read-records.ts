/** Reads one partition by raw fetches at read-committed, without a consumer group: its visible batches, and the records in them. */
import type { Connections, TopicLayout } from '../../../shared/kafka/cluster.ts'
import { batchesIn, sectionOf, type FoundBatch } from '../../../shared/kafka/protocol/batches-in.ts'
import { LOG_APPEND_TIME, decodeRecord, type BatchHeader, type KafkaRecord } from '../../../shared/kafka/protocol/record-batch.ts'
import { readVarint, type Cursor } from '../../../shared/kafka/protocol/varint.ts'
import { KafkaError } from '../../../shared/kafka/kafka-error.ts'
import { fetchBatches } from '../../../shared/kafka/wire/fetch.ts'
import type { Pace } from '../concurrency/pacing.ts'

/** A batch with visible records: not a control batch, not aborted, not empty. */
export type CountedBatch = Omit<FoundBatch, 'isData'>

/** One fetch from `offset`: its visible batches, and the offset of the next fetch, which equals `offset` if there is nothing to read. */
export async function fetchCounted(
  connections: Connections,
  layout: TopicLayout,
  partition: number,
  offset: bigint,
  bytesMax: number,
): Promise<{ batches: CountedBatch[]; nextOffset: bigint; bytes: number }> {
  const answer = await fetchBatches(await connections.leader(layout.leaders[partition]!), {
    topicId: layout.topicId,
    partitions: [{ partition, offset, bytesMax }],
    waitMs: 0,
    bytesMin: 0,
    bytesMax,
  })
  const fetched = answer.partitions[0]
  const code = answer.errorCode || (fetched?.errorCode ?? 0)
  if (code !== 0) throw new KafkaError(code)
  const batches: CountedBatch[] = []
  let nextOffset = offset
  for (const { isData, ...batch } of fetched?.bytes ? batchesIn(fetched.bytes, fetched.aborted) : []) {
    nextOffset = batch.nextOffset
    if (nextOffset > offset && isData && batch.header.recordCount > 0) batches.push(batch)
  }
  return { batches, nextOffset, bytes: fetched?.bytes?.length ?? 0 }
}

/**
 * How many records of the batch are at the offset or behind it: a partition may begin in the middle of a batch. Where a compaction has
 * left gaps in that one, at most so many.
 */
export function countFrom({ header, nextOffset }: CountedBatch, offset: bigint): number {
  return header.baseOffset >= offset ? header.recordCount : Math.min(header.recordCount, Number(nextOffset - offset))
}

/** A record with key, value and headers, which are views of its batch's section. */
type WholeRecord = { offset: bigint; timestamp: bigint; record: KafkaRecord }

const placed = (header: BatchHeader, record: KafkaRecord): WholeRecord => ({
  offset: header.baseOffset + BigInt(record.offsetDelta),
  timestamp: (header.attributes & LOG_APPEND_TIME) !== 0 ? header.maxTimestamp : header.baseTimestamp + record.timestampDelta,
  record,
})

/** Which records of a batch: the first or the last `limit` of those from `offset` up to `until`, with this key. */
export type Wanted = { offset: bigint; until: bigint | undefined; key: Buffer | undefined; limit: number; side: 'first' | 'last' }

/** Those records of the batch, each as `keep` makes it. Only they are decoded; the others are passed over by their lengths. */
export function wantedOf<T>(
  batch: CountedBatch,
  { offset, until, key, limit, side }: Wanted,
  keep: (found: WholeRecord) => T,
  pace: Pace,
): Promise<T[]> {
  const { header } = batch
  const first = Number(offset - header.baseOffset)
  const end = until === undefined ? Number.POSITIVE_INFINITY : Number(until - header.baseOffset)
  return pace.alone(async () => {
    let section = batch.bytes
    await pace.turns(1, () => (section = sectionOf(batch)).length)
    const cursor: Cursor = { at: 0 }
    let places: number[] = []
    await pace.turns(header.recordCount, () => {
      const at = cursor.at
      const { stop, delta } = readRecordHead(section, cursor)
      if (delta >= end || (side === 'first' && places.length >= limit)) return false
      if (delta >= first && (key === undefined || hasKey(section, cursor, key))) places.push(at)
      if (places.length >= 2 * limit) places = places.slice(-limit)
      cursor.at = stop
      return stop - at
    })
    const found: T[] = []
    places = places.slice(-limit)
    await pace.turns(places.length, (index) => {
      cursor.at = places[index]!
      found.push(keep(placed(header, decodeRecord(section, cursor))))
      return cursor.at - places[index]!
    })
    return found
  })
}

/** Whether the key at the cursor is this one. */
function hasKey(section: Buffer, cursor: Cursor, key: Buffer): boolean {
  const length = readVarint(section, cursor)
  return length === key.length && section.compare(key, 0, length, cursor.at, cursor.at + length) === 0
}

/** Reads a 64-bit varint (KIP-98) as a number; values beyond 2^53 lose their last digits. */
function readSmallVarlong(bytes: Buffer, cursor: Cursor): number {
  let value = 0
  let scale = 1
  for (let i = 0; i < 10; i++) {
    const byte = bytes[cursor.at++]
    if (byte === undefined) throw new RangeError('a varlong runs past the end')
    value += (byte & 0x7f) * scale
    if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
    scale *= 128
  }
  throw new RangeError('a varlong is longer than ten bytes')
}

/** What a record begins with, after which the cursor is at its key; who does not want it goes on at `stop`. */
export function readRecordHead(section: Buffer, cursor: Cursor): { stop: number; timestampDelta: number; delta: number } {
  const length = readVarint(section, cursor)
  const stop = cursor.at + length
  if (length < 1 || stop > section.length) throw new RangeError('a record is longer than its section')
  cursor.at++
  const timestampDelta = readSmallVarlong(section, cursor)
  return { stop, timestampDelta, delta: readVarint(section, cursor) }
}
