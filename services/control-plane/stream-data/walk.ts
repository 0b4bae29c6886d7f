/** Walks the records of a partition one by one, at read-committed, to build pages. Reads offset, time and value; skips key and headers. */
import type { TopicLayout } from '../../../shared/kafka/cluster.ts'
import { LOG_APPEND_TIME } from '../../../shared/kafka/protocol/record-batch.ts'
import { readVarint, type Cursor } from '../../../shared/kafka/protocol/varint.ts'
import type { BatchCache, Chunk, OpenBatch } from './batch-cache.ts'

/** Offsets and times are plain numbers: they are far below 2^53. */
export type ReadRecord = { partition: number; offset: number; timestamp: number; value: Buffer | null }

export type Walk = {
  /** The record at the walk's position; undefined at the end. Fetches more if necessary. */
  current(): Promise<ReadRecord | undefined>
  /** The same, if it is already loaded. */
  loaded(): ReadRecord | undefined
  next(): void
  /** Skips this many records. */
  skip(count: number): Promise<void>
  /** The offset at which another walk would continue: after the last record that was passed. */
  readonly offset: bigint
}

const FETCH_BYTES_MIN = 32 << 10
const FETCH_BYTES_MAX = 1 << 20
const RECORD_BYTES = 512

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

/** `end`: the walk stops before this offset. `expected`: how many records will be read, so that not too much is fetched. */
export function openWalk(cache: BatchCache, layout: TopicLayout, partition: number, offset: bigint, end: bigint, expected: number): Walk {
  let position = offset
  let chunk: Chunk | undefined
  let place = 0
  let batch: OpenBatch | undefined
  let baseOffset = 0
  let index = 0
  let record: ReadRecord | undefined
  let isAtEnd = false
  const cursor: Cursor = { at: 0 }
  const fetchBytes = Math.min(FETCH_BYTES_MAX, Math.max(FETCH_BYTES_MIN, expected * RECORD_BYTES))

  function open(next: OpenBatch): void {
    batch = next
    baseOffset = Number(next.header.baseOffset)
    const wanted = Number(position) - baseOffset
    const from = next.hint.delta >= 0 && next.hint.delta <= wanted ? next.hint : { at: 0, index: 0 }
    cursor.at = from.at
    index = from.index
  }

  /** The next record of the batches fetched so far. */
  function advance(): ReadRecord | undefined {
    while (batch) {
      const { section, header } = batch
      while (index < header.recordCount) {
        const start = cursor.at
        const length = readVarint(section, cursor)
        const stop = cursor.at + length
        if (length < 1 || stop > section.length) throw new RangeError('a record is longer than its section')
        cursor.at++
        const timestampDelta = readSmallVarlong(section, cursor)
        const delta = readVarint(section, cursor)
        const here = index++
        if (baseOffset + delta < position) {
          cursor.at = stop
          continue
        }
        const keyLength = readVarint(section, cursor)
        if (keyLength > 0) cursor.at += keyLength
        const valueLength = readVarint(section, cursor)
        const value = valueLength < 0 ? null : section.subarray(cursor.at, cursor.at + valueLength)
        cursor.at = stop
        batch.hint = { delta, at: start, index: here }
        const isFixed = (header.attributes & LOG_APPEND_TIME) !== 0
        const timestamp = isFixed ? Number(header.maxTimestamp) : Number(header.baseTimestamp) + timestampDelta
        return { partition, offset: baseOffset + delta, timestamp, value }
      }
      place++
      batch = undefined
      const next = chunk!.batches[place]
      if (next) open(next)
    }
    return undefined
  }

  async function current(): Promise<ReadRecord | undefined> {
    while (!record && !isAtEnd) {
      record = advance()
      if (record) break
      if (chunk && chunk.to > position) position = chunk.to
      if (position >= end) {
        isAtEnd = true
        break
      }
      chunk = await cache.read(layout, partition, position, fetchBytes)
      if (chunk.to <= position) {
        isAtEnd = true
        break
      }
      place = chunk.batches.findIndex(({ nextOffset }) => nextOffset > position)
      batch = undefined
      if (place >= 0) open(chunk.batches[place]!)
    }
    if (record && record.offset >= end) {
      isAtEnd = true
      record = undefined
    }
    return record
  }

  function next(): void {
    if (!record) return
    position = BigInt(record.offset + 1)
    record = advance()
    if (record && record.offset >= end) {
      isAtEnd = true
      record = undefined
    }
  }

  return {
    current,
    loaded: () => record,
    next,
    async skip(count) {
      let left = count
      while (left > 0) {
        // Batches that are skipped as a whole are not parsed.
        if (!record && chunk && batch && index === 0 && batch.header.recordCount <= left && batch.header.baseOffset >= position) {
          left -= batch.header.recordCount
          position = batch.nextOffset
          place++
          batch = undefined
          const following = chunk.batches[place]
          if (following) open(following)
          continue
        }
        if (!(await current())) return
        next()
        left--
      }
    },
    get offset() {
      return position
    },
  }
}
