/** The idempotent steps that make a pipeline real, or undo it. Handlers run them at once; the reconciler runs them again after a crash. */
import { ensureTopics, removeGroup, removeTopics } from '../../../shared/kafka/admin/admin.ts'
import { z } from 'zod'
import { LIMITS } from '../../../shared/model/limits.ts'
import {
  deletePipelineRow,
  enqueueDefinition,
  enqueueRevisionsEnd,
  listObserved,
  lockPipeline,
  updatePipeline,
  type PipelineRow,
} from '../../../shared/store/pipelines.ts'
import type { Queryable } from '../../../shared/store/database.ts'
import type { Deps } from '../deps.ts'
import { listUnfinishedJobsOf } from '../../../shared/store/jobs.ts'
import { disposeEndpoints } from '../connectors/check-endpoint.ts'
import { removeJobsOf } from '../jobs/jobs.ts'
import { publishDefinition } from '../publisher/enqueue.ts'

type PipelineDeps = Pick<
  Deps,
  'db' | 'withAdmin' | 'cluster' | 'names' | 'replicationFactor' | 'pokePublisher' | 'secretBox' | 'connectorDefaults' | 'log'
>

/** Makes the dead-letter topic, resolves the start of every partition once, and hands the definition to the processors. */
export async function finishPipeline(
  { db, withAdmin, cluster, names, replicationFactor, pokePublisher }: PipelineDeps,
  pipeline: PipelineRow,
): Promise<void> {
  const { definition } = pipeline
  if (definition.source) {
    const { source_topic: topic, source_partitions: partitions } = definition
    // What the source was told is safe must not go before it was handled; `trim-intakes.ts` takes what was.
    const config = {
      'max.message.bytes': String(LIMITS.topic_batch_bytes_max),
      'message.timestamp.type': 'CreateTime',
      'retention.ms': '-1',
    }
    await withAdmin((admin) =>
      ensureTopics(admin, [
        { topic, partitions, replicationFactor, config },
        {
          topic: names.seenTopic(pipeline.account_id, pipeline.id),
          partitions: 1,
          replicationFactor,
          config: { 'cleanup.policy': 'compact' },
        },
      ]),
    )
  }
  const source = await cluster.describeTopic(definition.source_topic)
  if (!source) throw new Error(`the source topic ${definition.source_topic} does not exist`)
  await Promise.all([
    withAdmin((admin) =>
      ensureTopics(admin, [
        {
          topic: definition.dead_letter_topic,
          partitions: source.leaders.length,
          replicationFactor,
          config: { 'max.message.bytes': String(definition.dead_letter_bytes_max), 'retention.ms': '-1' },
        },
      ]),
    ),
    cluster.ensureStartOffsets(definition.group_id, source, resolvedStart(pipeline)),
  ])
  // D2 for sources: a split that has read nothing yet says so too, so that a position that is missing later is one that was lost.
  if (definition.source) await cluster.ensureStartOffsets(names.intakeGroup(pipeline.id), source, resolvedStart(pipeline))
  await db.transaction(async (trx) => {
    const row = await lockPipeline(trx, pipeline.id)
    if (row?.status !== 'creating') return
    const isStarted = row.desired !== 'stopped'
    await updatePipeline(trx, row.id, { status: 'created' })
    if (isStarted) await publishDefinition(trx, row)
  })
  pokePublisher()
}

const ResolvedStart = z.object({ resolved_start: z.record(z.string(), z.string()) })

/** Undefined for a pipeline from before starts were resolved at creation: the earliest offsets. */
function resolvedStart({ request }: PipelineRow): Map<number, bigint> | undefined {
  const parsed = ResolvedStart.safeParse(request)
  return (
    parsed.data && new Map(Object.entries(parsed.data.resolved_start).map(([partition, offset]) => [Number(partition), BigInt(offset)]))
  )
}

/** True once no task and no job of the pipeline runs any more, as far as their processors have told. */
export async function isDrained(db: Queryable, pipelineId: string): Promise<boolean> {
  if ((await listUnfinishedJobsOf(db, pipelineId)).length > 0) return false
  return (await listObserved(db, pipelineId)).every(({ status }) => status === 'stopped' || status === 'failed')
}

const DISPOSE_MS = 3_600_000

/** Removes the definition, the group, the dead letters and, last, the row. The tasks were told to stop before. */
export async function undoPipeline(deps: PipelineDeps, pipeline: PipelineRow): Promise<void> {
  const { db, withAdmin, names, pokePublisher } = deps
  await removeJobsOf({ db, withAdmin }, pipeline.id)
  await db.transaction(async (trx) => {
    const row = await lockPipeline(trx, pipeline.id)
    if (!row) return
    await enqueueDefinition(trx, row.id, null)
    await enqueueRevisionsEnd(trx, row.id, row.revision)
  })
  pokePublisher()
  // A replication slot that is left keeps the other system's log for ever: its deletion is tried again for an hour.
  const isLast = pipeline.status !== 'deleting' || Date.now() - pipeline.updated_at.getTime() > DISPOSE_MS
  await disposeEndpoints(deps, pipeline.definition, isLast)
  await withAdmin(async (admin) => {
    await removeTopics(admin, [pipeline.definition.dead_letter_topic])
    await removeGroup(admin, pipeline.definition.group_id)
    if (!pipeline.definition.source) return
    await removeTopics(admin, [pipeline.definition.source_topic, names.seenTopic(pipeline.account_id, pipeline.id)])
    await removeGroup(admin, names.intakeGroup(pipeline.id))
  })
  await deletePipelineRow(db, pipeline.id)
}
