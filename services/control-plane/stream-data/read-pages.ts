/** Reads one page of a stream's records: by its number, or from a cursor on. */
import type { TopicLayout } from '../../../shared/kafka/cluster.ts'
import type { Pace } from '../concurrency/pacing.ts'
import { invalidRequest } from '../service-error.ts'
import type { StreamRow } from '../store/streams.ts'
import type { BatchCache } from './batch-cache.ts'
import { encodeCursor } from './cursor.ts'
import { rangesOf } from './interleave.ts'
import { pageBytes } from './page-bytes.ts'
import type { PartitionCount, RecordIndex } from './record-index.ts'
import type { StreamCodec } from './stream-codec.ts'
import type { RecordAhead } from './batch-runs.ts'
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
/** It ends too once its batches have inflated to this many: a record in it may be small beside what is around it. */
const PAGE_INFLATED_BYTES_MAX = 256 << 20
/** Whether pages are read by `next_cursor`, which knows all partitions, oldest first. */
const hasCursor = ({ order, partition }: PageQuery): boolean => order === 'asc' && partition === undefined
/** Nothing would lead to the records that such a page has no room for: the next number begins behind them. */
const mustBeWhole = (query: PageQuery): boolean => query.cursor === undefined && (query.page !== undefined || !hasCursor(query))
type Ordered = Omit<ReadRecord, 'value'>
/** Oldest first, ties by partition and offset, so that a page is always in the same order. */
const byTime = (a: Ordered, b: Ordered): number => a.timestamp - b.timestamp || a.partition - b.partition || a.offset - b.offset

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
    const { stream, layout, query, pace } = asked
    const sizes = counts.map(({ partition, records, estimated }) =>
      query.partition === undefined || query.partition === partition ? records + estimated : 0,
    )
    const total = sizes.reduce((sum, size) => sum + size, 0)
    const from = ((query.page ?? 1) - 1) * query.limit
    const isDescending = query.order === 'desc'
    const [first, last] = isDescending ? [Math.max(0, total - from - query.limit), Math.max(0, total - from)] : [from, from + query.limit]
    const ranges = rangesOf(sizes, first, last)
    const source = { cache, layout, pace, inflated: { bytes: 0 } }
    let [count, bytes, isFull] = [0, 0, false]
    const hasRoom = (ahead: RecordAhead): boolean => {
      const isTooLarge = bytes + ahead.bytes > PAGE_BYTES_MAX
      isFull ||= count > 0 && (isTooLarge || source.inflated.bytes > PAGE_INFLATED_BYTES_MAX)
      if (isFull && mustBeWhole(query)) throw pageTooLarge(isTooLarge)
      return !isFull
    }
    const parts = await Promise.all(
      ranges.map(async ({ partition, from: start, to }) => {
        const { offset, skip } = await index.locate(stream, counts[partition]!, start)
        const walk = openWalk(source, partition, offset, END, to - start + skip)
        await walk.skip(skip)
        const records: ReadRecord[] = []
        while (records.length < to - start && !isFull) {
          const ahead = await walk.current()
          if (!ahead || !hasRoom(ahead)) break
          count++
          bytes += ahead.bytes
          records.push(await walk.take())
        }
        await walk.reach()
        return { records, next: walk.offset }
      }),
    )
    const sorted = parts.flatMap(({ records }) => records).sort(byTime)
    // Records that the page had no room for are read with the cursor.
    return reply(asked, scoped(counts, query), {
      records: isDescending ? sorted.reverse() : sorted,
      next: parts.map(({ next }) => next),
      hasMore: isFull || (isDescending ? first > 0 : last < total),
    })
  }

  const scoped = (counts: PartitionCount[], query: PageQuery) =>
    counts.filter(({ partition }) => query.partition === undefined || query.partition === partition)

  /** Merges the records after the cursor by time, over all partitions, and takes the first `limit`: a full page while records remain. */
  async function readByCursor(asked: Asked, counts: PartitionCount[], offsets: bigint[]): Promise<Buffer> {
    const { layout, query, pace } = asked
    const source = { cache, layout, pace, inflated: { bytes: 0 } }
    const expected = Math.ceil((query.limit * 2) / offsets.length)
    const walks = offsets.map((offset, partition) => {
      const { start, end } = counts[partition]!
      // Retention may have deleted the records at the cursor: continue with the first that remains.
      return openWalk(source, partition, offset < start ? start : offset, end, expected)
    })
    await Promise.all(walks.map((walk) => walk.current()))
    const records: ReadRecord[] = []
    let bytes = 0
    let isFull = false
    while (records.length < query.limit && bytes < PAGE_BYTES_MAX && !isFull) {
      const best = oldestOf(walks)
      if (!best) break
      bytes += best.loaded()!.bytes
      records.push(await best.take())
      // Nothing of the others goes before what comes next of this partition, which is not known then.
      isFull = source.inflated.bytes > PAGE_INFLATED_BYTES_MAX && !best.loaded()
      if (!isFull) await best.current()
    }
    return reply(asked, counts, {
      records,
      next: walks.map((walk) => walk.offset),
      hasMore: isFull || walks.some((walk) => walk.loaded() !== undefined),
    })
  }

  return { byNumber: readByNumber, byCursor: readByCursor }
}

/** Beyond every offset. */
const END = 1n << 62n

const pageTooLarge = (isOfValues = true) => {
  const what = isOfValues
    ? `page is larger than ${PAGE_BYTES_MAX >> 20}`
    : `page’s batches inflate to more than ${PAGE_INFLATED_BYTES_MAX >> 20}`
  return invalidRequest([{ path: '/query/limit', message: `the ${what} MiB: use a smaller limit, or the cursor without a page` }])
}

/** The offsets at which the next page begins, so that it has these records too. */
function before(next: readonly bigint[], records: readonly ReadRecord[]): bigint[] {
  const found = [...next]
  for (const { partition, offset } of records) if (BigInt(offset) < found[partition]!) found[partition] = BigInt(offset)
  return found
}

/** The walk whose current record is the oldest; records of one partition stay in offset order, whatever their times are. */
function oldestOf(walks: readonly Walk[]): Walk | undefined {
  let best: Walk | undefined
  let oldest: RecordAhead | undefined
  for (const walk of walks) {
    const record = walk.loaded()
    if (!record || (oldest && byTime(oldest, record) < 0)) continue
    oldest = record
    best = walk
  }
  return best
}
