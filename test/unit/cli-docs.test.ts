/** What `dps mcp` answers of an operation: all that it refers to is in the answer, and it is short enough to be shown whole. */
import { describe, expect, it } from 'vitest'
import { operationsIn } from '../../clients/cli/src/api-document.ts'
import { OPERATIONS } from '../../services/control-plane/routes/index.ts'
import { openApiDocument } from '../../shared/api/openapi.ts'

const document = JSON.parse(JSON.stringify(openApiDocument(OPERATIONS.map(({ contract }) => contract)))) as unknown

describe('an operation', () => {
  it.each(OPERATIONS.map(({ contract }) => contract.id))('has its parameters, body and answers: %s', (id) => {
    const answer = operationsIn(document, id) as { components: Record<string, Record<string, unknown>> }
    const text = JSON.stringify(answer, null, 1)
    expect(text.length).toBeLessThan(60_000)
    for (const [, kind, name] of text.matchAll(/"#\/components\/([^/"]+)\/([^/"]+)"/g))
      expect(answer.components[kind!]).toHaveProperty([name!])
    expect(text.match(/"\$ref": "(?!#\/components\/[^/"]+\/[^/"]+")/)).toBeNull()
  })

  it('brings what its body refers to, and nothing that it does not', () => {
    const { components } = operationsIn(document, 'createStream') as { components: Record<string, Record<string, unknown>> }
    expect(JSON.stringify(components)).toContain('retention_ms')
    expect(Object.keys(components.schemas!)).not.toContain('Pipeline')
    expect(operationsIn(document, 'nothing')).toEqual({ error: 'there is no operation nothing' })
    expect(operationsIn(document, undefined)).toContainEqual(expect.stringContaining('createStream: POST '))
  })
})
