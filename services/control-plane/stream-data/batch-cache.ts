/**
 * A cache of fetched stream batches: a batch may be larger than a page, so that several pages of a walk are cut from it. Committed records
 * do not change, so nothing here can be stale; the topic id in the key tells a recreated topic from the old one.
 */
import type { Connections, TopicLayout } from '../../../shared/kafka/cluster.ts'
import { inflate } from '../../../shared/kafka/protocol/compression.ts'
import { BATCH_HEADER_BYTES, COMPRESSION_MASK } from '../../../shared/kafka/protocol/record-batch.ts'
import { fetchCounted, type CountedBatch } from './read-records.ts'

/** A batch with its records decompressed. `hint`: where a reader stopped in it, so that the next one need not parse it from the start. */
export type OpenBatch = CountedBatch & { section: Buffer; hint: { delta: number; at: number; index: number } }
export type Chunk = { from: bigint; to: bigint; batches: OpenBatch[] }

type Kept = Chunk & { bytes: number; at: number }

/** The limit for all streams together. */
const BYTES_MAX = 64 << 20
const KEPT_MS = 30_000

export type BatchCache = {
  /** Batches from `offset` on, or a cached chunk that contains it; `to` equals `from` if there is nothing yet. */
  read(layout: TopicLayout, partition: number, offset: bigint, bytesMax: number): Promise<Chunk>
}

export function createBatchCache(connections: Connections, now: () => number): BatchCache {
  /** By topic id and partition, oldest first. */
  const kept = new Map<string, Kept[]>()
  let bytes = 0

  function shrink(): void {
    for (const [key, chunks] of kept) {
      while (chunks.length > 0 && (bytes > BYTES_MAX || chunks[0]!.at < now() - KEPT_MS)) bytes -= chunks.shift()!.bytes
      if (chunks.length === 0) kept.delete(key)
      if (bytes <= BYTES_MAX) return
    }
  }

  return {
    async read(layout, partition, offset, bytesMax) {
      const key = `${layout.topicId}/${partition}`
      const found = kept.get(key)?.find(({ from, to, at }) => offset >= from && offset < to && at > now() - KEPT_MS)
      if (found) return found
      const { batches, nextOffset } = await fetchCounted(connections, layout, partition, offset, bytesMax)
      const open = batches.map((batch): OpenBatch => ({
        ...batch,
        section: inflate(batch.header.attributes & COMPRESSION_MASK, batch.bytes.subarray(BATCH_HEADER_BYTES)),
        hint: { delta: -1, at: 0, index: 0 },
      }))
      const size = open.reduce((sum, each) => sum + each.bytes.length + each.section.length, 0)
      const chunk: Kept = { from: offset, to: nextOffset, batches: open, bytes: size, at: now() }
      if (nextOffset > offset && size < BYTES_MAX / 4) {
        // The partition fetched last moves to the end: those not fetched for longest are evicted first.
        const isInside = ({ from, to }: Kept) => from >= offset && to <= nextOffset
        const chunks = kept.get(key) ?? []
        for (const each of chunks.filter(isInside)) bytes -= each.bytes
        kept.delete(key)
        kept.set(key, [...chunks.filter((each) => !isInside(each)), chunk])
        bytes += size
        shrink()
      }
      return chunk
    },
  }
}
