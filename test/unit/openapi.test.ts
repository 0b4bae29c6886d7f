/** What generators of clients need of the OpenAPI document. */
import { describe, expect, it } from 'vitest'
import { createTokenContract } from '../../shared/api/auth.ts'
import { ingestContract } from '../../shared/api/ingest.ts'
import { openApiDocument } from '../../shared/api/openapi.ts'
import { OPERATIONS } from '../../services/control-plane/routes/index.ts'

type Json = Record<string, unknown>
type Body = { description?: string; content: Record<string, { schema?: Json }> }
const document = openApiDocument([createTokenContract, ingestContract, ...OPERATIONS.map(({ contract }) => contract)]) as {
  paths: Record<string, Record<string, { requestBody?: Body }>>
  components: { schemas: Record<string, Json> }
}
const bodies = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, { requestBody }]) => (requestBody ? [{ of: `${method} ${path}`, ...requestBody }] : [])),
)

describe('the OpenAPI document', () => {
  it('has bodies of JSON alone, each with a schema; forms and lines of JSON are in words', () => {
    for (const { of, content } of bodies) {
      expect(Object.keys(content), of).toEqual(['application/json'])
      expect(content['application/json']!.schema, of).toBeDefined()
    }
    const others = bodies.flatMap(({ of, description }) => (description ? [[of, /application\/[\w-]+/.exec(description)?.[0]]] : []))
    expect(others).toEqual([
      ['post /auth/token', 'application/x-www-form-urlencoded'],
      ['post /ingest/{pipeline}', 'application/x-ndjson'],
      ['post /streams/{id}/data', 'application/x-ndjson'],
    ])
  })
})
