/** Where a task goes on: the positions of its partitions, and the ranges that were planned there. */
import type { Cluster, TopicLayout } from '../../../shared/kafka/cluster.ts'
import type { Assignment } from '../../../shared/kafka/membership.ts'
import type { OpenSink } from '../../../shared/connectors/sink.ts'
import { parseCommitMetadata } from '../../../shared/model/commit-metadata.ts'
import { runIdOf, type PipelineDefinition } from '../../../shared/model/definition.ts'
import { Interrupted } from '../interruption.ts'
import type { Accounting } from './accounting.ts'

/**
 * A range that starts at the position. `deadLettersFrom`: an offset in the dead-letter topic at or before its first dead letter, if any.
 */
export type PlannedRange = { to: bigint; revision: number; deadLettersFrom: bigint | undefined }

export type Loaded = {
  positions: Map<number, bigint>
  /** Ranges that were planned but may not have been written, by partition. */
  planned: Map<number, PlannedRange>
  /** Positions that the sink keeps and the group lacks: the offset commit after the sink's own commit was lost. */
  unmirrored: { partition: number; offset: bigint; metadata: string }[]
}

/**
 * Loads the positions of the owned partitions, the ranges planned there, and the counters. D2: a missing position is never guessed, and
 * that of a topic which was deleted and recreated is missing: a task may have committed it after the new topic was there. Only two kinds of
 * partitions start at their first record: those added after the start was set, and, outside jobs, all of a pipeline whose
 * `on_lost_position` is `earliest`.
 */
export async function loadPositions(
  cluster: Cluster,
  definition: PipelineDefinition,
  layout: TopicLayout,
  owned: Assignment,
  accounting: Accounting,
  sink: OpenSink | undefined,
): Promise<Loaded> {
  const planned: Loaded['planned'] = new Map()
  const unmirrored: Loaded['unmirrored'] = []
  const all = await cluster.committedOffsets(definition.group_id, definition.source.topic, [...owned.partitions])
  const isOfTopic = (metadata: string) => (parseCommitMetadata(metadata)?.i ?? layout.topicId) === layout.topicId
  const committed = new Map([...all].filter(([, { metadata }]) => isOfTopic(metadata)))
  const loaded = new Map<number, bigint>()
  const isNew = (partition: number) => definition.source.partitions > 0 && partition >= definition.source.partitions
  const isUnknown = (partition: number) =>
    !committed.has(partition) && (isNew(partition) || (definition.on_lost_position === 'earliest' && !definition.job))
  const starts = await cluster.offsets(layout, owned.partitions.filter(isUnknown), 'earliest')
  accounting.begin(layout.topicId)
  for (const partition of owned.partitions) {
    const found = committed.get(partition)
    if (!found && !isUnknown(partition)) {
      const { topic } = definition.source
      const reason = all.has(partition)
        ? `${topic} was deleted and recreated: the committed position of partition ${partition} is one of the topic before`
        : `partition ${partition} of ${topic} has no committed position`
      throw new Interrupted('failed', reason)
    }
    const mirror = { nextOffset: found?.offset ?? starts.get(partition) ?? 0n, note: found?.metadata ?? '' }
    const mirrored = parseCommitMetadata(mirror.note)
    // A position that the sink keeps with its rows is authoritative; the committed offset only mirrors it. Where the sink has lost it, it
    // gets that of the revision which committed last: the one that planned a range must be able to finish it.
    const resetAt = definition.reset_revision
    const revision = Math.max(mirrored?.r ?? 0, resetAt)
    const kept = await sink?.position?.({ runId: runIdOf(definition), topicId: layout.topicId, partition, revision, resetAt }, mirror)
    const { nextOffset, note } = kept ?? mirror
    if (nextOffset !== mirror.nextOffset) unmirrored.push({ partition, offset: nextOffset, metadata: note })
    loaded.set(partition, nextOffset)
    accounting.restore(partition, note)
    // What the sink has moved past is written: of a plan for it, only what the sink's own note says is left.
    const plan = nextOffset === mirror.nextOffset ? mirrored : parseCommitMetadata(note)
    if (plan?.p !== undefined)
      planned.set(partition, { to: BigInt(plan.p), revision: plan.r, deadLettersFrom: plan.d === undefined ? undefined : BigInt(plan.d) })
    const handledBy = accounting.revisionOf(partition) ?? 0
    if (!definition.job && handledBy > definition.revision)
      throw new Interrupted(
        'revision_behind',
        `partition ${partition} was handled by revision ${handledBy} already; this processor still has ${definition.revision}`,
      )
  }
  return { positions: loaded, planned, unmirrored }
}
