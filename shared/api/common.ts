/** Parts that several resources share: names, descriptions, paging. */
import { z } from 'zod'
import { ACCOUNT_TYPE_NAMES, LIMITS, SCOPES } from '../model/limits.ts'
import { LOST_POSITION_POLICIES } from '../model/definition.ts'
import { Counters } from '../model/observed.ts'
import { PIPELINE_STATUSES } from '../model/pipeline-status.ts'
import { SMARTMODULE_KINDS } from '../model/smartmodule-kind.ts'
import { TASK_ROLES } from '../model/task.ts'
import { LOG_LEVELS, MEASURE_KINDS } from '../model/telemetry.ts'
import { isStorable } from '../model/text.ts'
import { queryInteger } from './contract.ts'

const CONTROL_CHARACTERS = /\p{Cc}/u

/** A resource's name: unique per account and kind of resource; names that start with `dps/` are reserved for built-ins. */
export const Name = z
  .string()
  .min(1, 'must not be empty')
  .max(LIMITS.name_characters_max, `must have at most ${LIMITS.name_characters_max} characters`)
  .refine((name) => name === '' || name.trim() !== '', { error: 'must not be blank', abort: true })
  .refine(
    (name) => name.trim() === name && !CONTROL_CHARACTERS.test(name) && isStorable(name),
    'must not have leading or trailing whitespace, control characters or unpaired surrogates',
  )
  .refine((name) => !name.startsWith('dps/'), 'must not start with dps/, which is reserved')

/** A resource's description: text that Postgres can store, possibly empty. */
export const Description = z
  .string()
  .max(LIMITS.description_characters_max, `must have at most ${LIMITS.description_characters_max} characters`)
  .refine(isStorable, 'must not contain NUL or unpaired surrogates')

/**
 * An object as `object` reads it, once it is known to have few enough members: those of one that has too many are not looked at, because to
 * say what is wrong with each takes long.
 */
export const fewMembers = <T extends z.ZodType>(object: T, membersMax: number, message: string) =>
  z.preprocess((value, context) => {
    if (typeof value !== 'object' || value === null || Object.keys(value).length <= membersMax) return value
    context.addIssue({ code: 'custom', message })
    return z.NEVER
  }, object)

// Each has a name in the OpenAPI document, so that generated clients have one type for it and not one per place.
/** A JSON object of any members: a config, or a JSON Schema. */
export const JsonObject = z.record(z.string(), z.unknown()).meta({ id: 'JsonObject' })
/** Whether the values in these, at any depth, are more than that; ends where they are. */
function haveMoreValues(given: readonly unknown[], countMax: number): boolean {
  const left = [...given]
  for (let count = 0; left.length > 0;) {
    const value = left.pop()
    if (typeof value !== 'object' || value === null) continue
    const own = Object.values(value)
    count += own.length
    if (count > countMax) return true
    for (const each of own) if (typeof each === 'object' && each !== null) left.push(each)
  }
  return false
}

/** Whether these configs together have as few values as they may. */
export const areConfigsBounded = (...configs: unknown[]): boolean => !haveMoreValues(configs, LIMITS.config_values_max)

const MANY_VALUES = `must have at most ${LIMITS.config_values_max} values`
/** A connector's or SmartModule's config as requests give it. */
export const Config = fewMembers(
  JsonObject.refine((config) => areConfigsBounded(config), MANY_VALUES),
  LIMITS.config_values_max,
  MANY_VALUES,
)
/** The body of an action that takes none. */
export const EmptyRequest = z.strictObject({}).meta({ id: 'EmptyRequest' })
/** A query's yes or no. */
export const Flag = z.enum(['true', 'false']).meta({ id: 'Flag' })
/** Sort orders of lists by time alone. */
export const TimeSort = z.enum(['created_at', '-created_at']).meta({ id: 'TimeSort' })
const ListSort = z.enum(['created_at', '-created_at', 'name', '-name']).meta({ id: 'ListSort' })
/** What a key or session may do. */
export const ScopeName = z.enum(SCOPES).meta({ id: 'Scope' })
/** An account's type. */
export const AccountType = z.enum(ACCOUNT_TYPE_NAMES).meta({ id: 'AccountType' })
/** The status of a pipeline. */
export const PipelineStatus = z.enum(PIPELINE_STATUSES).meta({ id: 'PipelineStatus' })
/** What happens when a source has lost a position. */
export const LostPosition = z.enum(LOST_POSITION_POLICIES).meta({ id: 'LostPositionPolicy' })
/** The kind of a SmartModule. */
export const SmartModuleKind = z.enum(SMARTMODULE_KINDS).meta({ id: 'SmartModuleKind' })
/** How severe a line of a log is. */
export const LogLevel = z.enum(LOG_LEVELS).meta({ id: 'LogLevel' })
/** The kind of a task. */
export const TaskRole = z.enum(TASK_ROLES).meta({ id: 'TaskRole' })
/** What a measure is. */
export const MeasureKind = z.enum(MEASURE_KINDS).meta({ id: 'MeasureKind' })
/** Records by outcome. */
export const RecordCounts = Counters.meta({ id: 'RecordCounts' })
/** How far behind a pipeline is, asked of Kafka. */
export const LagNow = z
  .number()
  .int()
  .describe('Offsets between position and end, asked of Kafka now: markers of transactions and gaps in the log count too')
/** Why a record failed. */
export const RecordError = z.object({ code: z.string(), message: z.string() }).meta({ id: 'RecordError' })

/** Query of a list: `?page=1&page_size=10` or a cursor, with filters and a sort order. */
export const ListQuery = z.object({
  page: queryInteger(1, 1_000_000_000).default(1),
  page_size: queryInteger(1, LIMITS.page_size_max).default(10),
  name: z.string().refine(isStorable, 'must not contain NUL or unpaired surrogates').optional(),
  status: z.string().refine(isStorable, 'must not contain NUL or unpaired surrogates').optional(),
  sort: ListSort.default('created_at'),
  cursor: z.string().min(1, 'must not be empty').optional(),
})
/** A validated list query with its defaults filled in. */
export type ListQuery = z.output<typeof ListQuery>

/** Schema of a list response with its items under `key`; `next_cursor` is present only while more items follow. */
export function listOf<K extends string, T extends z.ZodType>(key: K, item: T) {
  return z.object({
    ...({ [key]: z.array(item) } as Record<K, z.ZodArray<T>>),
    total: z.number().int(),
    page: z.number().int(),
    page_size: z.number().int(),
    next_cursor: z.string().optional(),
  })
}

/** Path parameters of an operation on one resource. */
export const IdParams = z.object({ id: z.string() })

/** An id, name or version that a request refers to. */
export const Reference = z
  .string()
  .min(1, 'must not be empty')
  .max(LIMITS.name_characters_max, 'is too long')
  .refine(isStorable, 'must not contain NUL or unpaired surrogates')

/** Where a change would change a resource, as a JSON pointer (RFC 6901), with both values; long texts by their hash. */
export const Difference = z.object({ path: z.string(), before: z.unknown(), after: z.unknown() }).meta({ id: 'PlannedDifference' })
/** A validated difference. */
export type Difference = z.output<typeof Difference>
