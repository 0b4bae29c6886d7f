/** Counts the records of a topic as a reader at read-committed sees them come, by the headers of their batches. */
import type { Cluster } from '../../shared/kafka/cluster.ts'
import { CONTROL, readBatchHeader } from '../../shared/kafka/protocol/record-batch.ts'
import { createAbortedFilter } from '../../shared/kafka/protocol/aborted.ts'
import { fetchBatches } from '../../shared/kafka/wire/fetch.ts'

/** Resolves once `count` records are visible, with the times of `performance.now()` at the first and the last. Throws when that takes longer than `msMax`. */
export async function untilVisible(
  cluster: Cluster,
  topic: string,
  count: number,
  msMax: number,
): Promise<{ firstAt: number; lastAt: number }> {
  const layout = (await cluster.describeTopic(topic))!
  const connections = cluster.openConnections(`witness-${topic}`)
  const positions = layout.leaders.map(() => 0n)
  const deadline = performance.now() + msMax
  let seen = 0
  let firstAt = 0
  try {
    const connection = await connections.leader(layout.leaders[0]!)
    while (seen < count) {
      if (performance.now() > deadline) throw new Error(`${topic}: ${seen} of ${count} records are visible after ${msMax / 1000} s`)
      const answer = await fetchBatches(connection, {
        topicId: layout.topicId,
        partitions: positions.map((offset, partition) => ({ partition, offset, bytesMax: 8 << 20 })),
        waitMs: 100,
        bytesMin: 1,
        bytesMax: 32 << 20,
      })
      const before = seen
      for (const { partition, bytes, aborted } of answer.partitions) {
        if (!bytes) continue
        const isAborted = createAbortedFilter(aborted)
        for (let at = 0, header = readBatchHeader(bytes, 0); header; at += header.size, header = readBatchHeader(bytes, at)) {
          const isOut = isAborted(header)
          positions[partition] = header.baseOffset + BigInt(header.lastOffsetDelta) + 1n
          if ((header.attributes & CONTROL) === 0 && !isOut) seen += header.recordCount
        }
      }
      if (before === 0 && seen > 0) firstAt = performance.now()
    }
    return { firstAt, lastAt: performance.now() }
  } finally {
    await connections.close()
  }
}
