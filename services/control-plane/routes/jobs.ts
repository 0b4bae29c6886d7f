/** Lists, reads and cancels jobs; replay starts one. */
import { streamConnector } from '../../../shared/connectors/stream/connector.ts'
import { assertMayUse } from '../definitions/may-use.ts'
import { cancelJobContract, getJobContract, listJobsContract, replayPipelineContract } from '../../../shared/api/jobs.ts'
import { notFound, ServiceError } from '../service-error.ts'
import { findJob, isJobOver, listJobs, type ListedJob } from '../store/jobs.ts'
import { cancelJob } from '../jobs/jobs.ts'
import { replay } from '../jobs/replay.ts'
import { getPipeline } from './own-pipeline.ts'
import { listReply } from './list-reply.ts'
import { operation } from './operation.ts'

export const showJob = ({
  id,
  pipeline_id,
  kind,
  status,
  status_reason,
  revision,
  total,
  progress,
  records,
  created_at,
  updated_at,
}: ListedJob) => ({
  id,
  job_id: id,
  pipeline_id,
  kind,
  status,
  status_reason,
  revision,
  total: Number(total),
  progress: Math.round(progress * 10_000) / 10_000,
  records,
  created_at,
  updated_at,
})

export const listJobsOperation = operation(listJobsContract, async ({ db }, caller, { query }) =>
  listReply('jobs', await listJobs(db, caller.accountId, query), query, showJob),
)

export const getJobOperation = operation(getJobContract, async ({ db }, caller, { params }) => {
  const row = await findJob(db, caller.accountId, params.id)
  if (!row) throw notFound('the job')
  return { status: 200, body: showJob(row) }
})

export const cancelJobOperation = operation(cancelJobContract, async (deps, caller, { params }) => {
  const row = await findJob(deps.db, caller.accountId, params.id)
  if (!row) throw notFound('the job')
  if (row.status === 'finished' || row.status === 'failed')
    throw new ServiceError('conflict', `a job that is ${row.status} can't be cancelled`)
  const cancelled = (await cancelJob(deps, row.id)) ?? row
  return { status: isJobOver(cancelled) ? 200 : 202, body: showJob(cancelled) }
})

export const replayPipelineOperation = operation(replayPipelineContract, async (deps, caller, { params, body }) => {
  if (body?.sink) assertMayUse(caller, { sink: { connector_id: streamConnector.id, config: body.sink } })
  const pipeline = await getPipeline(deps, caller, params.id)
  const replyOf = (job: ListedJob) => ({ status: 202 as const, body: showJob(job), headers: { Location: `/jobs/${job.id}` } })
  const job = await replay(deps, pipeline, body ?? { from: 'earliest', to: 'latest' }, async (trx, stored) =>
    caller.keyed?.keep(trx, replyOf(stored)),
  )
  return replyOf(job)
})
