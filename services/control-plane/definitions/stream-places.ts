/** Resolves a position in a stream as the API takes it (an end, a time or offsets) to an offset per partition. */
import type { StreamPlace } from '../../../shared/api/pipelines.ts'
import { invalidRequest, type Detail } from '../service-error.ts'
import type { Cluster, TopicLayout } from '../../../shared/kafka/cluster.ts'

/** Throws 400, with pointers below `path`, for offsets outside of a partition's range and for partitions that do not exist. */
export async function resolvePlace(cluster: Cluster, layout: TopicLayout, place: StreamPlace, path: string): Promise<Map<number, bigint>> {
  const partitions = layout.leaders.map((_, partition) => partition)
  if (typeof place === 'string') return cluster.offsets(layout, partitions, place)
  const [earliest, latest] = await Promise.all([
    cluster.offsets(layout, partitions, 'earliest'),
    cluster.offsets(layout, partitions, 'latest'),
  ])
  if ('timestamp' in place) {
    const found = await cluster.offsets(layout, partitions, Math.max(0, Date.parse(place.timestamp)))
    // A partition without a record at or after that time: its end.
    return new Map(
      partitions.map((partition) => [partition, (found.get(partition) ?? -1n) < 0n ? latest.get(partition)! : found.get(partition)!]),
    )
  }
  const details: Detail[] = []
  const offsets = new Map(earliest)
  for (const [text, offset] of Object.entries(place.offsets)) {
    const partition = Number(text)
    const [low, high] = [earliest.get(partition), latest.get(partition)]
    if (low === undefined || high === undefined)
      details.push({ path: `${path}/offsets/${text}`, message: `is not one of the stream’s ${partitions.length} partitions` })
    else if (BigInt(offset) < low || BigInt(offset) > high)
      details.push({ path: `${path}/offsets/${text}`, message: `must be from ${low} to ${high}, the range of the partition` })
    else offsets.set(partition, BigInt(offset))
  }
  if (details.length > 0) throw invalidRequest(details)
  return offsets
}
