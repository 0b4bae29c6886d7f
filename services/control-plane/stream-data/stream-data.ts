/** A stream's records over HTTP: pages by number or by cursor, and writes. */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { KafkaError, type Cluster, type TopicLayout } from '../../../shared/kafka/cluster.ts'
import { hasMoved } from '../../../shared/kafka/wire/error-codes.ts'
import { invalidRequest, type Detail } from '../service-error.ts'
import type { Database } from '../store/database.ts'
import type { StreamRow } from '../store/streams.ts'
import type { Attempt } from '../deps.ts'
import { turns } from '../turns.ts'
import { createBatchCache } from './batch-cache.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { rangesOf } from './interleave.ts'
import { createLayouts } from './layouts.ts'
import { pageBytes } from './pages.ts'
import { bytesOf, type RawRecords } from './raw-records.ts'
import { createRecordIndex, type PartitionCount } from './record-index.ts'
import { createRecordValidator } from './validate-records.ts'
import { createStreamCodec } from './stream-codec.ts'
import { openWalk, type ReadRecord, type Walk } from './walk.ts'
import { createRecordWriter, type Target, type Values, type Written } from './write-records.ts'

export type PageQuery = { limit: number; page: number; cursor?: string; partition?: number; order: 'asc' | 'desc' }

export type StreamData = {
  /** The page as the bytes of its JSON. */
  readPage(stream: StreamRow, query: PageQuery): Promise<Buffer>
  /** Writes all records or none. */
  write(stream: StreamRow, records: RawRecords, attempt?: Attempt): Promise<Written>
  /** Writes to a topic that is not a stream, without validating the records. Every record gets `headers`, which are already encoded. */
  writeUnchecked(target: Target, records: RawRecords, attempt?: Attempt, headers?: Uint8Array): Promise<Written>
  notifyIndex(stream: { id: string; topic: string }): void
  close(): Promise<void>
}

/** A page ends once its values have this many bytes; the cursor continues from there. */
const PAGE_BYTES_MAX = 16 << 20
/** The most that a record takes in a batch besides its key and value. */
const AROUND_BYTES = 61 + 40

/** Oldest first, ties by partition and offset, so that a page is always in the same order. */
const byTime = (a: ReadRecord, b: ReadRecord): number => a.timestamp - b.timestamp || a.partition - b.partition || a.offset - b.offset

export function createStreamData(db: Database, cluster: Cluster, now: () => number): StreamData {
  const connections = cluster.openConnections('stream-data')
  const index = createRecordIndex(db, cluster, connections, now)
  const validate = createRecordValidator()
  const layouts = createLayouts(cluster, now)
  const writer = createRecordWriter(cluster, layouts, now)
  const cache = createBatchCache(connections, now)
  const codec = createStreamCodec(db)

  type Taken = { records: ReadRecord[]; next: bigint[]; hasMore: boolean }

  async function reply(stream: StreamRow, query: PageQuery, counts: PartitionCount[], { records, next, hasMore }: Taken): Promise<Buffer> {
    const walksOn = query.order === 'asc' && query.partition === undefined
    return pageBytes(records, await codec.reader(stream), {
      total: counts.reduce((sum, { records: exact, estimated }) => sum + exact + estimated, 0),
      page: query.page,
      limit: query.limit,
      ...(hasMore ? { has_more: true as const } : {}),
      // On the last page too: a client that keeps it can continue with records that arrive later.
      ...(walksOn && (records.length > 0 || query.cursor !== undefined) ? { next_cursor: encodeCursor(stream.id, next) } : {}),
      ...(counts.some(({ estimated }) => estimated > 0) ? { approximate: true as const } : {}),
    })
  }

  /** Locates the page by arithmetic over the interleaving. */
  async function readByNumber(stream: StreamRow, layout: TopicLayout, query: PageQuery, counts: PartitionCount[]): Promise<Buffer> {
    const sizes = counts.map(({ partition, records, estimated }) =>
      query.partition === undefined || query.partition === partition ? records + estimated : 0,
    )
    const total = sizes.reduce((sum, size) => sum + size, 0)
    const from = (query.page - 1) * query.limit
    const isDescending = query.order === 'desc'
    const [first, last] = isDescending ? [Math.max(0, total - from - query.limit), Math.max(0, total - from)] : [from, from + query.limit]
    const ranges = rangesOf(sizes, first, last)
    const parts = await Promise.all(
      ranges.map(async ({ partition, from: start, to }) => {
        const { offset, skip } = await index.locate(stream, counts[partition]!, start)
        const walk = openWalk(cache, layout, partition, offset, END, to - start + skip)
        await walk.skip(skip)
        const begin = walk.offset
        const records: ReadRecord[] = []
        for (let record = await walk.current(); record && records.length < to - start; record = await walk.current()) {
          records.push(record)
          walk.next()
        }
        return { records, begin, next: walk.offset }
      }),
    )
    const sorted = parts.flatMap(({ records }) => records).sort(byTime)
    const taken = isDescending ? sorted.reverse() : sorted
    const fitting = countFitting(taken)
    // Records that the page had no room for are read with the cursor.
    const next = parts.map((part) => part.next)
    for (const { partition, offset } of taken.slice(fitting).reverse())
      if (BigInt(offset) < next[partition]!) next[partition] = BigInt(offset)
    return reply(stream, query, scoped(counts, query), {
      records: taken.slice(0, fitting),
      next,
      hasMore: fitting < taken.length || (isDescending ? first > 0 : last < total),
    })
  }

  const scoped = (counts: PartitionCount[], query: PageQuery) =>
    counts.filter(({ partition }) => query.partition === undefined || query.partition === partition)

  /** Merges the records after the cursor by time, over all partitions, and takes the first `limit`: a full page while records remain. */
  async function readByCursor(
    stream: StreamRow,
    layout: TopicLayout,
    query: PageQuery,
    counts: PartitionCount[],
    offsets: bigint[],
  ): Promise<Buffer> {
    const expected = Math.ceil((query.limit * 2) / offsets.length)
    const walks = offsets.map((offset, partition) => {
      const { start, end } = counts[partition]!
      // Retention may have deleted the records at the cursor: continue with the first that remains.
      return openWalk(cache, layout, partition, offset < start ? start : offset, end, expected)
    })
    await Promise.all(walks.map((walk) => walk.current()))
    const records: ReadRecord[] = []
    let bytes = 0
    while (records.length < query.limit && bytes < PAGE_BYTES_MAX) {
      const best = oldestOf(walks)
      if (!best) break
      const record = best.loaded()!
      records.push(record)
      bytes += record.value?.length ?? 0
      best.next()
      if (!best.loaded()) await best.current()
    }
    return reply(stream, query, counts, {
      records,
      next: walks.map((walk) => walk.offset),
      hasMore: walks.some((walk) => walk.loaded() !== undefined),
    })
  }

  /** Runs `work` with the topic's layout, and once more with a fresh one if the topic was recreated or its leaders have moved. */
  async function withLayout<T>(stream: { topic: string }, work: (layout: TopicLayout) => Promise<T>): Promise<T> {
    try {
      return await work(await layouts.of(stream.topic))
    } catch (error) {
      if (!(error instanceof KafkaError) || !hasMoved(error.code)) throw error
      layouts.forget(stream.topic)
      return work(await layouts.of(stream.topic))
    }
  }

  return {
    readPage: (stream, query) =>
      withLayout(stream, async (layout) => {
        const offsets = query.cursor === undefined ? undefined : decodeCursor(query.cursor, stream.id, layout.leaders.length)
        const counts = await index.count(stream, layout)
        return offsets ? readByCursor(stream, layout, query, counts, offsets) : readByNumber(stream, layout, query, counts)
      }),
    async write(stream, raw, attempt) {
      await validate(stream, raw.values)
      const { key_field, schema_id } = stream
      const bytesMax = stream.batch_bytes_max ?? LIMITS.topic_batch_bytes_max
      const details: Detail[] = []
      const coded: Uint8Array[] | undefined = stream.format === 'json' ? undefined : []
      await turns(raw.values.length, (at) => {
        try {
          coded?.push(codec.encode(stream, bytesOf(raw, at)))
          const key = keyIn(raw.values[at], key_field)
          const size =
            (coded ? coded[at]!.length : raw.spans[2 * at + 1]! - raw.spans[2 * at]!) + (key === null ? 0 : Buffer.byteLength(key))
          if (size + AROUND_BYTES > bytesMax)
            details.push({ path: `/records/${at}`, message: `is larger than the ${bytesMax - AROUND_BYTES} bytes that the topic accepts` })
        } catch (error) {
          details.push({ path: `/records/${at}`, message: reasonOf(error) })
        }
        return details.length < LIMITS.details_max
      })
      if (details.length > 0) throw invalidRequest(details)
      return writer.write(stream, valuesOf(raw, schema_id ?? 0, key_field, coded), bytesMax, attempt)
    },
    writeUnchecked: (target, raw, attempt, headers) =>
      writer.write(target, valuesOf(raw, 0, target.key_field, undefined, headers), LIMITS.topic_batch_bytes_max, attempt),
    notifyIndex: (stream) => index.notify(stream),
    async close() {
      await writer.close()
      await connections.close().catch(() => {})
    },
  }
}

/** Beyond every offset. */
const END = 1n << 62n

/** How many of the records fit on a page; the first always does. */
function countFitting(records: readonly ReadRecord[]): number {
  let bytes = 0
  for (const [index, { value }] of records.entries()) if ((bytes += value?.length ?? 0) > PAGE_BYTES_MAX) return Math.max(1, index)
  return records.length
}

/** The walk whose current record is the oldest; records of one partition stay in offset order, whatever their times are. */
function oldestOf(walks: readonly Walk[]): Walk | undefined {
  let best: Walk | undefined
  let oldest: ReadRecord | undefined
  for (const walk of walks) {
    const record = walk.loaded()
    if (!record || (oldest && byTime(oldest, record) < 0)) continue
    oldest = record
    best = walk
  }
  return best
}

/** The records' original bytes, or their encoded form (`coded`) if the stream is not JSON. */
function valuesOf(raw: RawRecords, schemaId: number, keyField: string | null, coded?: Uint8Array[], headers?: Uint8Array): Values {
  return {
    schemaId,
    count: raw.values.length,
    add(into, at) {
      const key = keyIn(raw.values[at], keyField)
      if (key === null && !coded && !headers) into.addValue(raw.bytes, raw.spans[2 * at]!, raw.spans[2 * at + 1]!)
      else into.add(key === null ? null : Buffer.from(key), coded ? coded[at]! : bytesOf(raw, at), headers)
    },
  }
}

/** The record's key: a string as it is, anything else as JSON; null if there is none. */
function keyIn(record: unknown, field: string | null): string | null {
  const value = field === null || typeof record !== 'object' || record === null ? undefined : (record as Record<string, unknown>)[field]
  if (value === undefined || value === null) return null
  return typeof value === 'string' ? value : JSON.stringify(value)
}
