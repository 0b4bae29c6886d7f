/** The OpenAPI 3.1 document, generated from the contracts that also validate requests. Pure. */
import { z } from 'zod'
import { ERROR_CODES } from '../errors/codes.ts'
import type { Contract } from './operation.ts'

type Json = Record<string, unknown>
type Components = Map<string, Json>

const pascal = (id: string): string => id.charAt(0).toUpperCase() + id.slice(1)

/** References of zod's own definitions become references to components. */
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

/** An answer may get members that a client does not know yet. */
const open = ({ jsonSchema }: { jsonSchema: { additionalProperties?: unknown } }): void => {
  if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
}

/** The schema, what it names put beside it into the components. Throws when one name stands for two schemas. */
function schemaOf(schema: z.ZodType, io: 'input' | 'output', components: Components): Json {
  const {
    $schema: _,
    $defs = {},
    ...rest
  } = withReferences(z.toJSONSchema(schema, { io, unrepresentable: 'any', override: io === 'output' ? open : () => {} })) as Json & {
    $defs?: Json
  }
  for (const [name, definition] of Object.entries($defs as Record<string, Json>)) {
    const known = components.get(name)
    if (known && JSON.stringify(known) !== JSON.stringify(definition)) throw new Error(`two schemas are named ${name}`)
    components.set(name, definition)
  }
  return rest
}

/** A component of its own, unless the schema is a reference to one or says nothing. */
function named(name: string, schema: Json, components: Components): Json {
  if ('$ref' in schema || Object.keys(schema).length === 0) return schema
  components.set(name, schema)
  return { $ref: `#/components/schemas/${name}` }
}

/** Query values are text on the wire; integers are shown as what they mean. */
function queryType(schema: z.ZodType, components: Components): Json {
  const output = schemaOf(schema, 'output', components)
  // What becomes of a text is no text: what it is on the wire counts.
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

const LINES = { type: 'string', description: 'one JSON document a line' }

function bodyOf(contract: Contract, components: Components): Json | undefined {
  const { id, request, consumes = ['application/json'], documentedBody } = contract
  const body = documentedBody ?? request.body
  if (!body) return undefined
  const schema = named(`${pascal(id)}Request`, schemaOf(body, 'input', components), components)
  return {
    required: !body.safeParse(undefined).success,
    content: Object.fromEntries(consumes.map((type) => [type, { schema: type === 'application/x-ndjson' ? LINES : schema }])),
  }
}

const statusText: Record<number, string> = { 200: 'OK', 201: 'Created', 202: 'Accepted', 204: 'No content' }
const REFUSALS: Record<number, string> = {
  400: 'A fault of the request; `details` names each',
  401: 'No valid token',
  403: 'The key lacks the scope',
  404: 'There is no such resource',
  409: 'It does not fit the present state',
  412: 'If-Match names another version',
  413: 'The body is too large',
  415: 'The media type, charset or encoding is not taken',
  429: 'The rate limit is exceeded',
  431: 'The header fields are too large',
  500: 'A fault of ours',
  503: 'A part of the service is away',
}
/** 409: a request with the same Idempotency-Key is under way. */
const COMES_BACK: ReadonlySet<number> = new Set([409, 429, 503])

/** Which refusals an operation may answer. */
export function refusalsOf({ method, request, isPublic, isConditional, mayConflict, documentedBody }: Contract): number[] {
  const hasBody = (documentedBody ?? request.body) !== undefined
  return [
    400,
    ...(isPublic && !hasBody ? [] : [401]),
    ...(isPublic ? [] : [403]),
    // A signature that is wrong says nothing of what is there.
    ...(request.params && !isPublic ? [404] : []),
    ...(method === 'GET' && !mayConflict ? [] : [409]),
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
/** Refused before anybody was counted. */
const UNCOUNTED: ReadonlySet<number> = new Set([401, 431, 500, 503])

function operationOf(contract: Contract, components: Components): Json {
  const successes = Object.entries(contract.responses).map(([status, schema]) => [
    status,
    {
      description: statusText[Number(status)] ?? 'Success',
      headers: {
        ...RATE_HEADERS,
        ...(contract.isTagged ? { ETag: header('ETag') } : {}),
        ...(Number(status) === contract.locatedBy ? { Location: header('Location') } : {}),
        ...(contract.isIdempotent ? { 'Idempotency-Replayed': header('IdempotencyReplayed') } : {}),
      },
      ...(schema
        ? {
            content: {
              'application/json': {
                schema: named(
                  `${pascal(contract.id)}${Object.keys(contract.responses).length > 1 ? status : ''}Response`,
                  schemaOf(schema, 'output', components),
                  components,
                ),
              },
            },
          }
        : {}),
    },
  ])
  const body = bodyOf(contract, components)
  return {
    operationId: contract.id,
    summary: contract.summary,
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
            properties: { path: { type: 'string', description: 'a JSON pointer (RFC 6901)' }, message: { type: 'string' } },
          },
        },
      },
    },
  },
}

const text = (description: string, more: Json = {}): Json => ({ description, schema: { type: 'string', ...more } })
const count = (description: string): Json => ({ description, schema: { type: 'integer', minimum: 0 } })
const HEADERS: Record<string, Json> = {
  ETag: text('The version of the resource, for If-Match'),
  Location: text('The path of what was made'),
  RequestId: text('Names the request in our logs'),
  RateLimit: text('What is left of the limit, and when it starts anew'),
  RateLimitPolicy: text('The limit'),
  XRateLimitLimit: count('Requests in a minute'),
  XRateLimitRemaining: count('Requests that are left in this minute'),
  XRateLimitReset: count('Seconds until the minute is over'),
  IdempotencyReplayed: text('`true`: the answer of an earlier request with this key'),
  RetryAfter: { description: 'Seconds to wait', schema: { type: 'integer', minimum: 1 } },
}

export function openApiDocument(contracts: readonly Contract[]): object {
  const components: Components = new Map([['Error', ERROR]])
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
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
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
        IfMatch: { name: 'If-Match', in: 'header', ...text('Only if the resource still has this ETag') },
        IdempotencyKey: {
          name: 'Idempotency-Key',
          in: 'header',
          ...text('The request is done once, however often it comes with this key', { minLength: 1, maxLength: 255 }),
        },
      },
      headers: HEADERS,
      responses: Object.fromEntries(refusals),
      schemas: Object.fromEntries([...components].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    },
  }
}
