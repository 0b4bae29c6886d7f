/** A registry whose address has a user and a password, and one in which an operator has changed a subject's compatibility. */
import { expect, it } from 'vitest'
import { openRegistry } from '../../services/control-plane/registry/registry.ts'
import { openWebServer } from '../harness/web-server.ts'

it('gets them in a header, and no message has them', async () => {
  const seen: (string | undefined)[] = []
  const server = await openWebServer((request, response) => {
    seen.push(request.headers.authorization)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(request.url?.startsWith('/config') ? { compatibilityLevel: 'FULL' } : { id: 7 }))
  })
  const registry = openRegistry(`http://us%40er:p%3Aw@127.0.0.1:${server.port}`)
  await registry.ping()
  const text = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
  expect(await registry.register('s-value', 'avro', text, 'FULL')).toBe(7)
  const expected = `Basic ${Buffer.from('us@er:p:w').toString('base64')}`
  expect(new Set(seen)).toEqual(new Set([expected]))
  await server.close()
  const error: unknown = await registry.ping().catch((reason: unknown) => reason)
  expect(error).toBeInstanceOf(Error)
  const texts = JSON.stringify([String(error), String((error as Error).cause)])
  for (const secret of ['p%3Aw', 'p:w', expected.slice('Basic '.length)]) expect(texts).not.toContain(secret)
})

it('registers under the compatibility that a subject has, whichever the service would give it', async () => {
  const levels: string[] = []
  const server = await openWebServer((request, response) => {
    if (request.method === 'PUT') levels.push('set')
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(request.url?.startsWith('/config') ? { compatibilityLevel: 'NONE' } : { id: 7 }))
  })
  const registry = openRegistry(server.url)
  const text = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
  expect(await registry.register('s-value', 'avro', text, 'BACKWARD')).toBe(7)
  expect(levels).toEqual([])
  await server.close()
})
