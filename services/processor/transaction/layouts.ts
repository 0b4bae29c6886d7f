/** Layouts of the topics that a task writes to, and who leads their partitions. */
import type { Cluster, TopicLayout } from '../../../shared/kafka/cluster.ts'
import { Interrupted } from '../interruption.ts'

/** `refresh` looks the leaders up again; `of` throws for a topic that was not opened. */
export type Layouts = { of(topic: string): TopicLayout; refresh(): Promise<void> }

const APPEARS_WITHIN_MS = 10_000
const LOOK_MS = 200

/** The layout of a topic; one created a moment ago may not have reached this broker's metadata yet. Fails the task without one. */
export async function findLayout(cluster: Cluster, topic: string): Promise<TopicLayout> {
  for (
    const deadline = performance.now() + APPEARS_WITHIN_MS;
    performance.now() < deadline;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
  ) {
    const layout = await cluster.describeTopic(topic)
    if (layout) return layout
  }
  throw new Interrupted('failed', `topic ${topic} does not exist`)
}

export async function openLayouts(cluster: Cluster, topics: readonly string[]): Promise<Layouts> {
  const layouts = new Map<string, TopicLayout>()
  const refresh = async () => {
    for (const topic of topics) layouts.set(topic, await findLayout(cluster, topic))
  }
  await refresh()
  return {
    of(topic) {
      const layout = layouts.get(topic)
      if (!layout) throw new Error(`the layout of ${topic} was not opened`)
      return layout
    },
    refresh,
  }
}

/** The broker that leads the partition; breaks the transaction where there is none. */
export function leaderOf({ topic, leaders }: TopicLayout, partition: number): number {
  const leader = leaders[partition] ?? -1
  if (leader < 0)
    throw new Interrupted(
      { kind: 'transaction_broken', away: { topic, partition } },
      `the partition ${partition} of ${topic} has no leader`,
    )
  return leader
}
