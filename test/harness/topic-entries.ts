/** What a compacted topic of the service holds, read through once. */
import type { Cluster } from '../../shared/kafka/cluster.ts'
import { followTopic } from '../../shared/kafka/follow.ts'

/** The keys that have a value, with the last one. */
export async function entriesIn(cluster: Cluster, topic: string): Promise<Map<string, string>> {
  const entries = new Map<string, string>()
  const following = followTopic({
    cluster,
    topic,
    purpose: 'test',
    from: 0n,
    onRecords(records) {
      for (const { key, value } of records)
        if (value === null) entries.delete(key)
        else entries.set(key, String(value))
    },
    onError: () => {},
  })
  await following.caughtUp
  await following.close()
  return entries
}
