/**
 * Sees when the records of a topic become visible to a read-committed reader, and takes almost no CPU from the programs being measured:
 * it asks for the last stable offsets a hundred times a second, and counts the records by their batch headers once nothing moves any more.
 */
import type { Cluster, TopicLayout } from '../../shared/kafka/cluster.ts'
import { batchesIn } from '../../shared/kafka/protocol/batches-in.ts'
import { fetchBatches } from '../../shared/kafka/wire/fetch.ts'

const LOOK_MS = 10
/** After this time without a move it may be the end. */
const QUIET_MS = 500

/** Counts the records after `positions`, and moves `positions` to the end. */
async function countNew(cluster: Cluster, layout: TopicLayout, positions: bigint[], ends: ReadonlyMap<number, bigint>): Promise<number> {
  const connections = cluster.openConnections(`witness-${layout.topic}`)
  let seen = 0
  try {
    const connection = await connections.leader(layout.leaders[0]!)
    while (positions.some((offset, partition) => offset < ends.get(partition)!)) {
      const answer = await fetchBatches(connection, {
        topicId: layout.topicId,
        partitions: positions.map((offset, partition) => ({ partition, offset, bytesMax: 8 << 20 })),
        waitMs: 100,
        bytesMin: 1,
        bytesMax: 32 << 20,
      })
      for (const { partition, bytes, aborted } of answer.partitions) {
        if (!bytes) continue
        for (const { header, nextOffset, isData } of batchesIn(bytes, aborted)) {
          positions[partition] = nextOffset
          if (isData) seen += header.recordCount
        }
      }
    }
    return seen
  } finally {
    await connections.close()
  }
}

/**
 * Resolves once `count` records are visible, with the times of `performance.now()` at which the first and the last became visible. Calls
 * `onMove` whenever more become visible. Throws when it takes longer than `msMax`.
 */
export async function untilVisible(
  cluster: Cluster,
  topic: string,
  count: number,
  msMax: number,
  onMove: () => void,
): Promise<{ firstAt: number; lastAt: number }> {
  const layout = (await cluster.describeTopic(topic))!
  const partitions = [...layout.leaders.keys()]
  const positions = partitions.map(() => 0n)
  const deadline = performance.now() + msMax
  let seen = 0
  let firstAt = 0
  let lastAt = 0
  let last = ''
  while (performance.now() < deadline) {
    const ends = await cluster.offsets(layout, partitions, 'latest')
    const total = [...ends.values()].reduce((sum, end) => sum + end, 0n)
    const at = performance.now()
    if (total > 0n && firstAt === 0) firstAt = at
    const now = [...ends].join()
    if (now !== last) {
      last = now
      lastAt = at
      if (total > 0n) onMove()
    } else if (total >= BigInt(count) && at - lastAt > QUIET_MS) {
      seen += await countNew(cluster, layout, positions, ends)
      if (seen >= count) return { firstAt, lastAt }
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  }
  throw new Error(`${topic}: ${seen} of ${count} records are visible after ${msMax / 1000} s`)
}
