/** Where a task reads and writes: layouts of its topics, and the positions to go on from. */
import type { Cluster, TopicLayout } from '../../../shared/kafka/cluster.ts'
import type { Assignment } from '../../../shared/kafka/group/membership.ts'
import type { OpenSink } from '../../../shared/connectors/sink.ts'
import { parseCommitMetadata } from '../../../shared/model/commit-metadata.ts'
import { runIdOf, type PipelineDefinition } from '../../../shared/model/definition.ts'
import type { Mutation } from '../mutation.ts'
import type { Accounting } from './accounting.ts'
import type { Targets } from './round/deliver.ts'
import { PositionLost } from './round/fetch.ts'

/** The task starts anew, so that the group shares the partitions and records go by the new count. */
export class PartitionsChanged extends Error {}

/** The partition was handled by a later revision than this processor has heard of; it waits for that one. */
export class RevisionBehind extends Error {}

const APPEARS_WITHIN_MS = 10_000

export async function layoutOf(cluster: Cluster, topic: string, now: () => number): Promise<TopicLayout> {
  // A topic made a moment ago may not have reached this broker's metadata yet.
  for (const deadline = now() + APPEARS_WITHIN_MS; now() < deadline; await new Promise((resolve) => setTimeout(resolve, 200))) {
    const layout = await cluster.describeTopic(topic)
    if (layout) return layout
  }
  throw new PositionLost(`topic ${topic} does not exist`)
}

export const sourceLayout = (cluster: Cluster, { source_topic }: PipelineDefinition, now: () => number): Promise<TopicLayout> =>
  layoutOf(cluster, source_topic, now)

export async function openTargets(
  cluster: Cluster,
  definition: PipelineDefinition,
  ledgerTopic: string,
  now: () => number,
): Promise<Targets> {
  const targets: Targets = {
    sink: await layoutOf(cluster, definition.sink_topic, now),
    deadLetter: await layoutOf(cluster, definition.dead_letter_topic, now),
    ledger: await layoutOf(cluster, ledgerTopic, now),
    async refresh() {
      targets.sink = await layoutOf(cluster, definition.sink_topic, now)
      targets.deadLetter = await layoutOf(cluster, definition.dead_letter_topic, now)
      targets.ledger = await layoutOf(cluster, ledgerTopic, now)
    },
  }
  return targets
}

/** A range from the position on. `lettersFrom`: where its dead letters lie in their topic, if it has any. */
export type Planned = { to: bigint; revision: number; lettersFrom: bigint | undefined }

export type Loaded = {
  positions: Map<number, bigint>
  /** Ranges that were planned and perhaps not written, by partition. */
  planned: Map<number, Planned>
  /** Positions that the sink keeps and the group does not know: a commit that was lost behind the sink's own. */
  unmirrored: { partition: number; offset: bigint; metadata: string }[]
}

/**
 * Where the owned partitions go on, the ends of ranges that were planned there, and their counters. D2: a missing position is never
 * guessed, except that a partition which the topic did not have when the start was set begins with its first record, as all do where the
 * pipeline wants it so.
 */
export async function loadPositions(
  cluster: Cluster,
  definition: PipelineDefinition,
  layout: TopicLayout,
  owned: Assignment,
  accounting: Accounting,
  sink: OpenSink | undefined,
  mutation?: Mutation,
): Promise<Loaded> {
  const planned: Loaded['planned'] = new Map()
  const unmirrored: Loaded['unmirrored'] = []
  const committed = await cluster.committedOffsets(definition.group_id, definition.source_topic, [...owned.partitions])
  const loaded = new Map<number, bigint>()
  const isNew = (partition: number) => definition.source_partitions > 0 && partition >= definition.source_partitions
  const isUnknown = (partition: number) =>
    !committed.has(partition) && (isNew(partition) || (definition.on_lost_position === 'earliest' && !definition.job))
  const starts = await cluster.offsets(layout, owned.partitions.filter(isUnknown), 'earliest')
  accounting.forget()
  for (const partition of owned.partitions) {
    const found = committed.get(partition)
    if (!found && !isUnknown(partition))
      throw new PositionLost(`partition ${partition} of ${definition.source_topic} has no committed position`)
    const mirror = { nextOffset: found?.offset ?? starts.get(partition) ?? 0n, note: found?.metadata ?? '' }
    // The position that the sink keeps beside its rows is the truth; the committed offset is its mirror.
    const kept = await sink?.position?.(
      { runId: runIdOf(definition), topicId: layout.topicId, partition, revision: definition.revision, resetAt: definition.reset_revision },
      mirror,
    )
    const { nextOffset, note } = kept ?? mirror
    if (nextOffset !== mirror.nextOffset) unmirrored.push({ partition, offset: nextOffset, metadata: note })
    loaded.set(partition, nextOffset)
    accounting.restore(partition, note)
    // What the sink has moved past was written, whatever was planned there.
    const plan = nextOffset === mirror.nextOffset ? parseCommitMetadata(mirror.note) : undefined
    if (plan?.p !== undefined)
      planned.set(partition, { to: BigInt(plan.p), revision: plan.r, lettersFrom: plan.d === undefined ? undefined : BigInt(plan.d) })
    const handledBy = accounting.revisionOf(partition) ?? 0
    if (!definition.job && handledBy > definition.revision)
      throw new RevisionBehind(
        `partition ${partition} was handled by revision ${handledBy} already; this processor still has ${definition.revision}`,
      )
  }
  if (mutation === 'start_at_end') return { positions: await cluster.offsets(layout, [...owned.partitions], 'latest'), planned, unmirrored }
  return { positions: loaded, planned, unmirrored }
}
