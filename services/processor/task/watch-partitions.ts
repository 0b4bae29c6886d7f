/** Checks regularly whether the source or the sink has a new number of partitions: Kafka does not notify group members of that. */
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'

const LOOK_MS = 15_000

/** Calls `onChange` when a topic's number of partitions differs from the given one, until the timer is cleared. */
export function watchPartitions(
  cluster: Cluster,
  { source, sink }: PipelineDefinition,
  sourcePartitions: number,
  /** Undefined for an external sink. */
  sinkPartitions: number | undefined,
  onChange: () => void,
): NodeJS.Timeout {
  return setInterval(() => {
    const partitionsOf = async (topic: string) => (await cluster.describeTopic(topic))?.leaders.length
    void Promise.all([partitionsOf(source.topic), sink.kind === 'topic' ? partitionsOf(sink.topic) : undefined])
      .then(([ofSource = sourcePartitions, ofSink = sinkPartitions]) => {
        if (ofSource !== sourcePartitions || ofSink !== sinkPartitions) onChange()
      })
      .catch(() => {})
  }, LOOK_MS)
}
