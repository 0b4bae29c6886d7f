/** Contracts for a pipeline's dead letters: list, read, redrive. */
import { z } from 'zod'
import { LIMITS } from '../model/limits.ts'
import { isStorable, PATTERN_CHARACTERS_MAX } from '../model/text.ts'
import { listOf, RecordError } from './common.ts'
import { JobItem } from './jobs.ts'
import { contract, Id, queryInteger, Timestamp } from './contract.ts'

/** Statuses of a dead letter: not redriven, taken by a redrive job, or redriven. */
const DEAD_LETTER_STATUSES = ['pending', 'redriving', 'redriven'] as const

const Status = z.enum(DEAD_LETTER_STATUSES).meta({ id: 'DeadLetterStatus' })

/** Marks bytes that are shown only in part. */
const Truncated = z.literal(true).optional().describe('Only the beginning is shown, because the response reached its size limit')
/** A record's key in base64, and as text if it is UTF-8; null for a record without a key. */
export const KeyBytes = z
  .object({ base64: z.string(), text: z.string().nullable(), truncated: Truncated })
  .meta({ id: 'KeyBytes' })
  .nullable()
/** A record's value in base64, and as JSON if it is JSON (after the schema registry's prefix, if it has one); null for a tombstone. */
export const ValueBytes = z
  .object({
    base64: z
      .string()
      .describe('All of its bytes: as topics hold it, those of the registry’s prefix (0 and the schema’s id) and then the value'),
    json: z.unknown(),
    truncated: Truncated,
  })
  .meta({ id: 'ValueBytes' })
  .nullable()
/** One header of a record: its key, and its value in base64. */
export const HeaderBytes = z.object({ key: z.string(), base64: z.string().nullable(), truncated: Truncated }).meta({ id: 'HeaderBytes' })

/** A dead letter: the failed record, its partition and offset in the source, and the failure. */
const DeadLetterItem = z
  .object({
    id: Id,
    partition: z.number().int(),
    offset: z.number().int(),
    step: z.number().int(),
    module: z.string(),
    version: z.string(),
    revision: z.number().int(),
    error: RecordError,
    attempts: z.number().int(),
    redrives: z.number().int(),
    failed_at: Timestamp,
    key: KeyBytes,
    value: ValueBytes,
    headers: z.array(HeaderBytes),
    status: Status,
    job_id: Id.nullable(),
  })
  .meta({ id: 'DeadLetter' })

const storable = (charactersMax: number) => z.string().max(charactersMax).refine(isStorable, 'must not contain NUL or unpaired surrogates')
const textOf = (charactersMax: number) => storable(charactersMax).min(1, 'must not be empty')
const Text = textOf(LIMITS.name_characters_max)
/** Of the step that failed, as a group shows it. */
const OfStep = storable(LIMITS.name_characters_max).describe('Empty for what the sink did not take')
const Pattern = textOf(PATTERN_CHARACTERS_MAX).describe('Exactly as a group shows it')
const Time = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 time with a UTC offset', abort: true })
  .refine((text) => new Date(text).getTime() > 0, 'must be later than 1970-01-01T00:00:00Z')
  .transform((text) => new Date(text).toISOString())

const DeadLetterParams = z.object({ id: z.string(), dead_letter_id: z.string() })
const Params = z.object({ id: z.string() })

/** Query of the dead-letter list: paging, sort order and filters. */
export const DeadLetterQuery = z.object({
  page: queryInteger(1, 1_000_000_000).default(1),
  page_size: queryInteger(1, LIMITS.page_size_max).default(10),
  cursor: z.string().min(1, 'must not be empty').optional(),
  sort: z.enum(['failed_at', '-failed_at']).default('failed_at'),
  // The sink comes after the last step.
  step: queryInteger(1, LIMITS.chain_steps_max + 1).optional(),
  error: Text.optional(),
  module: OfStep.optional(),
  version: OfStep.optional(),
  pattern: Pattern.optional(),
  status: Status.optional(),
  partition: queryInteger(0, 100_000).optional(),
  from: Time.optional(),
  to: Time.optional(),
})
/** A validated query of the dead-letter list with its defaults filled in. */
export type DeadLetterQuery = z.output<typeof DeadLetterQuery>

/** Selects dead letters; every member narrows the selection. The time of the failure is at or after `from` and before `to`. */
export const DeadLetterFilter = z
  .strictObject({
    step: z
      .number()
      .int()
      .min(1)
      .max(LIMITS.chain_steps_max + 1)
      .optional(),
    error: Text.optional(),
    module: OfStep.optional(),
    version: OfStep.optional(),
    pattern: Pattern.optional(),
    partition: z.number().int().min(0).max(100_000).optional(),
    from: Time.optional(),
    to: Time.optional(),
  })
  .meta({ id: 'DeadLetterFilter' })
/** A validated filter of dead letters. */
export type DeadLetterFilter = z.output<typeof DeadLetterFilter>

/** `GET /pipelines/:id/dead-letters`: returns 200 with a page of dead letters. */
export const listDeadLettersContract = contract({
  id: 'listDeadLetters',
  method: 'GET',
  path: '/pipelines/:id/dead-letters',
  summary: 'List the dead letters of a pipeline',
  tag: 'Dead letters',
  scope: 'pipelines:read',
  alsoScopes: ['streams:read'],
  isBulky: true,
  request: { params: Params, query: DeadLetterQuery },
  responses: {
    200: listOf('dead_letters', DeadLetterItem).extend({
      truncated: z.literal(true).optional().describe('Fewer entries than requested, because of the size limit; next_cursor continues'),
    }),
  },
})

const DeadLetterGroup = z
  .object({
    step: z.number().int(),
    module: z.string(),
    version: z.string(),
    error_code: z.string(),
    pattern: z
      .string()
      .nullable()
      .describe(
        'What the messages have in common, with … for texts in double quotes and for numbers; null where they have too many, or one has none',
      ),
    count: z.number().int(),
    first_failed_at: Timestamp,
    last_failed_at: Timestamp,
    message: z.string().describe('Of the latest one'),
    latest_id: Id,
  })
  .meta({ id: 'DeadLetterGroup' })

/** `GET /pipelines/:id/dead-letters/groups`: returns 200 with the largest groups of dead letters that failed alike. */
export const listDeadLetterGroupsContract = contract({
  id: 'listDeadLetterGroups',
  method: 'GET',
  path: '/pipelines/:id/dead-letters/groups',
  summary: 'Count dead letters by step, version, error and pattern of the message; the largest groups first, at most 100',
  tag: 'Dead letters',
  scope: 'pipelines:read',
  alsoScopes: ['streams:read'],
  request: {
    params: Params,
    query: z.object({ status: Status.default('pending'), from: Time.optional(), to: Time.optional() }),
  },
  responses: { 200: z.object({ pipeline_id: Id, groups: z.array(DeadLetterGroup) }) },
})

/** `GET /pipelines/:id/dead-letters/:dead_letter_id`: returns 200 with one dead letter. */
export const getDeadLetterContract = contract({
  id: 'getDeadLetter',
  method: 'GET',
  path: '/pipelines/:id/dead-letters/:dead_letter_id',
  summary: 'Get one dead letter',
  tag: 'Dead letters',
  scope: 'pipelines:read',
  alsoScopes: ['streams:read'],
  request: { params: DeadLetterParams },
  responses: { 200: DeadLetterItem },
})

/** Body of a redrive: dead letters by id or by filter, or all pending ones if both are left out. */
export const RedriveRequest = z
  .strictObject({
    ids: z.array(z.string().max(100)).min(1, 'must not be empty').max(10_000, 'must have at most 10000 entries').optional(),
    filter: DeadLetterFilter.optional(),
    dry_run: z.boolean().default(false),
  })
  .refine(({ ids, filter }) => ids === undefined || filter === undefined, { path: ['filter'], message: 'must not be combined with ids' })
  .meta({ id: 'RedriveRequest' })

/** `POST …/redrive`: returns 202 with the job, or 200 with the count for a dry run or an empty selection. */
export const redriveDeadLettersContract = contract({
  id: 'redriveDeadLetters',
  method: 'POST',
  path: '/pipelines/:id/dead-letters/redrive',
  summary: 'Run dead letters through the whole chain of the current revision again: selected by id, by filter, or all that are pending',
  tag: 'Dead letters',
  scope: 'pipelines:write',
  isIdempotent: true,
  locatedBy: 202,
  mayConflict: true,
  request: { params: Params, body: RedriveRequest.optional() },
  responses: {
    200: z.object({ dry_run: z.boolean(), count: z.number().int() }),
    202: JobItem.extend({ count: z.number().int() }),
  },
})
