/**
 * A cache of fetched stream batches: a batch may be larger than a page, so that several pages of a walk are cut from it. Committed records
 * do not change, so nothing here can be stale; the topic id in the key tells a recreated topic from the old one.
 */
import type { Connections, TopicLayout } from '../../../shared/kafka/cluster.ts'
import { inflate } from '../../../shared/kafka/protocol/compression.ts'
import { BATCH_HEADER_BYTES, COMPRESSION_MASK } from '../../../shared/kafka/protocol/record-batch.ts'
import { fetchCounted, type CountedBatch } from './read-records.ts'

/** `hint`: where a reader stopped in the batch's section, so that the next one need not read it from the start. */
export type CachedBatch = CountedBatch & { hint: { delta: number; at: number; index: number } }
export type Chunk = { from: bigint; to: bigint; batches: CachedBatch[] }

type Kept = Chunk & { bytes: number; at: number }

/** Limits for all streams together: of batches as they were fetched, and of what compressed ones inflate to. */
const FETCHED_BYTES_MAX = 32 << 20
const INFLATED_BYTES_MAX = 32 << 20
const KEPT_MS = 30_000

export type BatchCache = {
  /** Batches from `offset` on, or a cached chunk that contains it; `to` equals `from` if there is nothing yet. */
  read(layout: TopicLayout, partition: number, offset: bigint, bytesMax: number): Promise<Chunk>
  /** The batch's records as one section, which may be dropped afterwards. What it had to inflate for that is added to `inflated`. */
  sectionOf(batch: CachedBatch, inflated: { bytes: number }): Buffer
}

export function createBatchCache(connections: Connections): BatchCache {
  /** By topic id and partition, oldest first. */
  const kept = new Map<string, Kept[]>()
  let keptBytes = 0
  /** What compressed batches inflate to, which may be thousands of times as much; the one used last is at the end. */
  const sections = new Map<CachedBatch, Buffer>()
  let sectionBytes = 0

  function shrink(): void {
    for (const [key, chunks] of kept) {
      while (chunks.length > 0 && (keptBytes > FETCHED_BYTES_MAX || chunks[0]!.at < performance.now() - KEPT_MS))
        keptBytes -= chunks.shift()!.bytes
      if (chunks.length === 0) kept.delete(key)
      if (keptBytes <= FETCHED_BYTES_MAX) return
    }
  }

  return {
    async read(layout, partition, offset, bytesMax) {
      const key = `${layout.topicId}/${partition}`
      const found = kept.get(key)?.find(({ from, to, at }) => offset >= from && offset < to && at > performance.now() - KEPT_MS)
      if (found) return found
      const { batches, nextOffset } = await fetchCounted(connections, layout, partition, offset, bytesMax)
      const size = batches.reduce((sum, each) => sum + each.bytes.length, 0)
      const cached = batches.map((batch): CachedBatch => ({ ...batch, hint: { delta: -1, at: 0, index: 0 } }))
      const chunk: Kept = { from: offset, to: nextOffset, batches: cached, bytes: size, at: performance.now() }
      if (nextOffset > offset && size < FETCHED_BYTES_MAX / 2) {
        // The partition fetched last moves to the end: those not fetched for longest are evicted first.
        const isInside = ({ from, to }: Kept) => from >= offset && to <= nextOffset
        const chunks = kept.get(key) ?? []
        for (const each of chunks.filter(isInside)) keptBytes -= each.bytes
        kept.delete(key)
        kept.set(key, [...chunks.filter((each) => !isInside(each)), chunk])
        keptBytes += size
        shrink()
      }
      return chunk
    },
    sectionOf(batch, inflated) {
      const codec = batch.header.attributes & COMPRESSION_MASK
      const packed = batch.bytes.subarray(BATCH_HEADER_BYTES)
      if (codec === 0) return packed
      let section = sections.get(batch)
      if (section) sections.delete(batch)
      else {
        section = inflate(codec, packed)
        sectionBytes += section.length
        inflated.bytes += section.length
      }
      sections.set(batch, section)
      // The last one stays, however large it is: the same reader goes on in it.
      for (const [oldest, { length }] of sections) {
        if (sectionBytes <= INFLATED_BYTES_MAX || oldest === batch) break
        sections.delete(oldest)
        sectionBytes -= length
      }
      return section
    },
  }
}
