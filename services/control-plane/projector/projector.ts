/** `dps.observed` → Postgres: what tasks report, and the statuses that result; rows and position in one database transaction. */
import type { JobStatus } from '../../../shared/api/jobs.ts'
import { followTopic, type Following } from '../../../shared/kafka/follow.ts'
import { tasksOf } from '../../../shared/model/definition.ts'
import { runOfReport } from '../../../shared/model/observed.ts'
import { keepsReason, statusFrom } from '../../../shared/model/pipeline-status.ts'
import type { Queryable } from '../store/database.ts'
import {
  deleteObserved,
  deleteObservedBut,
  getProjectorPosition,
  listObserved,
  lockProjectorPosition,
  saveObserved,
  setProjectorPosition,
} from '../store/observed.ts'
import { lockPipeline, updatePipeline } from '../store/pipelines.ts'
import { saveCpuUse } from '../store/cpu-use.ts'
import { quarantineVersions } from '../store/smartmodules.ts'
import type { Deps } from '../deps.ts'
import { projectJob } from '../jobs/jobs.ts'
import { enqueueDefinition } from '../publisher/enqueue.ts'
import { cpuUseIn, reportsIn } from './reports-in.ts'

const NAME = 'observed'

async function projectPipeline(trx: Queryable, pipelineId: string): Promise<void> {
  const row = await lockPipeline(trx, pipelineId)
  if (!row) {
    // A late report about a deleted pipeline.
    await deleteObserved(trx, pipelineId)
    return
  }
  // Also removes late reports of tasks that a newer revision no longer has.
  await deleteObservedBut(trx, pipelineId, tasksOf(row.definition))
  const observed = await listObserved(trx, pipelineId)
  await quarantineVersions(
    trx,
    row.account_id,
    observed.flatMap(({ quarantined }) => quarantined),
  )
  const next = statusFrom(row.desired, tasksOf(row.definition), row.status, observed, row.attempt)
  if (!next) return
  const reason = keepsReason(row.status, next) ? row.status_reason : next.reason
  if (next.status === row.status && reason === row.status_reason) return
  const isHeldBack = next.event === 'task_held_back' && row.desired === 'running'
  const updated = await updatePipeline(trx, pipelineId, {
    status: next.status,
    status_reason: reason,
    ...(isHeldBack ? { desired: 'paused' } : {}),
  })
  // One task has held itself back: the others pause too, and a processor that takes the task over does not start it again.
  if (isHeldBack) await enqueueDefinition(trx, updated)
}

export type Projected = { pipelineIds: string[]; endedJobs: { id: string; status: JobStatus; reason: string | null }[] }

export async function startProjector(
  deps: Pick<Deps, 'db' | 'cluster' | 'log' | 'notifyPublisher'>,
  topic: string,
  onProgress: (projected: Projected) => void,
): Promise<Following> {
  const { db, cluster, log } = deps
  const layout = await cluster.describeTopic(topic)
  const end = layout && (await cluster.offsets(layout, [0], 'written')).get(0)
  // The topic was recreated since: its offsets start over.
  if (end !== undefined && (await getProjectorPosition(db, NAME)) > end) await setProjectorPosition(db, NAME, 0n)
  return followTopic({
    cluster,
    topic,
    purpose: 'projector',
    from: await getProjectorPosition(db, NAME),
    async onRecords(records, nextOffset) {
      const projected = await db.transaction(async (trx): Promise<Projected> => {
        // Another control plane may be ahead: older reports must not overwrite what it has projected, however long this one was suspended.
        const position = await lockProjectorPosition(trx, NAME)
        const tasks = records.filter(({ offset }) => offset >= position).flatMap(reportsIn)
        for (const use of records.filter(({ offset }) => offset >= position).flatMap(cpuUseIn)) await saveCpuUse(trx, use)
        const [ofJobs, ofPipelines] = [tasks.filter(({ job_id }) => job_id), tasks.filter(({ job_id }) => !job_id)]
        const pipelineIds = [...new Set(ofPipelines.map(({ pipeline_id }) => pipeline_id))].sort()
        const endedJobs: Projected['endedJobs'] = []
        for (const task of tasks) await saveObserved(trx, task)
        for (const id of pipelineIds) await projectPipeline(trx, id)
        for (const task of ofJobs) {
          const status = await projectJob(trx, task)
          if (status) endedJobs.push({ id: runOfReport(task), status, reason: task.reason })
        }
        if (nextOffset > position) await setProjectorPosition(trx, NAME, nextOffset)
        return { pipelineIds, endedJobs }
      })
      deps.notifyPublisher()
      onProgress(projected)
    },
    onError: (error) => log.warn({ reason: error.message }, 'projector: will try again'),
  })
}
