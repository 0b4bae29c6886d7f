/** The contract of a pipeline's log: what its SmartModules and tasks say. */
import { z } from 'zod'
import { Flag, IdParams, LogLevel, TaskRole } from './common.ts'
import { contract, Id, queryInteger, Timestamp } from './contract.ts'

/** One line of a pipeline's log. */
export const PipelineLog = z
  .object({
    id: z.string().describe('Grows from line to line'),
    at: Timestamp,
    level: LogLevel,
    step: z.number().int().nullable().describe('From 1; null for what the task itself says'),
    module: z.string().nullable(),
    version: z.string().nullable(),
    revision: z.number().int(),
    role: TaskRole.describe('`chain`: a task that runs the chain; `intake`: one that reads an external source'),
    task: z.number().int(),
    job_id: z.string().optional().describe('The job that ran the chain'),
    message: z.string(),
    dropped: z.number().int().optional().describe('Lines before this one that were too many to keep'),
  })
  .meta({ id: 'PipelineLog' })

/** Query of a pipeline's log. */
export const LogsQuery = z.object({
  level: LogLevel.optional().describe('The least level of a line'),
  step: queryInteger(0, 16).optional().describe('Lines of this step alone, from 1; 0: of the task itself'),
  since: z.iso.datetime({ offset: true }).optional().describe('Lines from this time on'),
  limit: queryInteger(1, 1000).default(100).describe('The newest so many lines'),
  follow: Flag.default('false').describe('Go on with lines as they come, as server-sent events'),
})

/** `GET …/logs`: returns 200 with the newest lines, oldest first, or with server-sent events. */
export const getPipelineLogsContract = contract({
  id: 'getPipelineLogs',
  method: 'GET',
  path: '/pipelines/:id/logs',
  summary: 'What the pipeline’s SmartModules and tasks have logged, of the last day; with `follow`, also what they log from now on',
  tag: 'Operation',
  scope: 'pipelines:read',
  request: { params: IdParams, query: LogsQuery },
  responses: { 200: z.object({ pipeline_id: Id, logs: z.array(PipelineLog) }) },
  events: { log: PipelineLog },
})
