/** Jobs: bounded work beside a pipeline, tracked and cancellable. */
import { z } from 'zod'
import { Counters } from '../model/definition.ts'
import { IdParams, ListQuery, listOf, Reference } from './common.ts'
import { contract, Id, Timestamp } from './operation.ts'
import { StreamPlace } from './pipelines.ts'

export const JOB_STATUSES = ['starting', 'running', 'cancelling', 'finished', 'cancelled', 'failed'] as const
export type JobStatus = (typeof JOB_STATUSES)[number]

/** `progress` is the share of offsets done; `records` says what became of them. */
export const JobItem = z
  .object({
    id: Id,
    job_id: Id,
    pipeline_id: Id,
    kind: z.enum(['redrive', 'replay']),
    status: z.enum(JOB_STATUSES),
    status_reason: z.string().nullable(),
    revision: z.number().int(),
    total: z.number().int(),
    progress: z.number(),
    records: Counters,
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'Job' })

export const listJobsContract = contract({
  id: 'listJobs',
  method: 'GET',
  path: '/jobs',
  summary: 'List jobs',
  tag: 'Jobs',
  scope: 'pipelines:read',
  request: {
    query: ListQuery.omit({ name: true }).extend({
      sort: z.enum(['created_at', '-created_at']).default('-created_at'),
      pipeline_id: Reference.optional(),
    }),
  },
  responses: { 200: listOf('jobs', JobItem) },
})
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
export const cancelJobContract = contract({
  id: 'cancelJob',
  method: 'POST',
  path: '/jobs/:id/cancel',
  summary: 'End a job after the round under way; what it has done stays done',
  tag: 'Jobs',
  scope: 'pipelines:write',
  request: { params: IdParams, body: z.strictObject({}).optional() },
  responses: { 200: JobItem, 202: JobItem },
})

export const ReplayRequest = z
  .strictObject({
    from: StreamPlace.default('earliest'),
    to: StreamPlace.default('latest'),
    sink: z
      .strictObject({ stream_id: Reference })
      .optional()
      .describe('another stream of the account; the pipeline’s own sink when left out'),
    records_per_second: z.number().int().min(1).max(10_000_000).optional().describe('upper limit'),
  })
  .meta({ id: 'ReplayRequest' })

export const replayContract = contract({
  id: 'replayPipeline',
  method: 'POST',
  path: '/pipelines/:id/replay',
  summary: 'Run a part of the source through the chain of the current revision once more, beside the pipeline',
  tag: 'Jobs',
  scope: 'pipelines:write',
  isIdempotent: true,
  locatedBy: 202,
  request: { params: IdParams, body: ReplayRequest.optional() },
  responses: { 202: JobItem },
})
