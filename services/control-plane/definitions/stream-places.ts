/** Resolves a position in a stream as the API takes it (an end, a time or offsets) to an offset per partition. */
import type { StreamPlace } from '../../../shared/api/pipeline-requests.ts'
import { invalidRequest, type Detail } from '../service-error.ts'
import type { Cluster, TopicLayout } from '../../../shared/kafka/cluster.ts'

/** Throws 400, with pointers below `path`, for offsets outside of a partition's range and for partitions that do not exist. */
export async function resolvePlace(cluster: Cluster, layout: TopicLayout, place: StreamPlace, path: string): Promise<Map<number, bigint>> {
  const partitions = layout.leaders.map((_, partition) => partition)
  if (typeof place === 'string') return cluster.offsets(layout, partitions, place)
  const bounds = await cluster.bounds(layout)
  if ('timestamp' in place) {
    const found = await cluster.offsets(layout, partitions, Math.max(0, Date.parse(place.timestamp)))
    // A partition without a record at or after that time: its end.
    return new Map(
      [...bounds].map(([partition, { end }]) => {
        const offset = found.get(partition) ?? -1n
        return [partition, offset < 0n ? end : offset]
      }),
    )
  }
  const details: Detail[] = []
  const offsets = new Map([...bounds].map(([partition, { start }]) => [partition, start]))
  for (const [text, offset] of Object.entries(place.offsets)) {
    const partition = Number(text)
    const range = bounds.get(partition)
    if (!range) details.push({ path: `${path}/offsets/${text}`, message: `is not one of the stream’s ${partitions.length} partitions` })
    else if (BigInt(offset) < range.start || BigInt(offset) > range.end)
      details.push({ path: `${path}/offsets/${text}`, message: `must be from ${range.start} to ${range.end}, the range of the partition` })
    else offsets.set(partition, BigInt(offset))
  }
  if (details.length > 0) throw invalidRequest(details)
  return offsets
}
