/** The idempotent steps that set a pipeline up, or remove it. Handlers run them at once; the reconciler runs them again after a crash. */
import { ANY_TIME, ensureTopics, removeGroup, removeTopics } from '../../../shared/kafka/admin/admin.ts'
import { z } from 'zod'
import { definitionKeys, tasksOf } from '../../../shared/model/definition.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { eventFrom } from '../../../shared/model/pipeline-status.ts'
import { listObserved } from '../store/observed.ts'
import { enqueue, enqueueRevisionsEnd } from '../store/outbox.ts'
import { deletePipelineRow, lockPipeline, updatePipeline, type PipelineRow } from '../store/pipelines.ts'
import { deleteDeadLettersOf } from '../store/dead-letter-upkeep.ts'
import { layoutOf } from '../layout-of.ts'
import { ServiceError } from '../service-error.ts'
import { inTransaction, type Queryable } from '../store/database.ts'
import type { Deps } from '../deps.ts'
import { listUnfinishedJobsOf } from '../store/jobs.ts'
import { disposeEndpoints } from '../definitions/check-endpoint.ts'
import { removeJobsOf } from '../jobs/jobs.ts'
import { enqueueDefinition, isPublished } from '../publisher/enqueue.ts'

type PipelineDeps = Pick<
  Deps,
  | 'db'
  | 'withAdmin'
  | 'cluster'
  | 'names'
  | 'replicationFactor'
  | 'notifyPublisher'
  | 'secretBox'
  | 'connectorDefaults'
  | 'workshop'
  | 'log'
>

/**
 * Creates the pipeline's own topics, commits the start of every partition once, and hands the definition to the processors. Throws 409, and
 * leaves nothing behind, where its creation is being undone.
 */
export async function setUpPipeline(deps: PipelineDeps, pipeline: PipelineRow): Promise<void> {
  const { db, withAdmin, cluster, names, replicationFactor, notifyPublisher } = deps
  const { definition } = pipeline
  const { topic, partitions, kind } = definition.source
  if (kind === 'connector') {
    // Records that were acknowledged to the source must stay until they are handled; `trim-intakes.ts` deletes those that were.
    const config = {
      ...ANY_TIME,
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
          config: { ...ANY_TIME, 'cleanup.policy': 'compact' },
        },
      ]),
    )
  }
  const source = await layoutOf(cluster, topic, 'the source’s topic', 'none')
  await Promise.all([
    withAdmin((admin) =>
      ensureTopics(admin, [
        {
          topic: definition.dead_letter_topic,
          partitions: source.leaders.length,
          replicationFactor,
          config: { ...ANY_TIME, 'max.message.bytes': String(definition.dead_letter_bytes_max), 'retention.ms': '-1' },
        },
      ]),
    ),
    cluster.ensureStartOffsets(definition.group_id, source, resolvedStart(pipeline)),
  ])
  // Splits that have read nothing yet get a committed offset too, so that an offset missing later means that it was lost.
  if (kind === 'connector') await cluster.ensureStartOffsets(names.intakeGroup(pipeline.id), source, resolvedStart(pipeline))
  const isKept = await inTransaction(db, async (trx) => {
    const row = await lockPipeline(trx, pipeline.id)
    if (row?.status !== 'creating') return row !== undefined && row.status !== 'deleting'
    const made = await updatePipeline(trx, row.id, { status: 'created' })
    if (isPublished(made)) await enqueueDefinition(trx, row)
    return true
  })
  notifyPublisher()
  if (isKept) return
  // What removes it may have been here before these topics and groups were.
  await removeGroups(deps, pipeline)
  await removeOwnTopics(deps, pipeline)
  throw new ServiceError('conflict', `the pipeline "${pipeline.name}" was removed while it was being created`)
}

/** Refused while a task is still a member. */
async function removeGroups({ withAdmin, names }: PipelineDeps, { id, definition }: PipelineRow): Promise<void> {
  await withAdmin(async (admin) => {
    await removeGroup(admin, definition.group_id)
    if (definition.source.kind === 'connector') await removeGroup(admin, names.intakeGroup(id))
  })
}

async function removeOwnTopics({ withAdmin, names }: PipelineDeps, { id, account_id, definition }: PipelineRow): Promise<void> {
  await withAdmin(async (admin) => {
    await removeTopics(admin, [definition.dead_letter_topic])
    if (definition.source.kind === 'connector') await removeTopics(admin, [definition.source.topic, names.seenTopic(account_id, id)])
  })
}

const ResolvedStart = z.object({ resolved_start: z.record(z.string(), z.string()) })

/** Undefined for a pipeline older than this field: it starts at the earliest offsets. */
function resolvedStart({ request }: PipelineRow): Map<number, bigint> | undefined {
  const parsed = ResolvedStart.safeParse(request)
  return (
    parsed.data && new Map(Object.entries(parsed.data.resolved_start).map(([partition, offset]) => [Number(partition), BigInt(offset)]))
  )
}

/**
 * True once no task or job of the pipeline runs: each task has reported so for the current attempt. A task without a report may be
 * starting, unless processors were never told of the pipeline (`hadTasks`).
 */
export async function isDrained(db: Queryable, { id, definition, attempt }: Drained, hadTasks = true): Promise<boolean> {
  if ((await listUnfinishedJobsOf(db, id)).length > 0) return false
  return !hadTasks || eventFrom('stopped', tasksOf(definition), await listObserved(db, id), attempt).event === 'tasks_stopped'
}

/** What the reports of a pipeline's tasks are looked at by. */
type Drained = Pick<PipelineRow, 'id' | 'definition' | 'attempt'>

const DISPOSE_MS = 3_600_000

/** Removes the jobs, the definition, the topics, the groups and, last, the row. The tasks were asked to stop before. */
export async function takeDownPipeline(deps: PipelineDeps, pipeline: PipelineRow): Promise<void> {
  const { db, withAdmin, names, notifyPublisher } = deps
  await removeJobsOf({ db, names, withAdmin }, pipeline.id)
  await inTransaction(db, async (trx) => {
    const row = await lockPipeline(trx, pipeline.id)
    if (!row) return
    await enqueue(trx, definitionKeys.pipeline(row.id), null)
    await enqueueRevisionsEnd(trx, row.id, row.revision)
  })
  notifyPublisher()
  // A task that joins later finds no position, so it opens nothing of what is disposed of next.
  await removeGroups(deps, pipeline)
  // A replication slot left behind makes the other system keep its log forever, so its removal is retried for an hour.
  const isGivenUp = pipeline.status !== 'deleting' || Date.now() - pipeline.updated_at.getTime() > DISPOSE_MS
  await disposeEndpoints(deps, pipeline.definition, isGivenUp)
  await removeOwnTopics(deps, pipeline)
  await deleteDeadLettersOf(db, pipeline.id)
  await deletePipelineRow(db, pipeline.id)
}
