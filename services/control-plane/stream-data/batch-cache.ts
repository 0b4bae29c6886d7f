/**
 * Batches of streams as they were fetched, kept for a while: the pages of a walk are cut from batches that are larger than a page. What is
 * committed does not change, so that nothing here can be stale; the topic's id tells a topic that was made anew.
 */
import type { Connections, TopicLayout } from '../../../shared/kafka/cluster.ts'
import { inflate } from '../../../shared/kafka/protocol/compression.ts'
import { BATCH_HEADER_BYTES, COMPRESSION_MASK } from '../../../shared/kafka/protocol/record-batch.ts'
import { fetchCounted, type CountedBatch } from './read-records.ts'

/** A batch with its records inflated. `hint`: where a reader stopped within it, so that the next one need not begin at its start. */
export type OpenBatch = CountedBatch & { section: Buffer; hint: { delta: number; at: number; index: number } }
export type Chunk = { from: bigint; to: bigint; batches: OpenBatch[] }

type Kept = Chunk & { bytes: number; at: number }

/** Of all streams together. */
const BYTES_MAX = 64 << 20
const KEPT_MS = 30_000

export type BatchCache = {
  /** Batches from `offset` on; `to` equals `from` where nothing is there yet. */
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
        // The youngest streams are at the end: those that nobody reads go first.
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
