/**
 * Dead-letter topic → Postgres, on demand and as pipelines make progress: a partition's rows and its next offset in one database
 * transaction, so that nothing is projected twice or left out. The topic is the source of truth.
 */
import { createOneAtATime } from '../concurrency/one-at-a-time.ts'
import { UNPACED } from '../concurrency/pacing.ts'
import { unavailable } from '../service-error.ts'
import type { Cluster, TopicLayout } from '../../../shared/kafka/cluster.ts'
import type { KafkaRecord } from '../../../shared/kafka/protocol/record-batch.ts'
import { parseCommitMetadata } from '../../../shared/model/commit-metadata.ts'
import type { PipelineDefinition } from '../../../shared/model/definition.ts'
import { splitDeadLetterHeaders, TOPIC_ID_HEADER, type DeadLetterHeader } from '../../../shared/model/dead-letter-headers.ts'
import type { Database } from '../store/database.ts'
import { addDeadLetters, findDeadLetterPosition, lockDeadLetterPosition, type NewDeadLetter } from '../store/dead-letters.ts'
import { patternOf } from './pattern.ts'
import { dropPositionResets, lastSkipping, listPositionResets, settleHandledAgain } from '../store/position-resets.ts'
import { fetchCounted, wantedOf } from '../stream-data/read-records.ts'

type Projected = { id: string; definition: Pick<PipelineDefinition, 'dead_letter_topic' | 'group_id' | 'source'> }

export type DeadLetterProjection = {
  /** Projects what the topic holds at this moment. Throws if that takes longer than the deadline. */
  catchUp(pipeline: Projected, deadlineMs?: number): Promise<void>
  /** Projects in the background; a failure is tried again on the next call. */
  notify(pipeline: Projected): void
  close(): Promise<void>
}

const FETCH_BYTES = 1 << 20
/** Most dead letters of one database transaction, and from how many bytes on it takes no further batch: one may inflate to megabytes. */
const LETTERS_MAX = 1000
const LETTERS_BYTES = 4 << 20
const DEADLINE_MS = 8000

/** A dead letter: the original record, and the details in the headers added after the record's own. */
export function parseDeadLetter(
  pipelineId: string,
  partition: number,
  offset: bigint,
  { key, value, headers }: KafkaRecord,
): NewDeadLetter {
  const { own, added } = splitDeadLetterHeaders(headers)
  const valueOf = (name: DeadLetterHeader) => added[name]
  const number = (name: DeadLetterHeader, fallback = 0) => Number(valueOf(name) ?? fallback) || fallback
  const failedAt = new Date(valueOf('dps.failed_at') ?? 0)
  // Postgres text can't contain NUL.
  const message = (valueOf('__connect.errors.exception.message') ?? '').replaceAll('\0', '�')
  return {
    pipeline_id: pipelineId,
    letter_partition: partition,
    letter_offset: String(offset),
    topic_id: added[TOPIC_ID_HEADER] ?? null,
    partition: number('__connect.errors.partition'),
    record_offset: valueOf('__connect.errors.offset') ?? '0',
    step: number('dps.step'),
    module: valueOf('dps.module') ?? '',
    version: valueOf('dps.module_version') ?? '',
    revision: number('dps.revision'),
    error_code: valueOf('__connect.errors.exception.class.name') ?? '',
    error_message: message,
    pattern: patternOf(message),
    attempts: number('dps.attempt', 1),
    redrives: number('dps.redrives'),
    failed_at: Number.isNaN(failedAt.getTime()) ? new Date(0) : failedAt,
    key,
    value,
    headers: own.map(([name, bytes]) => ({ key: name, base64: bytes?.toString('base64') ?? null })),
  }
}

export function createDeadLetterProjection(db: Database, cluster: Cluster, onError: (error: Error) => void): DeadLetterProjection {
  const connections = cluster.openConnections('dead-letters')
  const projections = createOneAtATime()

  /** The dead letters from `position` on that one database transaction takes, and the offset after them. */
  async function readSome(
    pipelineId: string,
    layout: TopicLayout,
    partition: number,
    position: bigint,
  ): Promise<{ letters: NewDeadLetter[]; nextOffset: bigint }> {
    const { batches, nextOffset } = await fetchCounted(connections, layout, partition, position, FETCH_BYTES)
    const letters: NewDeadLetter[] = []
    let bytes = 0
    for (const batch of batches) {
      const limit = LETTERS_MAX - letters.length
      const wanted = { offset: position, until: undefined, key: undefined, limit, side: 'first' } as const
      const found = await wantedOf(
        batch,
        wanted,
        ({ offset, record }) => {
          bytes += (record.key?.length ?? 0) + (record.value?.length ?? 0)
          return parseDeadLetter(pipelineId, partition, offset, record)
        },
        UNPACED,
      )
      letters.push(...found)
      if (found.length === limit) return { letters, nextOffset: BigInt(found.at(-1)!.letter_offset) + 1n }
      if (bytes >= LETTERS_BYTES) return { letters, nextOffset: batch.nextOffset }
    }
    return { letters, nextOffset }
  }

  /** Reads how far the pipeline is; what is returned then settles the dead letters of records that it has handled again. */
  async function findHandledAgain({ id, definition: { group_id, source } }: Projected) {
    const resets = await listPositionResets(db, id)
    const layout = resets.length === 0 ? undefined : await cluster.describeTopic(source.topic)
    if (!layout) return undefined
    const partitions = resets.map(({ partition }) => partition)
    const committed = await cluster.committedOffsets(group_id, source.topic, partitions)
    // After the positions: what has expired since then was still there when the pipeline passed it.
    const starts = await cluster.offsets(layout, partitions, 'earliest')
    return async (onChunk: () => void): Promise<void> => {
      const skipping = await lastSkipping(db, id, Math.min(...resets.map(({ revision }) => revision)))
      for (const reset of resets) {
        const { partition, topic_id, from_offset, revision } = reset
        const position = committed.get(partition)
        const topicId = parseCommitMetadata(position?.metadata ?? '')?.i ?? layout.topicId
        if (topicId !== topic_id || (skipping !== undefined && skipping >= revision)) {
          await dropPositionResets(db, id, [partition])
          continue
        }
        // What has expired stays pending: it may have been passed over.
        const start = starts.get(partition) ?? 0n
        const from = start > BigInt(from_offset) ? start : BigInt(from_offset)
        const until = position && position.offset > from ? position.offset : from
        if (until > BigInt(from_offset)) await settleHandledAgain(db, id, { ...reset, from_offset: String(from) }, until, onChunk)
      }
    }
  }

  async function project(pipeline: Projected, deadlineMs: number): Promise<void> {
    const { id: pipelineId, definition } = pipeline
    const { dead_letter_topic: topic } = definition
    const deadline = performance.now() + deadlineMs
    const inTime = () => {
      if (performance.now() > deadline) throw unavailable('the list of dead letters, which is catching up with its topic,')
    }
    // First: the dead letters of the records before the position are then in the topic.
    const settle = await findHandledAgain(pipeline)
    const layout = await cluster.describeTopic(topic)
    if (!layout) return
    const partitions = layout.leaders.map((_, partition) => partition)
    const ends = await cluster.offsets(layout, partitions, 'latest')
    for (const partition of partitions) {
      const end = ends.get(partition) ?? 0n
      if (end === 0n) continue
      for (let isDone = false; !isDone;) {
        inTime()
        const position = await findDeadLetterPosition(db, pipelineId, partition)
        if (position >= end) break
        const { letters, nextOffset } = await readSome(pipelineId, layout, partition, position)
        isDone = await db.transaction(async (trx) => {
          // Another projection may have come first: its rows are there, and this one looks again.
          if ((await lockDeadLetterPosition(trx, pipelineId, partition)) !== position) return false
          await addDeadLetters(trx, pipelineId, partition, letters, nextOffset)
          return nextOffset >= end || nextOffset === position
        })
      }
    }
    await settle?.(inTime)
  }

  /** What was written before the call must be seen: one that is under way may have looked too early. */
  const catchUp = (pipeline: Projected, deadlineMs = DEADLINE_MS): Promise<void> =>
    projections.run(pipeline.id, () => project(pipeline, deadlineMs))

  return {
    catchUp,
    notify(pipeline) {
      if (!projections.isBusy(pipeline.id)) catchUp(pipeline, 60_000).catch(onError)
    },
    async close() {
      await projections.settled()
      await connections.close().catch(() => {})
    },
  }
}
