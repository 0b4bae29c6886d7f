/** Reads, deletes and controls pipelines. */
import { findShownCanary, type ShownCanary } from '../../store/canaries.ts'
import { reasonOf } from '../../../../shared/errors/reason-of.ts'
import { chainRate } from '../../../../shared/model/observed.ts'
import { Endpoints } from '../../../../shared/api/pipeline-requests.ts'
import {
  deletePipelineContract,
  getPipelineContract,
  getPipelineStatusContract,
  listPipelinesContract,
  pipelineActionContracts,
} from '../../../../shared/api/pipelines.ts'
import { ServiceError } from '../../service-error.ts'
import {
  DESIRED_AFTER,
  PIPELINE_ACTIONS,
  statusForActions,
  transition,
  type PipelineAction,
} from '../../../../shared/model/pipeline-status.ts'
import { listObserved } from '../../store/observed.ts'
import { listPipelines, updatePipeline, type ListedPipeline, type PipelineRow } from '../../store/pipelines.ts'
import { inTransaction, type Queryable } from '../../store/database.ts'
import { listUnfinishedJobsOf } from '../../store/jobs.ts'
import type { Caller, Deps } from '../../deps.ts'
import { enqueueDefinition, isPublished } from '../../publisher/enqueue.ts'
import { isDrained, takeDownPipeline } from '../../reconciler/pipelines.ts'
import { pipelineEtag } from '../etags.ts'
import { listReply } from '../list-reply.ts'
import { cancelJob } from '../../jobs/jobs.ts'
import { getPipeline, lockOwnPipeline } from '../own-pipeline.ts'
import { readOffsets } from '../observability/offsets.ts'
import { operation } from '../operation.ts'
import { withDeadline } from '../../concurrency/with-deadline.ts'

const showItem = ({ id, name, description, status, status_reason, revision, created_at, updated_at }: ListedPipeline) => ({
  id,
  pipeline_id: id,
  name,
  description,
  status,
  status_reason,
  revision,
  created_at,
  updated_at,
})

export const listPipelinesOperation = operation(listPipelinesContract, async ({ db }, caller, { query }) =>
  listReply('pipelines', await listPipelines(db, caller.accountId, query), query, showItem),
)

export function showPipeline(row: PipelineRow, canary: ShownCanary | undefined) {
  const endpoints = Endpoints.parse(row.request)
  const { steps, tasks, failure_threshold, on_lost_position = 'fail' } = row.definition
  return {
    ...showItem(row),
    source: endpoints.source,
    processors: steps.map(({ module_id, name, version, config, on_error, timeout_ms, changes_keys }) => ({
      module_id,
      name,
      version,
      config,
      on_error,
      ...(timeout_ms === undefined ? {} : { timeout_ms }),
      ...(changes_keys ? { changes_keys } : {}),
    })),
    sink: endpoints.sink,
    tasks,
    on_error: endpoints.on_error,
    failure_threshold,
    on_lost_position,
    canary: canary ? { ...canary, step: canary.step + 1 } : null,
  }
}

export const getPipelineOperation = operation(getPipelineContract, async (deps, caller, { params }) => {
  const row = await getPipeline(deps, caller, params.id)
  return { status: 200, body: showPipeline(row, await findShownCanary(deps.db, row.id)), headers: pipelineEtag(row) }
})

export const getPipelineStatusOperation = operation(getPipelineStatusContract, async (deps, caller, { params }) => {
  const row = await getPipeline(deps, caller, params.id)
  const [observed, canary] = await Promise.all([listObserved(deps.db, row.id), findShownCanary(deps.db, row.id)])
  const tasks = observed.map(({ pipeline_id: _id, attempt: _attempt, ...task }) => task)
  // From Kafka, as in `/offsets` and `/metrics`; from the tasks' last reports while Kafka is unreachable.
  const lags = await readOffsets(deps, row).catch(() => tasks.flatMap(({ partitions }) => partitions))
  return {
    status: 200,
    body: {
      pipeline_id: row.id,
      status: row.status,
      status_reason: row.status_reason,
      desired: row.desired,
      has_canary: canary !== undefined,
      revision: row.revision,
      lag: lags.reduce((sum, { lag }) => sum + Number(lag), 0),
      records_per_second: chainRate(tasks),
      tasks,
    },
  }
})

/** A task that failed or held itself back is tried again only under a new attempt; until then its last report stands. */
async function needsAttempt(trx: Queryable, row: PipelineRow, action: PipelineAction): Promise<boolean> {
  if (action === 'start' || action === 'restart') return true
  return action === 'resume' && (await listObserved(trx, row.id)).some(({ held_back }) => held_back)
}

/** Changes status and desired status, and queues the definition for the processors, in one transaction. */
async function act(deps: Pick<Deps, 'db' | 'notifyPublisher'>, caller: Caller, id: string, action: PipelineAction): Promise<PipelineRow> {
  const changed = await inTransaction(deps.db, async (trx) => {
    const row = await lockOwnPipeline(trx, caller, id)
    const next = transition(statusForActions(row), action)
    if (next === 'refused') throw new ServiceError('conflict', `a pipeline that is ${row.status} can't ${action}`)
    if (next === 'same') return row
    const updated = await updatePipeline(trx, id, {
      status: next,
      status_reason: null,
      desired: DESIRED_AFTER[action],
      attempt: (await needsAttempt(trx, row, action)) ? row.attempt + 1 : row.attempt,
    })
    await enqueueDefinition(trx, updated)
    return updated
  })
  deps.notifyPublisher()
  return changed
}

/** `startPipeline` and the others of its contracts. */
export const pipelineActions = pipelineActionContracts.map((contract, index) =>
  operation(contract, async (deps, caller, { params }) => ({
    status: 200,
    body: showItem(await act(deps, caller, params.id, PIPELINE_ACTIONS[index]!)),
  })),
)

const DRAIN_WAIT_MS = 10_000

export const deletePipelineOperation = operation(deletePipelineContract, async (deps, caller, { params }) => {
  const { row, hadTasks } = await inTransaction(deps.db, async (trx) => {
    const locked = await lockOwnPipeline(trx, caller, params.id)
    if (transition(locked.status, 'delete') === 'refused') throw new ServiceError('conflict', 'the pipeline is still being created')
    const updated = await updatePipeline(trx, locked.id, { status: 'deleting', desired: 'stopped' })
    await enqueueDefinition(trx, updated)
    return { row: updated, hadTasks: isPublished(locked) }
  })
  for (const id of await listUnfinishedJobsOf(deps.db, row.id))
    // One whose definition can't be read any more goes with the pipeline.
    await cancelJob(deps, id).catch((error: unknown) => deps.log.warn({ id, reason: reasonOf(error) }, 'a job was not cancelled'))
  deps.notifyPublisher()
  // Tasks and jobs finish their round first, so that what they deliver is accounted for.
  for (const deadline = performance.now() + DRAIN_WAIT_MS; performance.now() < deadline && !(await isDrained(deps.db, row, hadTasks));)
    await new Promise((resolve) => setTimeout(resolve, 100))
  if (!(await isDrained(deps.db, row, hadTasks))) return { status: 202, body: { pipeline_id: row.id, status: 'deleting' as const } }
  const isGone = await withDeadline(takeDownPipeline(deps, row), 'removing the pipeline').then(
    () => true,
    (error: unknown) => {
      deps.log.warn({ id: row.id, reason: reasonOf(error) }, 'a pipeline will be removed later')
      return false
    },
  )
  return isGone ? { status: 204 } : { status: 202, body: { pipeline_id: row.id, status: 'deleting' as const } }
})
