/** The topics that a task writes to, and which of its partitions wait because their target has no leader. */
import type { Cluster, TopicLayout } from '../../../shared/kafka/cluster.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import { openLayouts, type Layouts } from '../transaction/layouts.ts'

/** Layouts as they are now: `refresh` replaces them when a leader has moved. */
export type Targets = Layouts & {
  /** Undefined for an external sink. */
  readonly sink: TopicLayout | undefined
  readonly deadLetter: TopicLayout
  readonly ledger: TopicLayout
}

export async function openTargets(
  cluster: Cluster,
  { sink, dead_letter_topic }: PipelineDefinition,
  ledgerTopic: string,
): Promise<Targets> {
  const sinkTopic = sink.kind === 'topic' ? sink.topic : undefined
  const topics = [dead_letter_topic, ledgerTopic, ...(sinkTopic === undefined ? [] : [sinkTopic])]
  const layouts = await openLayouts(cluster, [...new Set(topics)])
  return {
    ...layouts,
    get sink() {
      return sinkTopic === undefined ? undefined : layouts.of(sinkTopic)
    },
    get deadLetter() {
      return layouts.of(dead_letter_topic)
    },
    get ledger() {
      return layouts.of(ledgerTopic)
    },
  }
}

/** Partitions of the dead-letter topic that could not be written to, until they have a leader again. */
export type AwayDeadLetters = Set<number>

/**
 * Source partitions that must wait because a target has no leader: their sink partition (where each source partition has its own), or
 * their dead-letter partition once a write to it has failed. The task's other partitions go on. If any must wait, the leaders are looked
 * up again first.
 */
export async function findAside(
  partitions: readonly number[],
  targets: Targets,
  hasOwnSinkPartition: boolean,
  away: AwayDeadLetters,
): Promise<number[]> {
  const isLed = ({ leaders }: TopicLayout, partition: number) => (leaders[partition % leaders.length] ?? -1) >= 0
  const find = () =>
    partitions.filter((partition) => {
      if (hasOwnSinkPartition && targets.sink && !isLed(targets.sink, partition)) return true
      return away.has(partition % targets.deadLetter.leaders.length) && !isLed(targets.deadLetter, partition)
    })
  if (find().length > 0) await targets.refresh().catch(() => {})
  const found = find()
  if (found.length === 0) away.clear()
  return found
}
