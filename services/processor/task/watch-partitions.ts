/** Looks now and then whether the source or the sink has got more partitions: nothing tells a member of a group. */
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'

const LOOK_MS = 15_000

/** Calls `onChange` when the topics have other numbers of partitions than these, until the timer is cleared. */
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
