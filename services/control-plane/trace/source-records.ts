/** Reads records of a source topic, by raw fetches at read-committed, without a consumer group. */
import type { Cluster, TopicLayout } from '../../../shared/kafka/cluster.ts'
import { UNPACED, type Pace } from '../concurrency/pacing.ts'
import { fetchCounted, wantedOf } from '../stream-data/read-records.ts'
import type { SourceRecord } from './trace.ts'

const FETCH_BYTES = 1 << 20
/** The search for the newest records does not widen any further once it looks back more than this many offsets. */
const BACK_MAX = 100_000n

/** Most bytes of keys, values and headers that one read keeps; one record is kept however large it is. */
const KEPT_BYTES_MAX = 16 << 20

/** How many offsets a search from the end looks at before it looks further back. */
const SEARCH_WINDOW = 16_384n

/** `isCut`: some of the requested records were left out for lack of room. */
export type ReadRecords = { records: SourceRecord[]; isCut: boolean }

/** Every record of the partition from `low` up to `high` was read. */
export type Span = { low: bigint; high: bigint }

/** `pace`: of the request that reads; without one it reads in turns that no account is told of. */
export type SourceReader = {
  /** The record at exactly this offset; undefined if there is none (a marker, an aborted or compacted record, outside of the topic). */
  at(layout: TopicLayout, partition: number, offset: bigint, pace?: Pace): Promise<SourceRecord | undefined>
  /** Up to `limit` records of a partition from an offset on, as many as fit. */
  from(layout: TopicLayout, partition: number, offset: bigint, limit: number, pace?: Pace): Promise<ReadRecords & Span>
  /** The newest `limit` records of a partition, or of those before an offset, as many as fit. */
  newest(layout: TopicLayout, partition: number, limit: number, before?: bigint, pace?: Pace): Promise<ReadRecords & Span>
  /**
   * Up to `limit` records with this key: the first from `start` on, or without it the newest. `isWhole` is false where `isSpent` ended the
   * search before as many were found.
   */
  withKey(layout: TopicLayout, partition: number, search: KeySearch, pace?: Pace): Promise<ReadRecords & { isWhole: boolean }>
  close(): Promise<void>
}

/** A search for a key; it ends early once `isSpent` says so. */
export type KeySearch = { key: Buffer; start: bigint | undefined; limit: number; isSpent(): boolean }

export const sizeOf = ({ record: { key, value, headers } }: SourceRecord): number =>
  headers.reduce((sum, [name, bytes]) => sum + name.length + (bytes?.length ?? 0), (key?.length ?? 0) + (value?.length ?? 0))

/** As many of the first, or of the last, records as fit into `bytesMax`; one always does. */
export function fitting(records: SourceRecord[], bytesMax: number, side: 'first' | 'last'): SourceRecord[] {
  const inTurn = side === 'first' ? records : records.toReversed()
  let bytes = 0
  const end = inTurn.findIndex((record, index) => (bytes += sizeOf(record)) > bytesMax && index > 0)
  const kept = end < 0 ? inTurn : inTurn.slice(0, end)
  return side === 'first' ? kept : kept.toReversed()
}

const copied = (bytes: Buffer | null): Buffer | null => bytes && Buffer.from(bytes)
/** Copies a record's bytes: a small record must not keep its whole batch in memory. */
const detached = (source: SourceRecord): SourceRecord => {
  const { key, value, headers, ...rest } = source.record
  const own = {
    key: copied(key),
    value: copied(value),
    headers: headers.map(([name, bytes]): [string, Buffer | null] => [name, copied(bytes)]),
  }
  return { ...source, record: { ...rest, ...own } }
}

export function openSourceReader(cluster: Cluster): SourceReader {
  const connections = cluster.openConnections('source-reader')

  /** The first or the last `limit` records from `offset` up to `until`; `end` is where reading ended. */
  async function read(
    layout: TopicLayout,
    partition: number,
    [offset, until]: readonly [bigint, bigint | undefined],
    limit: number,
    side: 'first' | 'last',
    pace: Pace,
    key?: Buffer,
    isSpent = () => false,
  ): Promise<ReadRecords & { end: bigint }> {
    let records: SourceRecord[] = []
    let isCut = false
    let position = offset
    while ((until === undefined || position < until) && !isSpent()) {
      const { batches, nextOffset } = await fetchCounted(connections, layout, partition, position, FETCH_BYTES)
      for (const batch of batches) {
        if (isSpent()) return { records, isCut, end: batch.header.baseOffset }
        const wanted = { offset: position, until, key, limit: side === 'first' ? limit - records.length : limit, side }
        const found = await wantedOf(batch, wanted, (each) => detached({ ...each, partition }), pace)
        const kept = [...records, ...found].slice(side === 'first' ? 0 : -limit)
        records = fitting(kept, KEPT_BYTES_MAX, side)
        isCut ||= records.length < kept.length
        if (side === 'first' && (isCut || records.length >= limit)) return { records, isCut, end: (records.at(-1)?.offset ?? -1n) + 1n }
      }
      if (nextOffset === position) break
      position = nextOffset
    }
    return { records, isCut, end: position }
  }

  const boundsOf = async (layout: TopicLayout, partition: number) => (await cluster.bounds(layout, [partition])).get(partition)!

  return {
    async at(layout, partition, offset, pace = UNPACED) {
      const { start, end } = await boundsOf(layout, partition)
      if (offset < start || offset >= end) return undefined
      const [found] = (await read(layout, partition, [offset, undefined], 1, 'first', pace)).records
      return found?.offset === offset ? found : undefined
    },
    async from(layout, partition, offset, limit, pace = UNPACED) {
      const { end, ...found } = await read(layout, partition, [offset, undefined], limit, 'first', pace)
      return { ...found, low: offset, high: end }
    },
    async newest(layout, partition, limit, before, pace = UNPACED) {
      const { start: first, end: latest } = await boundsOf(layout, partition)
      const end = before === undefined || before > latest ? latest : before
      if (end <= first) return { records: [], isCut: false, low: end, high: end }
      // Markers and aborted records take offsets too: look further back until enough are found.
      for (let back = BigInt(limit) * 2n; ; back *= 4n) {
        const start = end - back > first ? end - back : first
        const { records, isCut } = await read(layout, partition, [start, end], limit, 'last', pace)
        const isFull = records.length >= limit || isCut
        if (isFull || start === first || back > BACK_MAX)
          return { records, isCut, low: (isFull ? records[0]?.offset : undefined) ?? start, high: end }
      }
    },
    async withKey(layout, partition, { key, start, limit, isSpent }, pace = UNPACED) {
      if (start !== undefined) {
        const { end: _end, ...found } = await read(layout, partition, [start, undefined], limit, 'first', pace, key, isSpent)
        return { ...found, isWhole: found.records.length >= limit || found.isCut || !isSpent() }
      }
      const { start: first, end } = await boundsOf(layout, partition)
      let [records, isCut, until]: [SourceRecord[], boolean, bigint] = [[], false, end]
      let isEnded = false
      while (until > first && records.length < limit && !isCut && !isSpent()) {
        const from = until - SEARCH_WINDOW > first ? until - SEARCH_WINDOW : first
        const found = await read(layout, partition, [from, until], limit - records.length, 'last', pace, key, isSpent)
        const kept = fitting([...found.records, ...records], KEPT_BYTES_MAX, 'last')
        isCut = found.isCut || kept.length < found.records.length + records.length
        records = kept
        // What a search that ended in between has not looked at is in this window.
        isEnded = found.end < until && isSpent()
        if (isEnded) break
        until = from
      }
      return { records, isCut, isWhole: !isEnded && (until === first || records.length >= limit || isCut) }
    },
    close: () => connections.close(),
  }
}
