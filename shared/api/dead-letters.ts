/** Dead letters of a pipeline: listed, read, redriven. */
import { z } from 'zod'
import { LIMITS } from '../model/limits.ts'
import { isStorable } from '../model/text.ts'
import { listOf } from './common.ts'
import { JobItem } from './jobs.ts'
import { contract, Id, queryInteger, Timestamp } from './operation.ts'

export const DEAD_LETTER_STATUSES = ['pending', 'redriving', 'redriven'] as const

/** Bytes, and what they look like as text where they are UTF-8. */
const Truncated = z.literal(true).optional().describe('only its beginning: the answer had no room for it')
export const KeyBytes = z.object({ base64: z.string(), text: z.string().nullable(), truncated: Truncated }).nullable()
/** Bytes, and the JSON in them where there is some (behind the registry's prefix, if there is one). */
export const ValueBytes = z
  .object({
    base64: z.string(),
    json: z.unknown(),
    truncated: Truncated,
  })
  .nullable()
export const HeaderBytes = z.object({ key: z.string(), base64: z.string().nullable(), truncated: Truncated })

export const DeadLetterItem = z
  .object({
    id: Id,
    partition: z.number().int(),
    offset: z.number().int(),
    step: z.number().int(),
    module: z.string(),
    version: z.string(),
    revision: z.number().int(),
    error: z.object({ code: z.string(), message: z.string() }),
    attempts: z.number().int(),
    redrives: z.number().int(),
    failed_at: Timestamp,
    key: KeyBytes,
    value: ValueBytes,
    headers: z.array(HeaderBytes),
    status: z.enum(DEAD_LETTER_STATUSES),
    job_id: Id.nullable(),
  })
  .meta({ id: 'DeadLetter' })

const Text = z.string().min(1, 'must not be empty').max(LIMITS.name_characters_max).refine(isStorable, 'must not contain NUL')
const Time = z.iso
  .datetime({ offset: true, error: 'must be a time, ISO 8601 with an offset', abort: true })
  .refine((text) => new Date(text).getTime() > 0, 'must be a time after 1970')
  .transform((text) => new Date(text).toISOString())

const DeadLetterParams = z.object({ id: z.string(), dead_letter_id: z.string() })
const Params = z.object({ id: z.string() })

export const DeadLetterQuery = z.object({
  page: queryInteger(1, 1_000_000_000).default(1),
  page_size: queryInteger(1, LIMITS.page_size_max).default(10),
  cursor: z.string().min(1, 'must not be empty').optional(),
  sort: z.enum(['failed_at', '-failed_at']).default('failed_at'),
  step: queryInteger(1, LIMITS.chain_steps_max).optional(),
  error: Text.optional(),
  module: Text.optional(),
  version: Text.optional(),
  status: z.enum(DEAD_LETTER_STATUSES).optional(),
  partition: queryInteger(0, 100_000).optional(),
  from: Time.optional(),
  to: Time.optional(),
})
export type DeadLetterQuery = z.output<typeof DeadLetterQuery>

/** Which dead letters; every member narrows it. Times are of the failure, `from` included, `to` not. */
export const DeadLetterFilter = z
  .strictObject({
    step: z.number().int().min(1).max(LIMITS.chain_steps_max).optional(),
    error: Text.optional(),
    module: Text.optional(),
    version: Text.optional(),
    partition: z.number().int().min(0).max(100_000).optional(),
    from: Time.optional(),
    to: Time.optional(),
  })
  .meta({ id: 'DeadLetterFilter' })
export type DeadLetterFilter = z.output<typeof DeadLetterFilter>

export const listDeadLettersContract = contract({
  id: 'listDeadLetters',
  method: 'GET',
  path: '/pipelines/:id/dead-letters',
  summary: 'List the dead letters of a pipeline',
  tag: 'Dead letters',
  scope: 'pipelines:read',
  request: { params: Params, query: DeadLetterQuery },
  responses: {
    200: listOf('dead_letters', DeadLetterItem).extend({
      truncated: z.literal(true).optional().describe('the page had no room for all that was asked for: next_cursor goes on behind it'),
    }),
  },
})

export const getDeadLetterContract = contract({
  id: 'getDeadLetter',
  method: 'GET',
  path: '/pipelines/:id/dead-letters/:dead_letter_id',
  summary: 'Get one dead letter',
  tag: 'Dead letters',
  scope: 'pipelines:read',
  request: { params: DeadLetterParams },
  responses: { 200: DeadLetterItem },
})

export const RedriveRequest = z
  .strictObject({
    ids: z.array(z.string().max(100)).min(1, 'must not be empty').max(10_000, 'must have at most 10000 entries').optional(),
    filter: DeadLetterFilter.optional(),
    dry_run: z.boolean().default(false),
  })
  .refine(({ ids, filter }) => ids === undefined || filter === undefined, { path: ['filter'], message: 'must not be given beside ids' })
  .meta({ id: 'RedriveRequest' })

export const redriveContract = contract({
  id: 'redriveDeadLetters',
  method: 'POST',
  path: '/pipelines/:id/dead-letters/redrive',
  summary:
    'Send dead letters through the whole chain of the current revision again: those named, those of a filter, or all that are pending',
  tag: 'Dead letters',
  scope: 'pipelines:write',
  isIdempotent: true,
  locatedBy: 202,
  request: { params: Params, body: RedriveRequest.optional() },
  responses: {
    200: z.object({ dry_run: z.boolean(), count: z.number().int() }),
    202: JobItem.extend({ count: z.number().int() }),
  },
})
