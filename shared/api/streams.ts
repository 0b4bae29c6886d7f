/** Contracts for streams and their records. */
import { z } from 'zod'
import { LIMITS } from '../model/limits.ts'
import { TraceRecord } from './operate.ts'
import { FIELD_NAME, isTypeName, TYPE_NAMES } from '../model/stream-schema.ts'
import { STREAM_FORMATS, unfitFields, type StreamFormat } from '../model/stream-formats.ts'
import { Description, IdParams, ListQuery, listOf, Name } from './common.ts'
import { contract, Id, queryInteger, Timestamp } from './operation.ts'

/** A validated request for a stream. */
export type StreamRequest = z.infer<typeof StreamRequest>

const TypeName = z
  .string({ error: `must be a type name: ${TYPE_NAMES.join(', ')}` })
  .refine(isTypeName, `must be a type name: ${TYPE_NAMES.join(', ')}; a trailing ? makes the field optional`)

/** Field name to type name. Checked by hand, because zod's record would not report each bad key under its own pointer. */
const StreamSchema = z
  .record(z.string(), z.unknown())
  .transform((fields, context) => {
    const names = Object.keys(fields)
    if (names.length < 1) context.addIssue({ code: 'custom', message: 'must have at least one field' })
    if (names.length > LIMITS.stream_fields_max)
      context.addIssue({ code: 'custom', message: `must have at most ${LIMITS.stream_fields_max} fields` })
    const checked: Record<string, string> = {}
    for (const [name, type] of Object.entries(fields)) {
      const fault =
        name.length > LIMITS.name_characters_max
          ? `the field name must have at most ${LIMITS.name_characters_max} characters`
          : !FIELD_NAME.test(name) || name === '__proto__'
            ? 'the field name must start with a letter or _ and continue with letters, digits or _'
            : undefined
      if (fault !== undefined) {
        context.addIssue({ code: 'custom', path: [name], message: fault })
        continue
      }
      const parsed = TypeName.safeParse(type)
      if (parsed.success) checked[name] = parsed.data
      else context.addIssue({ code: 'custom', path: [name], message: parsed.error.issues[0]!.message })
    }
    return checked
  })
  .meta({ id: 'StreamFieldsRequest' })

const COMPATIBILITIES = ['BACKWARD', 'BACKWARD_TRANSITIVE', 'FORWARD', 'FORWARD_TRANSITIVE', 'FULL', 'FULL_TRANSITIVE', 'NONE'] as const
/** Settings of a new stream where its request leaves them out; the retention is in milliseconds. */
export const STREAM_DEFAULTS = { partitions: 4, retention_ms: 7 * 86_400_000, compatibility: 'BACKWARD' } as const
const SchemaId = z
  .number()
  .int()
  .min(1)
  .max(2 ** 31 - 1)

type StreamMembers = {
  format?: StreamFormat | undefined
  schema?: Record<string, string> | undefined
  schema_id?: number | undefined
  topic?: string | undefined
  key?: string | undefined
  partitions?: number | undefined
  retention_ms?: number | undefined
  compatibility?: string | undefined
}
/** What members of a new stream exclude or need each other. */
export function refineStream({ format = 'json', schema, schema_id, topic, key, ...own }: StreamMembers, context: z.RefinementCtx): void {
  const refuse = (name: string, message: string) => context.addIssue({ code: 'custom', path: [name], message })
  if (topic !== undefined) {
    if (schema !== undefined) refuse('schema', 'must not be given with a topic: its schemas are in the registry')
    for (const name of ['partitions', 'retention_ms', 'compatibility'] as const)
      if (own[name] !== undefined) refuse(name, 'must not be given with a topic: an existing topic keeps its own')
  } else if (schema !== undefined && schema_id !== undefined) refuse('schema_id', 'must not be combined with schema')
  else if (schema === undefined && schema_id === undefined) refuse('schema', 'is required')
  if (!schema) return
  for (const name of unfitFields(format, schema))
    context.addIssue({ code: 'custom', path: ['schema', name], message: `the type ${schema[name]} has no form in ${format}` })
  if (key !== undefined && !Object.hasOwn(schema, key)) refuse('key', 'must be a field of the schema')
}

/** Body that creates a stream with a topic of its own, or adopts an existing topic. */
export const StreamRequest = z
  .strictObject({
    name: Name,
    description: Description.default(''),
    schema: StreamSchema.optional(),
    schema_id: SchemaId.optional().describe('Id of a schema in the registry, used with its references instead of `schema`'),
    topic: z
      .string()
      .regex(/^[a-zA-Z0-9._-]{1,249}$/, 'must be a valid topic name')
      .optional()
      .describe(
        'An existing topic: the stream adopts it as it is, and leaves it when deleted. `schema_id` is then its newest schema by default',
      ),
    partitions: z.number().int().min(1).max(LIMITS.stream_partitions_max).optional().describe(`${STREAM_DEFAULTS.partitions} by default`),
    retention_ms: z
      .number()
      .int()
      .min(60_000)
      .max(10 * 365 * 86_400_000)
      .optional()
      .describe(`${STREAM_DEFAULTS.retention_ms} (a week) by default`),
    compatibility: z
      .enum(COMPATIBILITIES)
      .meta({ id: 'StreamCompatibility' })
      .optional()
      .describe(`${STREAM_DEFAULTS.compatibility} by default`),
    format: z
      .enum(STREAM_FORMATS, { error: `must be one of ${STREAM_FORMATS.join(', ')}` })
      .meta({ id: 'StreamFormat' })
      .optional()
      .describe('json by default; with `schema_id`, the format of that schema'),
    key: z.string().optional(),
  })
  .superRefine(refineStream)
  .meta({ id: 'StreamRequest' })

const StreamStatus = z.enum(['creating', 'active', 'failed', 'deleting']).meta({ id: 'StreamStatus' })
/** A stream as lists show it. */
export const StreamItem = z
  .object({
    id: Id,
    name: z.string(),
    description: z.string(),
    status: StreamStatus,
    status_reason: z.string().nullable(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'StreamItem' })
/** A stream with its schema and the settings of its topic. */
export const Stream = StreamItem.extend({
  schema: z.record(z.string(), z.string()),
  schema_id: z.number().int().nullable(),
  topic: z.string(),
  partitions: z.number().int(),
  retention_ms: z.number().int(),
  compatibility: z.string(),
  format: z.string(),
  key: z.string().nullable(),
  /** The topic existed before the stream. */
  is_adopted: z.boolean(),
}).meta({ id: 'Stream' })

/** `POST /streams`: returns 201 with the new stream once it is active. */
export const createStreamContract = contract({
  id: 'createStream',
  method: 'POST',
  path: '/streams',
  summary: 'Create a stream: a Kafka topic, new or adopted, with a registered schema',
  tag: 'Streams',
  scope: 'streams:write',
  isIdempotent: true,
  locatedBy: 201,
  request: { body: StreamRequest },
  responses: { 201: z.object({ id: Id, name: z.string(), status: StreamStatus, created_at: Timestamp }) },
})

/** `GET /streams`: returns 200 with a page of streams. */
export const listStreamsContract = contract({
  id: 'listStreams',
  method: 'GET',
  path: '/streams',
  summary: 'List streams',
  tag: 'Streams',
  scope: 'streams:read',
  request: { query: ListQuery },
  responses: { 200: listOf('streams', StreamItem) },
})
/** `GET /streams/:id`: returns 200 with one stream. */
export const getStreamContract = contract({
  id: 'getStream',
  method: 'GET',
  path: '/streams/:id',
  summary: 'Get one stream',
  tag: 'Streams',
  scope: 'streams:read',
  isTagged: true,
  request: { params: IdParams },
  responses: { 200: Stream },
})
/** `PATCH /streams/:id`: returns 200 with the changed stream. */
export const updateStreamContract = contract({
  id: 'updateStream',
  method: 'PATCH',
  path: '/streams/:id',
  summary: 'Change a stream’s description, or its schema as its compatibility mode allows; 409 names every conflicting field',
  tag: 'Streams',
  scope: 'streams:write',
  isConditional: true,
  isTagged: true,
  mayConflict: true,
  request: {
    params: IdParams,
    body: z
      .strictObject({ description: Description.optional(), schema: StreamSchema.optional(), schema_id: SchemaId.optional() })
      .refine(({ schema, schema_id }) => schema === undefined || schema_id === undefined, {
        path: ['schema_id'],
        message: 'must not be combined with schema',
      }),
  },
  responses: { 200: Stream },
})
/** `GET /streams/:id/schemas`: returns 200 with the schemas that the stream has had, the newest first. */
export const listStreamSchemasContract = contract({
  id: 'listStreamSchemas',
  method: 'GET',
  path: '/streams/:id/schemas',
  summary: 'List the schemas that a stream has had, the newest first',
  tag: 'Streams',
  scope: 'streams:read',
  request: { params: IdParams },
  responses: {
    200: z.object({
      schemas: z.array(
        z
          .object({ schema_id: z.number().int(), schema: z.record(z.string(), z.string()), is_current: z.boolean() })
          .meta({ id: 'StreamSchemaVersion' }),
      ),
    }),
  },
})

/** `POST /streams/:id/schemas/check`: returns 200 with what changing to a schema would break; changes nothing. */
export const checkStreamSchemaContract = contract({
  id: 'checkStreamSchema',
  method: 'POST',
  path: '/streams/:id/schemas/check',
  summary: 'What changing to a schema would break: its compatibility, and the pipelines whose configs name changed fields',
  tag: 'Streams',
  scope: 'streams:read',
  alsoScopes: ['pipelines:read'],
  isUnaudited: true,
  isLarge: true,
  request: {
    params: IdParams,
    body: z
      .strictObject({ schema: StreamSchema.optional(), schema_id: SchemaId.optional() })
      .refine(({ schema, schema_id }) => (schema === undefined) !== (schema_id === undefined), {
        path: ['schema'],
        message: 'either this or schema_id is required, and not both',
      }),
  },
  responses: {
    200: z.object({
      compatible: z.boolean().describe('Whether a change to it is allowed'),
      details: z.array(z.object({ path: z.string(), message: z.string() })).describe('Why it is not'),
      pipelines: z.array(
        z
          .object({
            id: Id,
            name: z.string(),
            reads: z.boolean().describe('False where it only writes the stream'),
            mentions: z.array(z.object({ path: z.string().describe('Of the config, in the pipeline'), fields: z.array(z.string()) })),
          })
          .meta({ id: 'SchemaUser' }),
      ),
    }),
  },
})

/** `DELETE /streams/:id`: returns 204 once clients no longer see the stream. */
export const deleteStreamContract = contract({
  id: 'deleteStream',
  method: 'DELETE',
  path: '/streams/:id',
  summary: 'Delete a stream that no pipeline uses, with its data; an adopted topic and its schemas are kept',
  tag: 'Streams',
  scope: 'streams:write',
  isConditional: true,
  mayConflict: true,
  request: { params: IdParams },
  responses: { 204: null },
})

/** Large enough for the topic with the most partitions. */
const StreamCursor = z.string().min(1, 'must not be empty').max(8192, 'is too long')

/** Query of a stream's records: a page number or a cursor, a partition and an order. */
export const DataQuery = z.object({
  limit: queryInteger(1, LIMITS.data_limit_max).default(LIMITS.data_limit_default),
  page: queryInteger(1, 1_000_000_000).default(1),
  cursor: StreamCursor.optional(),
  partition: queryInteger(0, LIMITS.adopted_partitions_max - 1).optional(),
  order: z.enum(['asc', 'desc']).default('asc'),
})

/** `GET /streams/:id/data`: returns 200 with a page of records. */
export const getStreamDataContract = contract({
  id: 'getStreamData',
  method: 'GET',
  path: '/streams/:id/data',
  summary: 'Read a page of a stream’s records, each page sorted by time; with a cursor, pages follow one another by time too',
  tag: 'Streams',
  scope: 'streams:read',
  mayConflict: true,
  request: { params: IdParams, query: DataQuery },
  responses: {
    200: z.object({
      data: z.array(z.unknown()),
      pagination: z.object({
        total: z.number().int(),
        page: z.number().int(),
        limit: z.number().int(),
        has_more: z.literal(true).optional().describe('More records follow this page'),
        next_cursor: z
          .string()
          .optional()
          .describe('Continues after this page. The last page has one too, for reading the records that come later'),
        approximate: z.literal(true).optional().describe('`total` is an estimate: not all records are counted yet'),
        undecodable: z
          .array(z.object({ index: z.number().int(), partition: z.number().int(), offset: z.string(), reason: z.string() }))
          .optional(),
      }),
    }),
  },
})

/** `GET /streams/:id/records`: returns 200 with records as they are in the topic. */
export const getStreamRecordsContract = contract({
  id: 'getStreamRecords',
  method: 'GET',
  path: '/streams/:id/records',
  summary: 'Read records with partition, offset, time, key, headers and the bytes of the value; the newest by default, oldest first',
  tag: 'Streams',
  scope: 'streams:read',
  mayConflict: true,
  request: {
    params: IdParams,
    query: z.object({
      from: z.enum(['earliest', 'latest']).default('latest').describe('Where to start reading; `latest` reads the newest records'),
      timestamp: z.iso.datetime({ offset: true }).optional().describe('Start with the first record that is not older'),
      partition: queryInteger(0, LIMITS.adopted_partitions_max - 1).optional(),
      offset: queryInteger(0, Number.MAX_SAFE_INTEGER).optional().describe('Start at this offset of the partition'),
      key: z
        .string()
        .max(LIMITS.key_query_characters_max, 'is too long')
        .optional()
        .describe('Only records with exactly this key, as text: the newest, or the first from the place that is asked for'),
      before: StreamCursor.optional().describe(
        '`older` of an answer for the same partition: the newest records that lie before its own, in place of `from`',
      ),
      after: StreamCursor.optional().describe(
        '`newer` of an answer for the same partition: the first records that lie behind its own, in place of `from`',
      ),
      limit: queryInteger(1, LIMITS.stream_records_max).default(LIMITS.stream_records_default),
    }),
  },
  responses: {
    200: z.object({
      records: z.array(z.object({ partition: z.number().int(), offset: z.number().int(), record: TraceRecord })),
      older: z.string().optional().describe('Present where the stream has something before these records: `before` of the next request'),
      newer: z.string().optional().describe('Present where the stream has something behind these records: `after` of the next request'),
      truncated: z.literal(true).optional().describe('There are fewer records than requested, because they reached a size limit'),
      incomplete: z
        .literal(true)
        .optional()
        .describe('The search for the key took too long and was ended: give a partition, an offset or a time to search elsewhere'),
    }),
  },
})

/** Media type of a body with one JSON document per line. */
export const NDJSON = 'application/x-ndjson'

/** `POST /streams/:id/data`: returns 201 with the offsets of the written records; writes all or none. */
export const writeStreamDataContract = contract({
  id: 'writeStreamData',
  method: 'POST',
  path: '/streams/:id/data',
  summary: 'Write records, all or none',
  tag: 'Streams',
  scope: 'streams:write',
  isUnaudited: true,
  isIdempotent: true,
  consumes: ['application/json', NDJSON],
  passesRecordsOn: true,
  request: {
    params: IdParams,
    body: z.strictObject({
      records: z
        .array(z.unknown())
        .min(1, 'must hold at least one record')
        .max(LIMITS.write_records_max, `must hold at most ${LIMITS.write_records_max} records`),
    }),
  },
  responses: {
    201: z.object({
      records: z.number().int(),
      partitions: z.array(z.object({ partition: z.number().int(), first_offset: z.string(), records: z.number().int() })),
    }),
  },
})
