/** Contracts of tails: records as they pass a place of a pipeline, or are written to a stream, as server-sent events. */
import { z } from 'zod'
import { LIMITS } from '../model/limits.ts'
import { IdParams } from './common.ts'
import { TraceRecord, TraceStep } from './observability.ts'
import { contract, queryInteger } from './contract.ts'

/** A record that passed: as it is on its topic, or what a step made of it. */
const TailRecord = z
  .object({
    partition: z.number().int(),
    offset: z.number().int(),
    record: TraceRecord.optional().describe('The record; left out where a step is looked at'),
    step: TraceStep.omit({ config: true })
      .extend({ truncated: z.literal(true).optional().describe('Some records are left out for lack of room') })
      .meta({ id: 'TailStep' })
      .optional()
      .describe('What the step made of the source’s record; values have no schema frame'),
    error: z
      .object({ step: z.number().int(), module: z.string(), code: z.string(), message: z.string() })
      .optional()
      .describe('Of a dead letter: why the record failed'),
  })
  .meta({ id: 'TailRecord' })

/** Up to ten frames per second. */
const TailFrame = z
  .object({
    records: z.array(TailRecord),
    sampled: z.boolean().describe('Records came faster than they are shown: some before these were left out'),
    dropped: z.number().int().describe('Offsets left out since the last frame; transaction markers count too'),
    undecided: z
      .object({ count: z.number().int(), partition: z.number().int(), offset: z.number().int(), reason: z.string() })
      .meta({ id: 'TailUndecided' })
      .optional()
      .describe('Records for which the filter is neither true nor false, with the place of the first one and why; they are not shown'),
  })
  .meta({ id: 'TailFrame' })
/** A frame as it is sent. */
export type TailFrame = z.input<typeof TailFrame>
/** A record of a frame. */
export type TailRecord = z.input<typeof TailRecord>

const EVENTS = {
  frame: TailFrame,
  waiting: z.object({ reason: z.string() }).describe('Nothing can be read at present').meta({ id: 'TailWaiting' }),
}

const FILTER_CHARACTERS_MAX = 4096

const TailQuery = z.object({
  filter: z
    .string()
    .min(1, 'must not be empty')
    .max(FILTER_CHARACTERS_MAX, 'is too long')
    .optional()
    .describe('A CEL expression over value, key, headers, timestamp, partition and offset; only records for which it is true are shown'),
  last: queryInteger(0, LIMITS.preview_records_max).default(10).describe('Begin with about so many of the newest records'),
})

const PLACES = /^(?:source|sink|dead_letters|step:(?:[1-9]|1[0-6]))$/

/** `GET /pipelines/:id/tail`: server-sent events; needs no resources without a client, and none of the pipeline's tasks. */
export const tailPipelineContract = contract({
  id: 'tailPipeline',
  method: 'GET',
  path: '/pipelines/:id/tail',
  summary: 'Records as they pass a place of the pipeline, as server-sent events: sampled where they are many, resumable by Last-Event-ID',
  tag: 'Operation',
  scope: 'pipelines:read',
  alsoScopes: ['streams:read'],
  mayConflict: true,
  request: {
    params: IdParams,
    query: TailQuery.extend({
      at: z.string().regex(PLACES, 'must be source, sink, dead_letters or step:n').default('source').describe('The place'),
    }),
  },
  responses: {},
  events: EVENTS,
})

/** `GET /streams/:id/tail`: server-sent events. */
export const tailStreamContract = contract({
  id: 'tailStream',
  method: 'GET',
  path: '/streams/:id/tail',
  summary: 'A stream’s records as they are written, as server-sent events: sampled where they are many, resumable by Last-Event-ID',
  tag: 'Streams',
  scope: 'streams:read',
  mayConflict: true,
  request: { params: IdParams, query: TailQuery },
  responses: {},
  events: EVENTS,
})
