/**
 * Counts a stream's records exactly and finds the n-th one: a sparse index (offset → records before it) in Postgres, built from batch
 * headers alone. Offsets do not count records: transaction markers, aborted batches and compacted records have offsets too.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster, Connections, TopicLayout } from '../../../shared/kafka/cluster.ts'
import type { Database } from '../store/database.ts'
import { dropIndex, extendIndex, findEntry, findEntryFrom, listHeads, type IndexEntry, type IndexHead } from '../store/stream-index.ts'
import { countFrom, fetchCounted } from './read-records.ts'

/** One partition as pages see it. `base`: records before the first that still exists. `estimated`: offsets after the index's head. */
export type PartitionCount = {
  partition: number
  base: number
  records: number
  estimated: number
  head: IndexHead
  start: bigint
  end: bigint
}

const ENTRY_RECORDS = 1000
const FETCH_BYTES = 8 << 20
/** Limits on what one request reads to bring the index up to date; beyond them it answers with an estimate. */
const REQUEST_BYTES_MAX = 256 << 20
const REQUEST_MS_MAX = 4000

/** Compaction removes records that were counted, so the index of a compacted topic is rebuilt after this time. */
const COMPACTED_MS = 600_000

type Stream = { id: string; topic: string; is_compacted?: boolean }

type IndexParts = { db: Database; connections: Connections; now: () => number }

/** Extends one partition's index towards `end`; true once it is there. */
async function extendPartition(
  { db, connections, now }: IndexParts,
  stream: Stream,
  layout: TopicLayout,
  { partition, start, end, known }: { partition: number; start: bigint; end: bigint; known: IndexHead | undefined },
  isSpent: (bytes: number) => boolean,
): Promise<boolean> {
  const { topicId } = layout
  const builtAt = known?.builtAt ?? null
  let head: IndexHead
  let lastEntry = Number.NEGATIVE_INFINITY
  if (known && known.nextOffset >= start) head = known
  else {
    // Retention may have deleted records that were never counted: continue at the first offset that exists.
    head = { topicId, partition, records: known?.records ?? 0, nextOffset: start, builtAt }
    if (!(await extendIndex(db, stream.id, known, head, [{ records: head.records, offset: head.nextOffset }]))) return false
    lastEntry = head.records
  }
  while (head.nextOffset < end) {
    const { batches, nextOffset, bytes } = await fetchCounted(connections, layout, partition, head.nextOffset, FETCH_BYTES)
    if (nextOffset === head.nextOffset) return true
    let { records } = head
    const entries: IndexEntry[] = []
    for (const batch of batches) {
      const { header } = batch
      if (records - lastEntry >= ENTRY_RECORDS) {
        entries.push({ records, offset: header.baseOffset })
        lastEntry = records
      }
      records += countFrom(batch, head.nextOffset)
    }
    const next = { topicId, partition, records, nextOffset, builtAt: builtAt ?? (nextOffset >= end ? new Date(now()) : null) }
    // Entries with the same count would collide, and the head was stored with one.
    const fresh = entries.filter((entry) => entry.records > head.records)
    if (!(await extendIndex(db, stream.id, head, next, fresh))) return false
    head = next
    if (isSpent(bytes) && head.nextOffset < end) return false
  }
  return true
}

export function createRecordIndex(db: Database, cluster: Cluster, connections: Connections, now: () => number) {
  /** One extension per stream at a time. */
  const extending = new Map<string, Promise<boolean>>()

  /** True if the topic was recreated, or if compaction may have removed counted records since. */
  const isStale = ({ topicId, builtAt }: IndexHead, stream: Stream, layout: TopicLayout): boolean =>
    topicId !== layout.topicId || (stream.is_compacted === true && builtAt !== null && now() - builtAt.getTime() > COMPACTED_MS)

  const headsOf = async (stream: Stream, layout: TopicLayout): Promise<IndexHead[]> =>
    (await listHeads(db, stream.id)).filter((head) => !isStale(head, stream, layout))

  async function extendOnce(stream: Stream, layout: TopicLayout, bytesMax: number, msMax: number): Promise<boolean> {
    const [bounds, known] = await Promise.all([cluster.bounds(layout), listHeads(db, stream.id)])
    for (const head of known) if (isStale(head, stream, layout)) await dropIndex(db, stream.id, head)
    const heads = known.filter((head) => !isStale(head, stream, layout))
    const deadline = performance.now() + msMax
    let bytes = 0
    const isSpent = (more: number): boolean => (bytes += more) > bytesMax || performance.now() > deadline
    const done = await Promise.all(
      [...bounds].map(([partition, { start, end }]) => {
        const head = heads.find((each) => each.partition === partition)
        if (head && head.nextOffset >= end) return true
        return extendPartition({ db, connections, now }, stream, layout, { partition, start, end, known: head }, isSpent)
      }),
    )
    return done.every(Boolean)
  }

  function extend(stream: Stream, layout: TopicLayout, bytesMax = REQUEST_BYTES_MAX, msMax = REQUEST_MS_MAX): Promise<boolean> {
    const running = extending.get(stream.id)
    // One in the background may take longer than a request may wait.
    if (running) return Promise.race([running, sleep(msMax, false, { ref: false })])
    const started = extendOnce(stream, layout, bytesMax, msMax).finally(() => extending.delete(stream.id))
    extending.set(stream.id, started)
    return started
  }

  /** How many records were before `start`, if retention has moved the start into the indexed range. */
  async function baseOf(stream: Stream, layout: TopicLayout, head: IndexHead, start: bigint): Promise<number> {
    if (start === 0n) return 0
    const entry = await findEntryFrom(db, stream.id, head.partition, start)
    const until = entry ?? { records: head.records, offset: head.nextOffset }
    let records = 0
    for (let position = start; position < until.offset;) {
      const { batches, nextOffset } = await fetchCounted(connections, layout, head.partition, position, FETCH_BYTES)
      if (nextOffset === position) break
      for (const batch of batches) if (batch.header.baseOffset < until.offset) records += countFrom(batch, position)
      position = nextOffset
    }
    return until.records - records
  }

  return {
    /** Counts every partition: exactly if the index reaches the end in time, else with an estimate. */
    async count(stream: Stream, layout: TopicLayout): Promise<PartitionCount[]> {
      const [bounds, known] = await Promise.all([cluster.bounds(layout), headsOf(stream, layout)])
      const isWhole = [...bounds].every(
        ([partition, { end }]) => end <= (known.find((head) => head.partition === partition)?.nextOffset ?? 0n),
      )
      if (!isWhole) await extend(stream, layout)
      const heads = isWhole ? known : await headsOf(stream, layout)
      return Promise.all(
        [...bounds].map(async ([partition, { start, end }]) => {
          const head = heads.find((each) => each.partition === partition) ?? {
            topicId: layout.topicId,
            partition,
            records: 0,
            nextOffset: start,
            builtAt: new Date(now()),
          }
          const base = head.nextOffset <= start ? head.records : await baseOf(stream, layout, head, start)
          // Records that arrived since the count are left to the next page; only an index that can't catch up gives an estimate.
          const behind = end - head.nextOffset
          const isBehind = behind > 0n && !(await extendBriefly(stream, layout))
          return { partition, base, records: head.records - base, estimated: isBehind ? Number(behind) : 0, head, start, end }
        }),
      )
    },

    /** Offset to read from, and how many records to skip from there, for the `ordinal`-th record of the partition (from 0). */
    async locate(stream: Stream, count: PartitionCount, ordinal: number): Promise<{ offset: bigint; skip: number }> {
      const wanted = count.base + ordinal
      if (wanted >= count.head.records) return { offset: count.head.nextOffset + BigInt(wanted - count.head.records), skip: 0 }
      const entry = await findEntry(db, stream.id, count.partition, wanted)
      if (!entry || entry.offset < count.start) return { offset: count.start, skip: ordinal }
      return { offset: entry.offset, skip: wanted - entry.records }
    },

    /** Extends the index in the background. */
    notify(stream: Stream): void {
      void (async () => {
        const layout = await cluster.describeTopic(stream.topic)
        if (layout) await extend(stream, layout, Number.POSITIVE_INFINITY, 60_000)
      })().catch(() => {})
    },
  }

  async function extendBriefly(stream: Stream, layout: TopicLayout): Promise<boolean> {
    return extend(stream, layout, 32 << 20, 500)
  }
}

export type RecordIndex = ReturnType<typeof createRecordIndex>
