/** The contract of an account's events: what the overview and the jobs show, as it changes. */
import { z } from 'zod'
import { JobItem } from './jobs.ts'
import { contract, Id } from './contract.ts'
import { PipelineGlance } from './overview.ts'

/** `GET /events`: server-sent events, all pipelines and unfinished jobs first, and then each that changes. */
export const followEventsContract = contract({
  id: 'followEvents',
  method: 'GET',
  path: '/events',
  summary:
    'All pipelines and unfinished jobs at first (`snapshot`), then each pipeline whose status, rate, lag or dead letters change, and each job that moves on, as server-sent events; about one look a second',
  tag: 'Operation',
  scope: 'pipelines:read',
  request: {},
  responses: {},
  events: {
    snapshot: z.object({ pipelines: z.array(PipelineGlance), jobs: z.array(JobItem) }).meta({ id: 'OverviewSnapshot' }),
    pipeline: PipelineGlance,
    pipeline_deleted: z.object({ id: Id }).meta({ id: 'PipelineDeleted' }),
    job: JobItem,
  },
})
