/** The life of a job: its own definition and consumer group, its progress, and the clean-up after it has ended. */
import type { JobStatus } from '../../../shared/api/jobs.ts'
import { notFound, ServiceError } from '../service-error.ts'
import { hasMembers, removeGroup } from '../../../shared/kafka/admin/admin.ts'
import type { TopicLayout } from '../../../shared/kafka/cluster.ts'
import {
  definitionKeys,
  sourceCodecOf,
  type JobInput,
  type PipelineDefinition,
  type ServiceNames,
  type SinkDefinition,
} from '../../../shared/model/definition.ts'
import { isTaskOver, runOfReport, type ObservedTask } from '../../../shared/model/observed.ts'
import { inTransaction, type Queryable } from '../store/database.ts'
import { settleJobDeadLetters } from '../store/dead-letters.ts'
import { insertJob, isJobOver, listJobsOf, lockJob, NO_RECORDS, updateJob, type JobRow, type ListedJob } from '../store/jobs.ts'
import { lockStreamOver } from '../store/streams.ts'
import { assertQuotas } from '../store/quotas.ts'
import { deleteObserved } from '../store/observed.ts'
import { enqueue } from '../store/outbox.ts'
import { lockPipeline, type PipelineRow } from '../store/pipelines.ts'
import type { Deps } from '../deps.ts'
import { withoutCanaries } from '../definitions/canary-of.ts'
import { enqueueBinariesOf } from '../publisher/enqueue.ts'

export type Ranges = JobInput['ranges']
/** Called in the transaction that stores a job over so many records. */
export type OnStored = (trx: Queryable, job: ListedJob, count: number) => Promise<void>

type JobDefinition = PipelineDefinition & { job: JobInput }

/** A job's definition: the pipeline's current revision, reading another topic. */
export function jobDefinition(
  names: ServiceNames,
  { definition, revision }: PipelineRow,
  job: JobInput,
  { topic, leaders }: TopicLayout,
  sink: SinkDefinition = definition.sink,
): JobDefinition {
  return {
    ...definition,
    steps: withoutCanaries(definition.steps),
    // The input is always a topic, even if the pipeline's source is external.
    source: { kind: 'topic', topic, partitions: leaders.length, codec: sourceCodecOf(definition) },
    sink,
    revision,
    attempt: 1,
    desired: 'running',
    tasks: 1,
    group_id: names.runGroup(job.job_id),
    failure_threshold: 1,
    job,
  }
}

/** Throws 409 for a pipeline whose topics may not be there yet. */
export function assertMade({ status }: Pick<PipelineRow, 'status'>): void {
  if (status === 'creating') throw new ServiceError('conflict', 'the pipeline is still being created')
}

/**
 * Stores the job and queues it for the processors, in the transaction of `startJob`. Throws 409 where the definition is not of what the
 * pipeline runs now.
 */
export async function storeJob(trx: Queryable, definition: JobDefinition, total: number, onStored: OnStored): Promise<ListedJob> {
  const { job_id, kind } = definition.job
  // A pipeline that is being deleted gets no more jobs: its row stays locked until this job is stored.
  const pipeline = await lockPipeline(trx, definition.pipeline_id)
  if (!pipeline || pipeline.status === 'deleting') throw notFound('the pipeline')
  // It would run steps that were replaced, or write to a sink that the pipeline has left.
  if (pipeline.revision !== definition.revision) throw new ServiceError('conflict', 'the pipeline was changed at the same time; try again')
  const { sink } = definition
  const isOther = sink.kind === 'topic' && !(pipeline.definition.sink.kind === 'topic' && pipeline.definition.sink.topic === sink.topic)
  // The pipeline's own is kept by the pipeline.
  if (isOther && !(await lockStreamOver(trx, definition.account_id, sink.topic)))
    throw new ServiceError('conflict', 'the stream that the job is to write to was deleted meanwhile')
  // The account's lock comes after the pipeline's, as in changes of pipelines.
  await assertQuotas(trx, definition.account_id, { tasks: 1 })
  const row = await insertJob(trx, {
    id: job_id,
    account_id: definition.account_id,
    pipeline_id: definition.pipeline_id,
    kind,
    revision: definition.revision,
    definition,
    total,
  })
  await enqueueBinariesOf(trx, definition)
  await enqueue(trx, definitionKeys.job(job_id), definition)
  await onStored(trx, row, total)
  return row
}

/**
 * Commits the offset that the job's group starts at in each partition, 0 where `first` has none, then stores the job with `store`, in a
 * transaction. A job that is not stored leaves no group behind.
 */
export async function startJob<T extends { job?: ListedJob }>(
  { cluster, names, notifyPublisher, withAdmin }: Pick<Deps, 'cluster' | 'names' | 'notifyPublisher' | 'withAdmin'>,
  jobId: string,
  layout: TopicLayout,
  first: ReadonlyMap<number, bigint>,
  store: () => Promise<T>,
): Promise<T> {
  const groupId = names.runGroup(jobId)
  await cluster.ensureStartOffsets(groupId, layout, new Map(layout.leaders.map((_, partition) => [partition, first.get(partition) ?? 0n])))
  const storing = store()
  const stored = await storing.catch(() => undefined)
  if (!stored?.job) await withAdmin((admin) => removeGroup(admin, groupId)).catch(() => {})
  notifyPublisher()
  return storing
}

function progressOf({ definition }: JobRow, positions: ReadonlyMap<number, bigint>): number {
  let all = 0n
  let done = 0n
  for (const [partition, ranges] of Object.entries(definition.job?.ranges ?? {})) {
    const from = BigInt(ranges[0]?.[0] ?? 0)
    const until = BigInt(ranges.at(-1)?.[1] ?? 0)
    // The group may start before the ranges, where another job has taken the first dead letters.
    const known = positions.get(Number(partition)) ?? from
    const position = known > from ? known : from
    all += until - from
    done += (position < until ? position : until) - from
  }
  return all === 0n ? 1 : Number(done) / Number(all)
}

/** Saves what the job's task reports, in the projector's transaction. Returns the job's final status once the task has ended. */
export async function projectJob(trx: Queryable, observed: ObservedTask): Promise<JobStatus | undefined> {
  const row = await lockJob(trx, runOfReport(observed))
  if (!row || isJobOver(row)) {
    // A late report about a job that has ended.
    await deleteObserved(trx, runOfReport(observed))
    return undefined
  }
  const records = { ...NO_RECORDS }
  for (const { totals } of observed.partitions) {
    for (const name of Object.keys(records) as (keyof typeof records)[]) records[name] += totals?.[name] ?? 0
  }
  const positions = new Map(observed.partitions.map(({ partition, position }) => [partition, BigInt(position)]))
  const isKnown = observed.partitions.length > 0
  await updateJob(trx, row.id, {
    ...(isKnown ? { records, progress: progressOf(row, positions) } : {}),
    ...(row.status === 'starting' && observed.status === 'running' ? { status: 'running' as const } : {}),
    status_reason: observed.reason,
  })
  if (isTaskOver(observed)) return observed.status
  return row.status === 'cancelling' && observed.status === 'stopped' ? 'cancelled' : undefined
}

/**
 * Ends a job: settles its dead letters by the group's committed offsets, updates its row, removes its definition and its group. Idempotent.
 * Reads the committed offsets before it writes anything, because only they tell which records are done.
 */
export async function settleJob(
  deps: Pick<Deps, 'db' | 'cluster' | 'withAdmin' | 'notifyPublisher'>,
  id: string,
  status: JobStatus,
  reason: string | null,
): Promise<void> {
  const { db, cluster } = deps
  const before = await inTransaction(db, (trx) => lockJob(trx, id))
  if (!before) return
  const { definition } = before
  // A remaining group member may commit one more round: the committed offsets are final only after it has left.
  if (status !== 'finished' && (await deps.withAdmin((admin) => hasMembers(admin, definition.group_id)))) return
  const partitions = Object.keys(definition.job?.ranges ?? {}).map(Number)
  const committed = await cluster.committedOffsets(definition.group_id, definition.source.topic, partitions)
  const positions = new Map([...committed].map(([partition, { offset }]) => [partition, offset]))
  await inTransaction(db, async (trx) => {
    const row = await lockJob(trx, id)
    if (!row || isJobOver(row)) return
    if (row.kind === 'redrive') await settleJobDeadLetters(trx, id, positions)
    await updateJob(trx, id, {
      status,
      status_reason: reason,
      ...(status === 'finished' ? { progress: 1 } : { progress: progressOf(row, positions) }),
    })
    await enqueue(trx, definitionKeys.job(id), null)
    await deleteObserved(trx, id)
  })
  deps.notifyPublisher()
  await deps.withAdmin((admin) => removeGroup(admin, definition.group_id)).catch(() => {})
}

/** Asks the job to stop; it is settled when its task reports that it has stopped. */
export async function cancelJob(deps: Pick<Deps, 'db' | 'notifyPublisher'>, id: string): Promise<ListedJob | undefined> {
  const row = await inTransaction(deps.db, async (trx) => {
    const locked = await lockJob(trx, id)
    if (!locked || isJobOver(locked) || locked.status === 'cancelling') return locked
    await enqueue(trx, definitionKeys.job(id), { ...locked.definition, desired: 'stopped' })
    return updateJob(trx, id, { status: 'cancelling' })
  })
  deps.notifyPublisher()
  return row
}

/** Removes the definitions and groups of a pipeline's jobs, before the pipeline's row is deleted. */
export async function removeJobsOf(deps: Pick<Deps, 'db' | 'names' | 'withAdmin'>, pipelineId: string): Promise<void> {
  const ids = await listJobsOf(deps.db, pipelineId)
  await inTransaction(deps.db, async (trx) => {
    if (!(await lockPipeline(trx, pipelineId))) return
    for (const id of ids) await enqueue(trx, definitionKeys.job(id), null)
  })
  for (const id of ids) await deps.withAdmin((admin) => removeGroup(admin, deps.names.runGroup(id))).catch(() => {})
}
