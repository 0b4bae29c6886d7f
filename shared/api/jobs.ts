/** Contracts for jobs: bounded work that runs beside a pipeline and can be tracked and cancelled. */
import { z } from 'zod'
import { EmptyRequest, IdParams, ListQuery, listOf, RecordCounts, Reference, TimeSort } from './common.ts'
import { contract, Id, Timestamp } from './contract.ts'
import { StreamPlace } from './pipeline-requests.ts'

/** Statuses of a job; `finished`, `cancelled` and `failed` are final. */
const JOB_STATUSES = ['starting', 'running', 'cancelling', 'finished', 'cancelled', 'failed'] as const
/** The status of a job. */
export type JobStatus = (typeof JOB_STATUSES)[number]

/** A job. `progress` is the share of its offsets that are processed, from 0 to 1; `records` counts the records by outcome. */
export const JobItem = z
  .object({
    id: Id,
    job_id: Id,
    pipeline_id: Id,
    kind: z.enum(['redrive', 'replay']).meta({ id: 'JobKind' }),
    status: z.enum(JOB_STATUSES).meta({ id: 'JobStatus' }),
    status_reason: z.string().nullable(),
    revision: z.number().int(),
    total: z.number().int(),
    progress: z.number(),
    records: RecordCounts,
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'Job' })

/** `GET /jobs`: returns 200 with a page of jobs, newest first by default. */
export const listJobsContract = contract({
  id: 'listJobs',
  method: 'GET',
  path: '/jobs',
  summary: 'List jobs',
  tag: 'Jobs',
  scope: 'pipelines:read',
  request: {
    query: ListQuery.omit({ name: true }).extend({
      sort: TimeSort.default('-created_at'),
      pipeline_id: Reference.optional(),
    }),
  },
  responses: { 200: listOf('jobs', JobItem) },
})
/** `GET /jobs/:id`: returns 200 with one job. */
export const getJobContract = contract({
  id: 'getJob',
  method: 'GET',
  path: '/jobs/:id',
  summary: 'Get one job',
  tag: 'Jobs',
  scope: 'pipelines:read',
  request: { params: IdParams },
  responses: { 200: JobItem },
})
/** `POST /jobs/:id/cancel`: returns 202 while the job is ending, or 200 if it is cancelled already. */
export const cancelJobContract = contract({
  id: 'cancelJob',
  method: 'POST',
  path: '/jobs/:id/cancel',
  summary: 'Cancel a job after its current round; what it has committed is kept',
  tag: 'Jobs',
  scope: 'pipelines:write',
  mayConflict: true,
  request: { params: IdParams, body: EmptyRequest.optional() },
  responses: { 200: JobItem, 202: JobItem },
})

/** Body of a replay: the part of the source from `from` up to, but not including, `to`. */
export const ReplayRequest = z
  .strictObject({
    from: StreamPlace.default('earliest'),
    to: StreamPlace.default('latest'),
    sink: z
      .strictObject({ stream_id: Reference })
      .optional()
      .describe('Another stream of the account to write to; the pipeline’s own sink by default'),
    records_per_second: z.number().int().min(1).max(10_000_000).optional().describe('Maximum rate; unlimited by default'),
  })
  .meta({ id: 'ReplayRequest' })

/** `POST /pipelines/:id/replay`: returns 202 with the replay job. */
export const replayPipelineContract = contract({
  id: 'replayPipeline',
  method: 'POST',
  path: '/pipelines/:id/replay',
  summary: 'Run a part of the source through the chain of the current revision again, beside the pipeline',
  tag: 'Jobs',
  scope: 'pipelines:write',
  isIdempotent: true,
  locatedBy: 202,
  request: { params: IdParams, body: ReplayRequest.optional() },
  responses: { 202: JobItem },
})
