/** Real records of a source topic, by raw fetches at read-committed and without any group. */
import type { Cluster, TopicLayout } from '../../../shared/kafka/cluster.ts'
import { fetchCounted, wholeRecordsOf } from '../stream-data/read-records.ts'
import type { SourceRecord } from './trace.ts'

const FETCH_BYTES = 1 << 20
/** Looking back for the newest records reads at most so many offsets of a partition. */
const BACK_MAX = 100_000n

export type SourceReader = {
  /** The record at exactly this offset; undefined when there is none (a marker, an aborted or a compacted one, outside of the topic). */
  at(layout: TopicLayout, partition: number, offset: bigint): Promise<SourceRecord | undefined>
  /** Up to `limit` records of a partition from an offset on. */
  from(layout: TopicLayout, partition: number, offset: bigint, limit: number): Promise<SourceRecord[]>
  /** The newest `limit` records of a partition. */
  newest(layout: TopicLayout, partition: number, limit: number): Promise<SourceRecord[]>
  close(): Promise<void>
}

export function openSourceReader(cluster: Cluster): SourceReader {
  const connections = cluster.openConnections('source-reader')

  async function from(layout: TopicLayout, partition: number, offset: bigint, limit: number, until?: bigint): Promise<SourceRecord[]> {
    const found: SourceRecord[] = []
    for (let position = offset; found.length < limit && (until === undefined || position < until);) {
      const { batches, nextOffset } = await fetchCounted(connections, layout, partition, position, FETCH_BYTES)
      for (const batch of batches) found.push(...wholeRecordsOf(batch, position).map((each) => ({ ...each, partition })))
      if (nextOffset === position) break
      position = nextOffset
    }
    return found.slice(0, limit)
  }

  const bounds = async (layout: TopicLayout, partition: number) =>
    [
      (await cluster.offsets(layout, [partition], 'earliest')).get(partition) ?? 0n,
      (await cluster.offsets(layout, [partition], 'latest')).get(partition) ?? 0n,
    ] as const

  return {
    async at(layout, partition, offset) {
      const [first, end] = await bounds(layout, partition)
      if (offset < first || offset >= end) return undefined
      const [found] = await from(layout, partition, offset, 1)
      return found?.offset === offset ? found : undefined
    },
    from,
    async newest(layout, partition, limit) {
      const [first, end] = await bounds(layout, partition)
      // Markers and aborted records take offsets too: look further back until enough are found.
      for (let back = BigInt(limit) * 2n; ; back *= 4n) {
        const start = end - back > first ? end - back : first
        const found = await from(layout, partition, start, Number.MAX_SAFE_INTEGER, end)
        if (found.length >= limit || start === first || back > BACK_MAX) return found.slice(-limit)
      }
    },
    close: () => connections.close(),
  }
}
