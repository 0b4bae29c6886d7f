/** The OpenAPI 3.1 document, generated from the contracts that also validate requests. Pure. */
import { z } from 'zod'
import { ERROR_CODES } from '../errors/codes.ts'
import type { Contract } from './contract.ts'

type Json = Record<string, unknown>
type Components = Map<string, Json>

const pascal = (id: string): string => id.charAt(0).toUpperCase() + id.slice(1)

/** Turns references to zod's own definitions into references to components. */
function withReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withReferences)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      name === '$ref' && typeof each === 'string' ? each.replace('#/$defs/', '#/components/schemas/') : withReferences(each),
    ]),
  )
}

/** What says as much by being left out needs no words. */
const isEmpty = (value: unknown): boolean =>
  value === '' || (typeof value === 'object' && value !== null && Object.keys(value).length === 0)

/** Puts the defaults of members into words: openapi-typescript takes a member with a default for one that a request must have. */
function inWords(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inWords)
  if (typeof value !== 'object' || value === null) return value
  const { properties, ...rest } = value as Json
  const others = Object.fromEntries(Object.entries(rest).map(([name, each]) => [name, name === 'default' ? each : inWords(each)]))
  if (typeof properties !== 'object' || properties === null) return properties === undefined ? others : { ...others, properties }
  const members = Object.entries(properties).map(([name, each]) => {
    const member = inWords(each) as Json
    if (!Object.hasOwn(member, 'default')) return [name, member]
    const { default: value, description, ...schema } = member
    const words = [description, isEmpty(value) ? undefined : `\`${JSON.stringify(value)}\` by default`].filter((part) => part !== undefined)
    return [name, { ...schema, ...(words.length > 0 ? { description: words.join('; ') } : {}) }]
  })
  return { ...others, properties: Object.fromEntries(members) }
}

/** Response schemas allow unknown members, since later versions may add some. One that is shown as another one refers to that. */
const open = ({ jsonSchema }: { jsonSchema: Json }): void => {
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
  if (jsonSchema.$ref !== undefined && jsonSchema.properties !== undefined)
    for (const name of Object.keys(jsonSchema)) if (name !== '$ref') delete jsonSchema[name]
}

/** The JSON Schema of `schema`; its named definitions are added to `components`. Throws an Error when two schemas share a name. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', components: Components): Json {
  const found = withReferences(z.toJSONSchema(schema, { io, unrepresentable: 'any', override: io === 'output' ? open : () => {} }))
  const { $schema: _, $defs = {}, ...rest } = (io === 'input' ? inWords(found) : found) as Json & { $defs?: Json }
  for (const [name, definition] of Object.entries($defs as Record<string, Json>)) {
    const known = components.get(name)
    if (known && JSON.stringify(known) !== JSON.stringify(definition)) throw new Error(`two schemas are named ${name}`)
    components.set(name, definition)
  }
  return rest
}

/** Adds the schema to `components` and returns a reference to it; a schema that is a reference already, or is empty, stays as it is. */
function named(name: string, schema: Json, components: Components): Json {
  if ('$ref' in schema || Object.keys(schema).length === 0) return schema
  components.set(name, schema)
  return { $ref: `#/components/schemas/${name}` }
}

/** Query values are text on the wire; integers are documented as integers. */
function queryType(schema: z.ZodType, components: Components): Json {
  const output = schemaOf(schema, 'output', components)
  // A transformed value has no output schema: document the text on the wire instead.
  if (Object.keys(output).length === 0) return schemaOf(schema, 'input', components)
  return output.type === 'number' ? { ...output, type: 'integer' } : output
}

function parametersOf({ request, isIdempotent, isConditional }: Contract, components: Components): Json[] {
  const place = (where: 'path' | 'query', shape: z.ZodObject | undefined) =>
    Object.entries(shape?.shape ?? {}).map(([name, schema]) => {
      const type = schema as z.ZodType
      return {
        name,
        in: where,
        required: where === 'path' || !type.safeParse(undefined).success,
        schema: where === 'query' ? queryType(type, components) : { type: 'string', minLength: 1 },
      }
    })
  const header = (name: string) => ({ $ref: `#/components/parameters/${name}` })
  return [
    ...place('path', request.params),
    ...place('query', request.query),
    ...(isConditional ? [header('IfMatch')] : []),
    ...(isIdempotent ? [header('IdempotencyKey')] : []),
  ]
}

const OTHERS: Record<string, string> = {
  'application/x-ndjson': 'one JSON document per line, with the content type `application/x-ndjson`',
  'application/x-www-form-urlencoded': 'a form with the same members, with the content type `application/x-www-form-urlencoded`',
}

/**
 * Bodies other than JSON are in words: generators that make one function of an operation don't know lines of JSON, can't tell a form from
 * JSON of the same schema, and make code that does not run of two schemas.
 */
function bodyOf(contract: Contract, components: Components): Json | undefined {
  const { id, request, consumes = [], documentedBody } = contract
  const body = documentedBody ?? request.body
  if (!body) return undefined
  const schema = named(`${pascal(id)}Request`, schemaOf(body, 'input', components), components)
  const others = consumes.flatMap((type) => OTHERS[type] ?? [])
  return {
    ...(others.length > 0 ? { description: `Or ${others.join(', or ')}.` } : {}),
    required: !body.safeParse(undefined).success,
    content: { 'application/json': { schema } },
  }
}

const statusText: Record<number, string> = { 200: 'OK', 201: 'Created', 202: 'Accepted', 204: 'No content' }
const REFUSALS: Record<number, string> = {
  400: 'The request is malformed or invalid; `details` names each fault',
  401: 'The token, credentials or signature are missing or invalid',
  403: 'The key or role lacks a scope, the account is suspended, or a quota is exceeded',
  404: 'The resource does not exist',
  409: 'The request conflicts with the current state',
  412: 'If-Match names another version of the resource',
  413: 'The body is too large',
  415: 'The media type, charset or encoding is not supported',
  429: 'The rate limit is exceeded',
  431: 'The header fields are too large',
  500: 'An internal error',
  503: 'A part of the service is unavailable',
}
/** Responses that may carry Retry-After; 409 does while a request with the same Idempotency-Key is in progress. */
const COMES_BACK: ReadonlySet<number> = new Set([409, 429, 503])

/** The error statuses that an operation may return. */
export function refusalsOf({ request, isPublic, isConditional, isIdempotent, mayConflict, documentedBody }: Contract): number[] {
  const hasBody = (documentedBody ?? request.body) !== undefined
  return [
    400,
    ...(isPublic && !hasBody ? [] : [401]),
    403,
    // A public operation does not reveal whether a resource exists: it returns 401 for a wrong signature either way.
    ...(request.params && !isPublic ? [404] : []),
    ...(isIdempotent || mayConflict ? [409] : []),
    ...(isConditional ? [412] : []),
    ...(hasBody ? [413, 415] : []),
    429,
    431,
    500,
    503,
  ]
}

const header = (name: string) => ({ $ref: `#/components/headers/${name}` })
const RATE_HEADERS = {
  RateLimit: header('RateLimit'),
  'RateLimit-Policy': header('RateLimitPolicy'),
  'X-RateLimit-Limit': header('XRateLimitLimit'),
  'X-RateLimit-Remaining': header('XRateLimitRemaining'),
  'X-RateLimit-Reset': header('XRateLimitReset'),
  'X-Request-Id': header('RequestId'),
}
/** Errors that can occur before the request is counted, so without rate-limit headers. */
const UNCOUNTED: ReadonlySet<number> = new Set([401, 403, 431, 500, 503])

/**
 * One server-sent event. OpenAPI 3.1 can't describe the items of a stream (3.2 can): tools that read event streams take the schema for that
 * of each event.
 */
function eventOf(events: Record<string, z.ZodType>, components: Components): Json {
  const each = Object.entries(events).map(([name, schema]) => ({ name, data: schemaOf(schema, 'output', components) }))
  const named = each.map(({ name, data: { $ref } }) => `\`${name}\`: ${typeof $ref === 'string' ? $ref.split('/').at(-1) : 'see the docs'}`)
  return {
    type: 'object',
    description: `One of the server-sent events, with JSON as its data. ${named.join(', ')}`,
    required: ['event', 'data'],
    properties: {
      event: { type: 'string', enum: each.map(({ name }) => name) },
      id: { type: 'string' },
      data: {
        type: 'string',
        contentMediaType: 'application/json',
        contentSchema: each.length === 1 ? each[0]!.data : { anyOf: each.map(({ data }) => data) },
      },
    },
  }
}

function bodySchema({ id, responses }: Contract, status: string, schema: z.ZodType, components: Components): Json {
  const name = `${pascal(id)}${Object.keys(responses).length > 1 ? status : ''}Response`
  return named(name, schemaOf(schema, 'output', components), components)
}

function operationOf(contract: Contract, components: Components): Json {
  const { events, responses } = contract
  const successes = Object.entries(events ? { 200: null, ...responses } : responses).map(([status, schema]) => [
    status,
    {
      description: statusText[Number(status)] ?? 'Success',
      headers: {
        ...RATE_HEADERS,
        ...(contract.isTagged ? { ETag: header('ETag') } : {}),
        ...(Number(status) === contract.locatedBy ? { Location: header('Location') } : {}),
        ...(contract.isIdempotent ? { 'Idempotency-Replayed': header('IdempotencyReplayed') } : {}),
      },
      ...(schema || events
        ? {
            content: {
              ...(schema ? { 'application/json': { schema: bodySchema(contract, status, schema, components) } } : {}),
              ...(events ? { 'text/event-stream': { schema: eventOf(events, components) } } : {}),
            },
          }
        : {}),
    },
  ])
  const body = bodyOf(contract, components)
  const scopes = [contract.scope ?? [], contract.alsoScopes ?? []].flat()
  return {
    operationId: contract.id,
    summary: contract.summary,
    ...(scopes.length > 0 ? { description: `Needs the scope ${scopes.join(' and ')}.` } : {}),
    tags: [contract.tag],
    ...(contract.isPublic ? { security: [] } : {}),
    parameters: parametersOf(contract, components),
    ...(body ? { requestBody: body } : {}),
    responses: {
      ...Object.fromEntries(successes),
      ...Object.fromEntries(refusalsOf(contract).map((status) => [status, { $ref: `#/components/responses/Refused${status}` }])),
    },
  }
}

const ERROR: Json = {
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'status'],
      properties: {
        code: { enum: Object.keys(ERROR_CODES) },
        message: { type: 'string' },
        status: { type: 'integer' },
        request_id: { type: 'string' },
        details: {
          type: 'array',
          items: {
            type: 'object',
            required: ['path', 'message'],
            properties: {
              path: { type: 'string', description: 'JSON pointer (RFC 6901) to the fault' },
              message: { type: 'string' },
              line: { type: 'integer', description: 'In a source, from 1' },
              column: { type: 'integer', description: 'In a source, from 1' },
              text: { type: 'string', description: 'That line of the source' },
            },
          },
        },
      },
    },
  },
}

const text = (description: string, more: Json = {}): Json => ({ description, schema: { type: 'string', ...more } })
const count = (description: string): Json => ({ description, schema: { type: 'integer', minimum: 0 } })
const HEADERS: Record<string, Json> = {
  ETag: text('Version of the resource, for use in If-Match; the status of a pipeline is no part of it'),
  Location: text('Path of the created resource'),
  RequestId: text('Identifies the request in the service’s logs'),
  RateLimit: text('`r`: requests left; `t`: seconds until the limit resets'),
  RateLimitPolicy: text('`q`: requests allowed; `w`: the window in seconds'),
  XRateLimitLimit: count('Requests allowed per minute; of ingest, within ten seconds'),
  XRateLimitRemaining: count('Requests left in the current minute'),
  XRateLimitReset: count('Seconds until the limit resets'),
  IdempotencyReplayed: text('`true`: this is the stored response to an earlier request with the same key'),
  RetryAfter: { description: 'Seconds to wait before the next attempt', schema: { type: 'integer', minimum: 1 } },
}

/** The OpenAPI 3.1 document of the operations. Throws an Error when two schemas share a name. */
export function openApiDocument(contracts: readonly Contract[]): object {
  const components: Components = new Map([['ErrorReply', ERROR]])
  const paths: Record<string, Record<string, object>> = {}
  for (const contract of contracts) {
    const path = contract.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [contract.method.toLowerCase()]: operationOf(contract, components) }
  }
  const refusals = Object.entries(REFUSALS).map(([status, description]) => [
    `Refused${status}`,
    {
      description,
      headers: {
        ...(UNCOUNTED.has(Number(status)) ? { 'X-Request-Id': header('RequestId') } : RATE_HEADERS),
        ...(COMES_BACK.has(Number(status)) ? { 'Retry-After': header('RetryAfter') } : {}),
      },
      content: { 'application/json': { schema: { $ref: '#/components/schemas/ErrorReply' } } },
    },
  ])
  return {
    openapi: '3.1.0',
    info: { title: 'Data Pipeline Service', version: '1.0.0', license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: '/api/v1' }, { url: '/v1' }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      parameters: {
        IfMatch: { name: 'If-Match', in: 'header', ...text('Do this only if the resource still has this ETag') },
        IdempotencyKey: {
          name: 'Idempotency-Key',
          in: 'header',
          ...text('The operation is done once, however often this key is sent within 24 hours', { minLength: 1, maxLength: 255 }),
        },
      },
      headers: HEADERS,
      responses: Object.fromEntries(refusals),
      schemas: Object.fromEntries([...components].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    },
  }
}
