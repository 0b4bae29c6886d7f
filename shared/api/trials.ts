/** Trials of a chain over real records: which ones they run, and what their answers say. */
import { z } from 'zod'
import { LIMITS } from '../model/limits.ts'
import { IdParams, RecordError } from './common.ts'
import { contract, Id } from './contract.ts'
import { DeadLetterFilter } from './dead-letters.ts'
import { Trace } from './observability.ts'
import { PipelineRequest, StreamPlace } from './pipeline-requests.ts'

/** Selects the dead letters of a pipeline that a trial runs; every member narrows the selection. */
const DeadLetterChoice = DeadLetterFilter.extend({
  ids: z
    .array(z.string().max(100))
    .min(1, 'must not be empty')
    .max(LIMITS.preview_records_max, `must have at most ${LIMITS.preview_records_max} entries`)
    .optional()
    .describe('These, whatever has become of them; without it, pending ones'),
}).meta({ id: 'DeadLetterChoice' })
/** A validated selection of dead letters. */
export type DeadLetterChoice = z.output<typeof DeadLetterChoice>

/** Members that say which records a trial runs. */
export const CHOICE = {
  from: StreamPlace.optional().describe('Where to start reading; `latest`, the default, reads the newest records'),
  partition: z.number().int().min(0).max(100_000).optional(),
  dead_letters: DeadLetterChoice.optional().describe(
    'In place of records of the source: dead letters of the pipeline as a redrive runs them, those that failed last first',
  ),
  limit: z.number().int().min(1).max(LIMITS.preview_records_max).default(10),
}
/** The validated members. */
export type TrialChoice = z.output<z.ZodObject<typeof CHOICE>>

/** Refuses dead letters beside a place of the source. */
export function checkChoice({ from, partition, dead_letters }: TrialChoice, { addIssue }: z.RefinementCtx): void {
  if (dead_letters === undefined || (from === undefined && partition === undefined)) return
  const path = [from === undefined ? 'partition' : 'from']
  addIssue({ code: 'custom', path, message: 'must not be combined with dead_letters, which have places of their own' })
}

/** A trace of a trial. */
const TrialTrace = Trace.extend({
  dead_letter: z
    .object({ id: Id, step: z.number().int(), error: RecordError })
    .optional()
    .describe('Where dead letters are run: this one, and how it failed'),
}).meta({ id: 'Trace' })

/** What an answer with traces says of records that have none. */
const NotRun = z
  .number()
  .int()
  .min(1)
  .optional()
  .describe('So many of the last records were not run: a step did not return for the one before them, or the time for all was over')

/** What the answer of a trial says. */
export const TRACED = {
  records: z.array(TrialTrace),
  not_run: NotRun,
  truncated: z.literal(true).optional().describe('There are fewer records than requested, because they reached a size limit'),
  total: z.number().int().optional().describe('Where dead letters are run: how many the selection has in all'),
}

/** Body of a preview: the chain to try, and the records to run through it. */
export const PreviewRequest = z
  .strictObject({
    processors: PipelineRequest.shape.processors.unwrap().optional().describe('Another chain to try; the pipeline’s own by default'),
    ...CHOICE,
  })
  .superRefine(checkChoice)
  .meta({ id: 'PreviewRequest' })

/** `POST …/preview`: returns 200 with the traces of up to `limit` source records; writes and commits nothing. */
export const previewPipelineContract = contract({
  id: 'previewPipeline',
  method: 'POST',
  path: '/pipelines/:id/preview',
  summary: 'Run a chain over real records of the source, or over dead letters; writes and commits nothing',
  tag: 'Operation',
  scope: 'pipelines:read',
  alsoScopes: ['streams:read'],
  isRead: true,
  mayConflict: true,
  request: { params: IdParams, body: PreviewRequest.optional() },
  responses: {
    200: z.object({ pipeline_id: Id, ...TRACED }),
  },
})
