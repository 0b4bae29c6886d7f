/** A stream's records over HTTP: pages by number or by cursor, and writes. */
import type { Kafka } from 'kafkajs'
import type { Cluster, TopicLayout } from '../../../shared/kafka/cluster.ts'
import { invalidRequest, unavailable } from '../../../shared/errors/service-error.ts'
import { frame } from '../../../shared/registry/framing.ts'
import type { Database } from '../../../shared/store/database.ts'
import type { StreamRow } from '../../../shared/store/streams.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import { rangesOf } from './interleave.ts'
import { readRecords, type ReadRecord } from './read-records.ts'
import { createRecordIndex, type PartitionCount } from './record-index.ts'
import { createRecordValidator } from './validate-records.ts'
import { createStreamCodec } from './stream-codec.ts'
import { createRecordWriter, type Target, type Written } from './write-records.ts'

type Undecodable = { index: number; partition: number; offset: string; reason: string }
export type DataPage = {
  data: unknown[]
  pagination: { total: number; page: number; limit: number; next_cursor?: string; approximate?: true; undecodable?: Undecodable[] }
}
export type PageQuery = { limit: number; page: number; cursor?: string; partition?: number; order: 'asc' | 'desc' }

export type StreamData = {
  readPage(stream: StreamRow, query: PageQuery): Promise<DataPage>
  write(stream: StreamRow, records: unknown[]): Promise<Written>
  /** Records of no stream, whose shape is the business of whoever reads the topic. */
  writeUnchecked(target: Target, records: unknown[]): Promise<Written>
  pokeIndex(stream: { id: string; topic: string }): void
  close(): Promise<void>
}

/** Oldest first; ties in the order of partition and offset, so that a page always looks the same. */
function byTime(a: ReadRecord, b: ReadRecord): number {
  if (a.timestamp !== b.timestamp) return a.timestamp < b.timestamp ? -1 : 1
  if (a.partition !== b.partition) return a.partition - b.partition
  return a.offset < b.offset ? -1 : 1
}

function decodeAll(records: ReadRecord[], decode: (value: Buffer | null) => unknown): { data: unknown[]; undecodable: Undecodable[] } {
  const undecodable: Undecodable[] = []
  const data = records.map(({ value, partition, offset }, index) => {
    try {
      return decode(value)
    } catch (error) {
      undecodable.push({ index, partition, offset: String(offset), reason: error instanceof Error ? error.message : String(error) })
      return null
    }
  })
  return { data, undecodable }
}

export function createStreamData(db: Database, cluster: Cluster, kafka: Kafka, now: () => number): StreamData {
  const connections = cluster.openConnections('stream-data')
  const index = createRecordIndex(db, cluster, connections, now)
  const validate = createRecordValidator()
  const writer = createRecordWriter(kafka)
  const codec = createStreamCodec(db)

  async function layoutOf(stream: StreamRow): Promise<TopicLayout> {
    const layout = await cluster.describeTopic(stream.topic)
    if (!layout || layout.leaders.includes(-1)) throw unavailable('the stream’s topic')
    return layout
  }

  async function reply(
    stream: StreamRow,
    query: PageQuery,
    counts: PartitionCount[],
    records: ReadRecord[],
    nextCursor: string | undefined,
  ): Promise<DataPage> {
    const total = counts.reduce((sum, { records: exact, estimated }) => sum + exact + estimated, 0)
    const { data, undecodable } = decodeAll(records, await codec.reader(stream))
    return {
      data,
      pagination: {
        total,
        page: query.page,
        limit: query.limit,
        ...(nextCursor === undefined ? {} : { next_cursor: nextCursor }),
        ...(counts.some(({ estimated }) => estimated > 0) ? { approximate: true as const } : {}),
        ...(undecodable.length > 0 ? { undecodable } : {}),
      },
    }
  }

  /** The page by arithmetic over the interleaving. */
  async function readByNumber(stream: StreamRow, layout: TopicLayout, query: PageQuery, counts: PartitionCount[]): Promise<DataPage> {
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
        const records = to > start ? await readRecords(connections, layout, partition, offset, skip, to - start) : []
        const end = records.at(-1)
        return { records, next: end ? end.offset + 1n : await nextOffset(layout, partition, offset, skip) }
      }),
    )
    const records = parts.flatMap((part) => part.records).sort(byTime)
    const hasMore = !isDescending && query.partition === undefined && last < total
    const cursor = hasMore
      ? encodeCursor(
          stream.id,
          parts.map(({ next }) => next),
        )
      : undefined
    return reply(stream, query, scoped(counts, query), isDescending ? records.reverse() : records, cursor)
  }

  /** Offset of the record that a reader would get after skipping `skip` from `offset`. */
  async function nextOffset(layout: TopicLayout, partition: number, offset: bigint, skip: number): Promise<bigint> {
    if (skip === 0) return offset
    const [last] = (await readRecords(connections, layout, partition, offset, skip - 1, 1)) as [ReadRecord | undefined]
    return last ? last.offset + 1n : offset
  }

  const scoped = (counts: PartitionCount[], query: PageQuery) =>
    counts.filter(({ partition }) => query.partition === undefined || query.partition === partition)

  /** Merges what follows the cursor in every partition by time, and takes the first `limit`: a full page while records remain. */
  async function readByCursor(
    stream: StreamRow,
    layout: TopicLayout,
    query: PageQuery,
    counts: PartitionCount[],
    offsets: bigint[],
  ): Promise<DataPage> {
    const heads = await Promise.all(
      offsets.map(async (offset, partition) => {
        const { start } = counts[partition]!
        // Retention may have taken what the cursor pointed at: the walk goes on with what is there.
        const at = offset < start ? start : offset
        return { at, records: at < counts[partition]!.end ? await readRecords(connections, layout, partition, at, 0, query.limit + 1) : [] }
      }),
    )
    const merged = mergeByTime(
      heads.map(({ records }) => records),
      query.limit,
    )
    const taken = new Map<number, bigint>()
    for (const { partition, offset } of merged) taken.set(partition, offset + 1n)
    const next = heads.map(({ at }, partition) => taken.get(partition) ?? at)
    const hasMore = heads.reduce((sum, { records }) => sum + records.length, 0) > merged.length
    return reply(stream, query, counts, merged, hasMore ? encodeCursor(stream.id, next) : undefined)
  }

  return {
    async readPage(stream, query) {
      const layout = await layoutOf(stream)
      const offsets = query.cursor === undefined ? undefined : decodeCursor(query.cursor, stream.id, layout.leaders.length)
      const counts = await index.count(stream, layout)
      return offsets ? readByCursor(stream, layout, query, counts, offsets) : readByNumber(stream, layout, query, counts)
    },
    async write(stream, records) {
      validate(stream, records)
      const values = records.map((record, index) => {
        try {
          return codec.encode(stream, record)
        } catch (error) {
          throw invalidRequest([{ path: `/records/${index}`, message: error instanceof Error ? error.message : String(error) }])
        }
      })
      return writer.write(stream, records as Record<string, unknown>[], values)
    },
    writeUnchecked: (target, records) =>
      writer.write(
        target,
        records as Record<string, unknown>[],
        records.map((record) => frame(0, JSON.stringify(record))),
      ),
    pokeIndex: (stream) => index.poke(stream),
    async close() {
      await writer.close()
      await connections.close().catch(() => {})
    },
  }
}

/** Takes from the partitions' heads, always the oldest; order within a partition is kept whatever the times say. */
function mergeByTime(parts: ReadRecord[][], limit: number): ReadRecord[] {
  const at = parts.map(() => 0)
  const merged: ReadRecord[] = []
  while (merged.length < limit) {
    let best: ReadRecord | undefined
    for (const [partition, records] of parts.entries()) {
      const candidate = records[at[partition]!]
      if (candidate && (!best || byTime(candidate, best) < 0)) best = candidate
    }
    if (!best) break
    at[best.partition]!++
    merged.push(best)
  }
  return merged
}
