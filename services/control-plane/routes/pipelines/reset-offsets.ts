/** Sets where a stopped pipeline continues: commits the group's offsets, and its next revision resets the position that a sink keeps. */
import { inTransaction } from '../../store/database.ts'
import type { StreamPlace } from '../../../../shared/api/pipeline-requests.ts'
import { resetOffsetsContract } from '../../../../shared/api/pipelines.ts'
import { describeTopicConfig } from '../../../../shared/kafka/admin/topic-config.ts'
import { KafkaError } from '../../../../shared/kafka/kafka-error.ts'
import { KAFKA_ERRORS } from '../../../../shared/kafka/wire/error-codes.ts'
import { layoutOf } from '../../layout-of.ts'
import { invalidRequest, ServiceError } from '../../service-error.ts'
import { withoutPlan } from '../../../../shared/model/commit-metadata.ts'
import { type PipelineRow } from '../../store/pipelines.ts'
import { dropPositionResets, listPositionResets, restorePositionResets, setPositionResets } from '../../store/position-resets.ts'
import type { Caller, Deps } from '../../deps.ts'
import { resolvePlace } from '../../definitions/stream-places.ts'
import { storeRevision } from '../../publisher/enqueue.ts'
import { getPipeline, lockOwnPipeline } from '../own-pipeline.ts'
import { operation } from '../operation.ts'

/** Not `failed`: such a pipeline is still desired to run, and a restarted processor would start it at the old position. */
const RESTING: ReadonlySet<string> = new Set(['created', 'stopped'])

const conflict = (reason: string): ServiceError => new ServiceError('conflict', reason)

function assertResting({ status }: PipelineRow): void {
  if (!RESTING.has(status)) throw conflict(`the offsets of a pipeline that is ${status} can't be set: stop it first`)
}

/** Commits the offsets. Throws `conflict`, without changing anything, while the group has members. */
async function commit(
  { cluster }: Pick<Deps, 'cluster'>,
  { definition }: PipelineRow,
  offsets: ReadonlyMap<number, bigint>,
): Promise<void> {
  const { group_id, source } = definition
  const known = await cluster.committedOffsets(group_id, source.topic, [...offsets.keys()])
  // Keep the counters in the metadata.
  const positions = new Map(
    [...offsets].map(([partition, offset]) => [partition, { offset, metadata: withoutPlan(known.get(partition)?.metadata ?? '') }]),
  )
  await cluster.commitFromOutside(group_id, source.topic, positions).catch((error: unknown) => {
    // A group with members only accepts commits from them.
    if (error instanceof KafkaError && error.code === KAFKA_ERRORS.unknownMemberId)
      throw conflict('tasks of the pipeline are still running: stop it first')
    throw error
  })
}

async function reset(
  deps: Pick<Deps, 'cluster' | 'db' | 'deadLetters' | 'notifyPublisher' | 'withAdmin'>,
  caller: Caller,
  id: string,
  start: StreamPlace,
) {
  const pipeline = await getPipeline(deps, caller, id)
  const { definition } = pipeline
  if (definition.source.kind === 'connector') throw conflict('the source is not a stream: it keeps its own position, which can’t be set')
  // Partitions that the request does not name stay where they are.
  const named = typeof start === 'object' && 'offsets' in start ? start.offsets : undefined
  if (named && Object.keys(named).length === 0) throw invalidRequest([{ path: '/start/offsets', message: 'must name a partition' }])
  assertResting(pipeline)
  const layout = await layoutOf(deps.cluster, definition.source.topic, 'the source’s topic')
  const found = await resolvePlace(deps.cluster, layout, start, '/start')
  const offsets = new Map([...found].filter(([partition]) => named === undefined || named[String(partition)] !== undefined))
  const { is_compacted } = await deps.withAdmin((admin) => describeTopicConfig(admin, definition.source.topic))
  // What was handled again since an earlier reset is known by the position, which is about to go. Then that reset goes, before the position
  // does: by the new one, dead letters of records that are passed over would count as handled.
  if ((await listPositionResets(deps.db, id)).length > 0) await deps.deadLetters.catchUp(pipeline)
  const earlier = await dropPositionResets(deps.db, id, [...offsets.keys()])
  const row = await inTransaction(deps.db, async (trx) => {
    const locked = await lockOwnPipeline(trx, caller, id)
    assertResting(locked)
    // The group first: a revision that voids the sink's position must not start at the group's old one.
    await commit(deps, locked, offsets)
    const revision = locked.revision + 1
    // A compacted topic may have lost records of dead letters: those are not handled again.
    if (!is_compacted) await setPositionResets(trx, id, { topicId: layout.topicId, revision }, offsets)
    return storeRevision(trx, locked, { ...locked.definition, revision, reset_revision: revision })
  }).catch(async (error: unknown) => {
    // Refused before the position was set: what goes on at the earlier one is still not to be redriven.
    if (error instanceof ServiceError && error.code === 'conflict') await restorePositionResets(deps.db, id, earlier)
    throw error
  })
  deps.notifyPublisher()
  return { pipeline_id: id, revision: row.revision, offsets: Object.fromEntries([...offsets].map(([at, offset]) => [at, String(offset)])) }
}

export const resetOffsetsOperation = operation(resetOffsetsContract, async (deps, caller, { params, body }) => ({
  status: 200,
  body: await reset(deps, caller, params.id, body.start),
}))
