/** The OpenAPI 3.1 document, generated from the contracts that also validate requests. Pure. */
import { z } from 'zod'
import { ERROR_CODES } from '../errors/codes.ts'
import type { Contract } from './operation.ts'

const jsonSchema = (schema: z.ZodType, io: 'input' | 'output') => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return rest
}

function parametersOf({ request }: Contract): object[] {
  const place = (where: 'path' | 'query', shape: z.ZodObject | undefined) =>
    Object.entries(shape?.shape ?? {}).map(([name, schema]) => {
      const type = schema as z.ZodType
      return {
        name,
        in: where,
        required: where === 'path' || !type.safeParse(undefined).success,
        schema: where === 'query' ? queryType(type) : { type: 'string' },
      }
    })
  return [...place('path', request.params), ...place('query', request.query)]
}

/** Query values are text on the wire; integers are shown as what they mean. */
function queryType(schema: z.ZodType): object {
  const output = jsonSchema(schema, 'output') as Record<string, unknown>
  if (output.type !== 'number') return output
  return { ...output, type: 'integer' }
}

function bodyOf({ request, consumes }: Contract): object | undefined {
  if (!request.body) return undefined
  const schema = jsonSchema(request.body, 'input')
  return { required: true, content: Object.fromEntries((consumes ?? ['application/json']).map((type) => [type, { schema }])) }
}

const ERROR_STATUSES = [400, 401, 403, 404, 409, 429, 500, 503]
const statusText: Record<number, string> = { 200: 'OK', 201: 'Created', 202: 'Accepted', 204: 'No content' }

function operationOf(contract: Contract): object {
  const errors = Object.fromEntries(ERROR_STATUSES.map((status) => [status, { $ref: '#/components/responses/Error' }]))
  const successes = Object.fromEntries(
    Object.entries(contract.responses).map(([status, schema]) => [
      status,
      {
        description: statusText[Number(status)] ?? 'Success',
        ...(schema ? { content: { 'application/json': { schema: jsonSchema(schema, 'output') } } } : {}),
      },
    ]),
  )
  return {
    operationId: contract.id,
    summary: contract.summary,
    tags: [contract.tag],
    ...(contract.isPublic ? { security: [] } : {}),
    parameters: parametersOf(contract),
    ...(contract.request.body ? { requestBody: bodyOf(contract) } : {}),
    responses: { ...successes, ...errors },
  }
}

export function openApiDocument(contracts: readonly Contract[]): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const contract of contracts) {
    const path = contract.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [contract.method.toLowerCase()]: operationOf(contract) }
  }
  const detail = { type: 'object', properties: { path: { type: 'string' }, message: { type: 'string' } } }
  const error = {
    type: 'object',
    required: ['code', 'message', 'status'],
    properties: {
      code: { enum: Object.keys(ERROR_CODES) },
      message: { type: 'string' },
      status: { type: 'integer' },
      request_id: { type: 'string' },
      details: { type: 'array', items: detail },
    },
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Data Pipeline Service', version: '1.0.0', license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: '/api/v1' }, { url: '/v1' }],
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
      responses: {
        Error: {
          description: 'The error envelope',
          content: { 'application/json': { schema: { type: 'object', required: ['error'], properties: { error } } } },
        },
      },
    },
  }
}
