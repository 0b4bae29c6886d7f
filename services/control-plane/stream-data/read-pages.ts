/** Reads one page of a stream's records: by its number, or from a cursor on. */
import type { TopicLayout } from '../../../shared/kafka/cluster.ts'
import type { Pace } from '../pacing.ts'
import { invalidRequest } from '../service-error.ts'
import type { StreamRow } from '../store/streams.ts'
import type { BatchCache } from './batch-cache.ts'
import { encodeCursor } from './cursor.ts'
import { rangesOf } from './interleave.ts'
import { pageBytes } from './page-bytes.ts'
import type { PartitionCount, RecordIndex } from './record-index.ts'
import type { StreamCodec } from './stream-codec.ts'
import { openWalk, type ReadRecord, type Walk } from './walk.ts'

/** `page`: undefined where the request names none. */
export type PageQuery = {
  limit: number
  page?: number | undefined
  cursor?: string | undefined
  partition?: number | undefined
  order: 'asc' | 'desc'
}

/** A page ends once its values have this many bytes; the cursor continues from there. */
const PAGE_BYTES_MAX = 16 << 20
/** Whether pages are read by `next_cursor`, which knows all partitions, oldest first. */
const hasCursor = ({ order, partition }: PageQuery): boolean => order === 'asc' && partition === undefined
/** Nothing would lead to the records that such a page has no room for: the next number begins behind them. */
const mustBeWhole = (query: PageQuery): boolean => query.cursor === undefined && (query.page !== undefined || !hasCursor(query))
/** Oldest first, ties by partition and offset, so that a page is always in the same order. */
const byTime = (a: ReadRecord, b: ReadRecord): number => a.timestamp - b.timestamp || a.partition - b.partition || a.offset - b.offset

/** What a page is read from, and the pace at which its bytes are made. */
type Asked = { stream: StreamRow; layout: TopicLayout; query: PageQuery; pace: Pace }
type Taken = { records: ReadRecord[]; next: bigint[]; hasMore: boolean }

/** Pages as the bytes of their JSON. */
export function createPageReader(cache: BatchCache, index: RecordIndex, codec: StreamCodec) {
  async function reply(
    { stream, query, pace }: Pick<Asked, 'stream' | 'query' | 'pace'>,
    counts: PartitionCount[],
    { records, next, hasMore }: Taken,
  ): Promise<Buffer> {
    const paginate = (shown: number) => {
      if (shown < records.length && mustBeWhole(query)) throw pageTooLarge()
      return {
        total: counts.reduce((sum, { records: exact, estimated }) => sum + exact + estimated, 0),
        page: query.page ?? 1,
        limit: query.limit,
        ...(hasMore || shown < records.length ? { has_more: true as const } : {}),
        // On the last page too: a client that keeps it can continue with records that arrive later.
        ...(hasCursor(query) && (records.length > 0 || query.cursor !== undefined)
          ? { next_cursor: encodeCursor(stream.id, before(next, records.slice(shown))) }
          : {}),
        ...(counts.some(({ estimated }) => estimated > 0) ? { approximate: true as const } : {}),
      }
    }
    return pageBytes(records, await codec.reader(stream), paginate, pace)
  }

  /** Locates the page by arithmetic over the interleaving. */
  async function readByNumber(asked: Asked, counts: PartitionCount[]): Promise<Buffer> {
    const { stream, layout, query } = asked
    const sizes = counts.map(({ partition, records, estimated }) =>
      query.partition === undefined || query.partition === partition ? records + estimated : 0,
    )
    const total = sizes.reduce((sum, size) => sum + size, 0)
    const from = ((query.page ?? 1) - 1) * query.limit
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
    if (fitting < taken.length && mustBeWhole(query)) throw pageTooLarge()
    // Records that the page had no room for are read with the cursor.
    const next = before(
      parts.map((part) => part.next),
      taken.slice(fitting),
    )
    return reply(asked, scoped(counts, query), {
      records: taken.slice(0, fitting),
      next,
      hasMore: fitting < taken.length || (isDescending ? first > 0 : last < total),
    })
  }

  const scoped = (counts: PartitionCount[], query: PageQuery) =>
    counts.filter(({ partition }) => query.partition === undefined || query.partition === partition)

  /** Merges the records after the cursor by time, over all partitions, and takes the first `limit`: a full page while records remain. */
  async function readByCursor(asked: Asked, counts: PartitionCount[], offsets: bigint[]): Promise<Buffer> {
    const { layout, query } = asked
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
    return reply(asked, counts, {
      records,
      next: walks.map((walk) => walk.offset),
      hasMore: walks.some((walk) => walk.loaded() !== undefined),
    })
  }

  return { byNumber: readByNumber, byCursor: readByCursor }
}

/** Beyond every offset. */
const END = 1n << 62n

const pageTooLarge = () =>
  invalidRequest([
    {
      path: '/query/limit',
      message: `the page is larger than ${PAGE_BYTES_MAX >> 20} MiB: use a smaller limit, or the cursor without a page`,
    },
  ])

/** The offsets at which the next page begins, so that it has these records too. */
function before(next: readonly bigint[], records: readonly ReadRecord[]): bigint[] {
  const found = [...next]
  for (const { partition, offset } of records) if (BigInt(offset) < found[partition]!) found[partition] = BigInt(offset)
  return found
}

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
