/** Contracts for streams and their schemas. */
import { z } from 'zod'
import { LIMITS } from '../model/limits.ts'
import { FIELD_NAME, isTypeName, TYPE_NAMES } from '../model/stream-schema.ts'
import { STREAM_FORMATS, unfitFields, type StreamFormat } from '../model/stream-formats.ts'
import { Description, fewMembers, IdParams, ListQuery, listOf, Name } from './common.ts'
import { contract, Id, Timestamp } from './contract.ts'

/** A validated request for a stream. */
export type StreamRequest = z.infer<typeof StreamRequest>

const TypeName = z
  .string({ error: `must be a type name: ${TYPE_NAMES.join(', ')}` })
  .refine(isTypeName, `must be a type name: ${TYPE_NAMES.join(', ')}; a trailing ? makes the field optional`)

/** Field name to type name. Checked by hand, because zod's record would not report each bad key under its own pointer. */
const StreamFields = z
  .record(z.string(), z.unknown())
  .transform((fields, context) => {
    if (Object.keys(fields).length < 1) context.addIssue({ code: 'custom', message: 'must have at least one field' })
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
const StreamSchema = fewMembers(StreamFields, LIMITS.stream_fields_max, `must have at most ${LIMITS.stream_fields_max} fields`)

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
  message?: string | undefined
  key?: string | undefined
  partitions?: number | undefined
  retention_ms?: number | undefined
  compatibility?: string | undefined
}
/** What members of a new stream exclude or need each other. */
export function refineStream(
  { format = 'json', schema, schema_id, topic, message, key, ...own }: StreamMembers,
  context: z.RefinementCtx,
): void {
  const refuse = (name: string, message: string) => context.addIssue({ code: 'custom', path: [name], message })
  if (topic !== undefined) {
    if (schema !== undefined) refuse('schema', 'must not be given with a topic: its schemas are in the registry')
    for (const name of ['partitions', 'retention_ms', 'compatibility'] as const)
      if (own[name] !== undefined) refuse(name, 'must not be given with a topic: an existing topic keeps its own')
  } else if (schema !== undefined && schema_id !== undefined) refuse('schema_id', 'must not be combined with schema')
  else if (schema === undefined && schema_id === undefined) refuse('schema', 'is required')
  if (message !== undefined && schema !== undefined) refuse('message', 'must not be combined with schema')
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
    message: z
      .string()
      .regex(/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/, 'must be the name of a message, without the package')
      .max(LIMITS.name_characters_max)
      .optional()
      .describe('Of a Protobuf schema of the registry: the message that the records are, as `Order` or `Order.Item`; the first by default'),
    key: z.string().optional(),
  })
  .superRefine(refineStream)
  .meta({ id: 'StreamRequest' })

const StreamStatus = z.enum(['creating', 'active', 'deleting']).meta({ id: 'StreamStatus' })
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
  message: z.string().nullable().describe('The message of its Protobuf schema that it was created with'),
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
/** `GET /streams/:id/schemas`: returns 200 with the schemas that the stream has had, the newest first; at most 2 MiB of them. */
export const listStreamSchemasContract = contract({
  id: 'listStreamSchemas',
  method: 'GET',
  path: '/streams/:id/schemas',
  summary: 'List the schemas that a stream has had, the newest first: as many as fit 2 MiB, the current one always',
  tag: 'Streams',
  scope: 'streams:read',
  isCostly: true,
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
  isRead: true,
  isCostly: true,
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
