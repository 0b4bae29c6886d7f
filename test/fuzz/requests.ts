/** Requests made from the service's own OpenAPI document: most are nearly valid, some have odd headers, types, paths or bodies. */
import { gzipSync } from 'node:zlib'
import type { Random } from '../chaos/random.ts'
import { meantBody, signatureOf } from './meaningful-bodies.ts'
import { anyId, oddValue, valueFor, type Make, type Names, type Schema } from './values.ts'

export type Document = {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> }
}
type Parameter = { $ref?: string; name: string; in: 'path' | 'query' | 'header'; required?: boolean; schema: Schema }
type Operation = {
  operationId: string
  parameters: Parameter[]
  requestBody?: { description?: string; content: Record<string, { schema: Schema }> }
}

export type FuzzRequest = {
  operationId: string
  method: string
  path: string
  headers: Record<string, string>
  body: string | Buffer | undefined
}

const ODD_HEADERS: readonly [string, string][] = [
  ['Content-Type', 'text/plain'],
  ['Content-Type', 'application/json; charset=utf-16'],
  ['Content-Type', 'application/x-ndjson'],
  ['Content-Encoding', 'gzip'],
  ['Content-Encoding', 'br'],
  ['Content-Encoding', 'identity, gzip'],
  ['Accept', 'text/html'],
  ['If-Match', '"x"'],
  ['If-Match', '*'],
  ['Idempotency-Key', 'same'],
  ['Idempotency-Key', 'x'.repeat(300)],
  ['Authorization', 'Bearer x.y.z'],
  ['Authorization', 'Basic Og=='],
  ['X-Forwarded-For', '1.2.3.4'],
  ['Expect', '100-continue'],
]

export function createRequests(document: Document, random: Random, names: Names): () => FuzzRequest {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const parameterOf = (given: Parameter): Parameter => (given.$ref ? document.components.parameters[given.$ref.split('/').at(-1)!]! : given)

  function bodyOf(operation: Operation, make: Make): { type: string; body: string | Buffer } | undefined {
    const { content: documented = {}, description = '' } = operation.requestBody ?? {}
    const content = Object.entries(documented)
    // The document names these in words.
    for (const type of ['application/x-ndjson', 'application/x-www-form-urlencoded'])
      if (description.includes(type)) content.push([type, { schema: content[0]?.[1].schema ?? {} }])
    if (content.length === 0) return random.next() < 0.05 ? { type: 'application/json', body: JSON.stringify(oddValue(random)) } : undefined
    const [type, { schema }] = random.pick(content)
    if (random.next() < 0.03) return { type, body: random.pick(['', '{', '[1,', '"', 'nul', '\ufeff{}', '{"a":1}{"b":2}']) }
    if (type === 'application/x-ndjson')
      return {
        type,
        body: Array.from({ length: random.between(0, 20) }, () =>
          JSON.stringify(random.next() < 0.7 ? { n: random.between(0, 9) } : oddValue(random)),
        ).join('\n'),
      }
    const value = (random.next() < 0.7 ? meantBody(operation.operationId, make) : undefined) ?? valueFor(schema, make)
    if (type === 'application/x-www-form-urlencoded')
      return {
        type,
        body: new URLSearchParams(
          Object.entries(value ?? {}).map(([name, each]) => [name, typeof each === 'string' ? each : JSON.stringify(each)]),
        ).toString(),
      }
    const text = JSON.stringify(value) ?? 'null'
    return { type, body: text }
  }

  /** Mostly the id of an existing resource: an `id` is of the kind that the path begins with, other parameters say what they are. */
  function idFor(pattern: string, method: string, name: string, text: string): string {
    const kind = pattern.endsWith('{dead_letter_id}') ? 'dead-letters' : pattern.split('/')[1]!
    const known = names.ids.get(name === 'id' ? kind : name) ?? []
    // What is deleted as often as it is made is never there for the others.
    if (random.next() < (method === 'DELETE' ? 0.2 : 0.8) && known.length > 0) return random.pick(known)
    return random.next() < 0.5 ? anyId(random, names) : text.slice(0, 300)
  }

  return () => {
    const { path: pattern, method, operation } = random.pick(operations)
    const make: Make = { random, components: document.components.schemas, names, oddness: random.next() < 0.4 ? 0 : 0.05 }
    const headers: Record<string, string> = {}
    const query = new URLSearchParams()
    let path = pattern
    for (const parameter of operation.parameters.map(parameterOf)) {
      const value = valueFor(parameter.schema, { ...make, oddness: make.oddness * 2 })
      const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
      if (parameter.in === 'path')
        path = path.replace(`{${parameter.name}}`, encodeURIComponent(idFor(pattern, method, parameter.name, text).toWellFormed()) || 'x')
      else if (parameter.in === 'query' && (parameter.required || random.next() < 0.3))
        query.append(parameter.name, text.slice(0, 2000).toWellFormed())
      else if (parameter.in === 'header' && random.next() < 0.2)
        headers[parameter.name] = text.replaceAll(/[^\x21-\x7e]/g, '?').slice(0, 300)
    }
    if (random.next() < 0.02) query.append('limit', '5')
    const made = bodyOf(operation, make)
    let body = made?.body
    if (made) headers['Content-Type'] = made.type
    if (operation.operationId === 'ingest' && typeof body === 'string' && random.next() < 0.9)
      headers['X-Signature-256'] = signatureOf(body)
    if (random.next() < 0.06) {
      const [name, value] = random.pick(ODD_HEADERS)
      headers[name] = value
      if (name === 'Content-Encoding' && value === 'gzip' && body && random.next() < 0.7) body = gzipSync(body)
    }
    const search = query.size > 0 ? `?${query}` : ''
    const isOddMethod = random.next() < 0.005
    return {
      operationId: operation.operationId,
      method: isOddMethod ? 'PUT' : method,
      path: `${random.pick(['/v1', '/api/v1'])}${path}${search}`,
      headers,
      body: method === 'GET' ? undefined : body,
    }
  }
}
