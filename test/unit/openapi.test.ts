/** What generators of clients need of the OpenAPI document. That it is complete is in `test/house/documents.test.ts`. */
import { describe, expect, it } from 'vitest'
import { openApiDocument } from '../../shared/api/openapi.ts'
import { CONTRACTS } from '../../services/control-plane/routes/index.ts'

type Json = Record<string, unknown>
type Body = { description?: string; content: Record<string, { schema?: Json }> }
const document = openApiDocument(CONTRACTS) as {
  paths: Record<string, Record<string, { requestBody?: Body }>>
  components: { schemas: Record<string, Json> }
}
const bodies = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, { requestBody }]) => (requestBody ? [{ of: `${method} ${path}`, ...requestBody }] : [])),
)

describe('the OpenAPI document', () => {
  it('has no defaults of members in what a request is made of, which would be required then', () => {
    const found = new Set<string>()
    const defaults: string[] = []
    function look(value: unknown, at: string): void {
      if (typeof value !== 'object' || value === null) return
      if (Array.isArray(value)) return value.forEach((each, index) => look(each, `${at}/${index}`))
      const { $ref, properties, ...rest } = value as { $ref?: string; properties?: Json } & Json
      const name = $ref?.split('/').at(-1)
      if (name !== undefined && !found.has(name)) {
        found.add(name)
        look(document.components.schemas[name], name)
      }
      for (const [member, each] of Object.entries(properties ?? {})) {
        if (Object.hasOwn(each as Json, 'default')) defaults.push(`${at}/${member}`)
        look(each, `${at}/${member}`)
      }
      look(Object.values(rest), at)
    }
    for (const { of, content } of bodies) look(content, of)
    expect(found).toContain('PipelineRequest')
    expect(found).toContain('StreamRequest')
    expect(defaults).toEqual([])
    const { properties } = document.components.schemas.PipelineRequest as { properties: Record<string, Json> }
    expect(properties.tasks!.description).toContain('`1` by default')
  })

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
