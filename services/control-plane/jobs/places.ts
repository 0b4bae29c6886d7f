/** Where in a stream: the API's words for a place resolved to an offset per partition. */
import type { StreamPlace } from '../../../shared/api/pipelines.ts'
import { invalidRequest, type Detail } from '../../../shared/errors/service-error.ts'
import type { Cluster, TopicLayout } from '../../../shared/kafka/cluster.ts'

/** Offsets outside of what a partition holds, and partitions that are not there, are faults named below `path`. */
export async function resolvePlace(cluster: Cluster, layout: TopicLayout, place: StreamPlace, path: string): Promise<Map<number, bigint>> {
  const partitions = layout.leaders.map((_, partition) => partition)
  if (typeof place === 'string') return cluster.offsets(layout, partitions, place)
  const [earliest, latest] = await Promise.all([
    cluster.offsets(layout, partitions, 'earliest'),
    cluster.offsets(layout, partitions, 'latest'),
  ])
  if ('timestamp' in place) {
    const found = await cluster.offsets(layout, partitions, Math.max(0, Date.parse(place.timestamp)))
    // No record is as young as that: its end.
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
      details.push({ path: `${path}/offsets/${text}`, message: `is no partition of the stream, which has ${partitions.length}` })
    else if (BigInt(offset) < low || BigInt(offset) > high)
      details.push({ path: `${path}/offsets/${text}`, message: `must be from ${low} to ${high}, what the partition holds` })
    else offsets.set(partition, BigInt(offset))
  }
  if (details.length > 0) throw invalidRequest(details)
  return offsets
}
