/** Checks regularly whether the source or the sink has a new number of partitions: Kafka does not notify group members of that. */
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'

const LOOK_MS = 15_000

/** Calls `onChange` when a topic's number of partitions differs from the given one, until the timer is cleared. */
export function watchPartitions(
  cluster: Cluster,
  { source_topic, sink_topic }: PipelineDefinition,
  sourcePartitions: number,
  sinkPartitions: number,
  onChange: () => void,
): NodeJS.Timeout {
  return setInterval(() => {
    void Promise.all([cluster.describeTopic(source_topic), cluster.describeTopic(sink_topic)])
      .then(([source, sink]) => {
        if (!source || !sink) return
        if (source.leaders.length !== sourcePartitions || sink.leaders.length !== sinkPartitions) onChange()
      })
      .catch(() => {})
  }, LOOK_MS)
}
