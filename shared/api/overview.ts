/** The contract of the overview: every pipeline of the account at a glance. */
import { z } from 'zod'
import { DESIRED_STATUSES } from '../model/definition.ts'
import { PipelineStatus } from './common.ts'
import { contract, Id, Timestamp } from './contract.ts'

/** A pipeline as the overview shows it. */
export const PipelineGlance = z
  .object({
    id: Id,
    name: z.string(),
    status: PipelineStatus,
    status_reason: z.string().nullable(),
    desired: z.enum(DESIRED_STATUSES),
    attention: z.string().nullable().describe('What is wrong with the pipeline; null while nothing is'),
    attention_rank: z.number().int().nullable().describe('How pressing that is: 0 first; null while nothing is wrong'),
    revision: z.number().int(),
    records_per_second: z.number(),
    lag: z.number().int().describe('Offsets between position and end, as of the tasks’ last reports; markers of transactions count'),
    dead_letters: z.number().int().describe('Pending ones'),
    changed_at: Timestamp.describe('When its status or definition changed last'),
  })
  .meta({ id: 'PipelineGlance' })
/** A glance as a handler returns it. */
export type PipelineGlance = z.input<typeof PipelineGlance>

/** `GET /overview`: returns 200 with all pipelines of the account, those that need attention first. */
export const getOverviewContract = contract({
  id: 'getOverview',
  method: 'GET',
  path: '/overview',
  summary: 'All pipelines with status, reason, rate, lag and dead letters; those that need attention come first',
  tag: 'Operation',
  scope: 'pipelines:read',
  request: {},
  responses: {
    200: z.object({
      pipelines: z.array(PipelineGlance),
      totals: z.object({
        pipelines: z.number().int(),
        attention: z.number().int(),
        records_per_second: z.number(),
        lag: z.number().int(),
        dead_letters: z.number().int(),
      }),
    }),
  },
})
