/** How a handler gets the layout of a topic: or the request ends as 503, because a topic that should be there is gone or not led. */
import type { Cluster, TopicLayout } from '../../shared/kafka/cluster.ts'
import { unavailable } from './service-error.ts'

/**
 * Throws 503 naming `what` where the topic does not exist, or has no leader for the partitions that are read: all, one, or none. Asking
 * Kafka for anything of a partition without a leader is repeated for 20 s (`shared/kafka/brokers.ts`).
 */
export async function layoutOf(
  cluster: Pick<Cluster, 'describeTopic'>,
  topic: string,
  what: string,
  read: number | 'all' | 'none' = 'all',
): Promise<TopicLayout> {
  const layout = await cluster.describeTopic(topic)
  const leaders = read === 'none' ? [] : read === 'all' ? layout?.leaders : [layout?.leaders[read]]
  if (!layout || leaders?.includes(-1)) throw unavailable(what)
  return layout
}
