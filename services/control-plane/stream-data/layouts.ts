/** Layouts of the streams' topics, cached for a few seconds, because every page and every write needs one. */
import { layoutOf } from '../layout-of.ts'
import type { Cluster, TopicLayout } from '../../../shared/kafka/cluster.ts'

const KEPT_MS = 5000
const KEPT_MAX = 5000

export type Layouts = {
  /** Throws 503 if the topic does not exist, or a partition has no leader at the moment. */
  of(topic: string): Promise<TopicLayout>
  /** Drops the cached layout, after a leader has moved or the topic was recreated. */
  forget(topic: string): void
}

export function createLayouts(cluster: Cluster): Layouts {
  const known = new Map<string, { layout: TopicLayout; at: number }>()
  return {
    async of(topic) {
      const kept = known.get(topic)
      if (kept && kept.at > performance.now() - KEPT_MS) return kept.layout
      known.delete(topic)
      const layout = await layoutOf(cluster, topic, 'the stream’s topic')
      if (known.size >= KEPT_MAX) known.clear()
      known.set(topic, { layout, at: performance.now() })
      return layout
    },
    forget: (topic) => void known.delete(topic),
  }
}
