/** Schemas of streams on the control plane's main thread: compiled once, small, and for writes alone. */
import { text } from 'node:stream/consumers'
import Ajv from 'ajv'
import addFormats from 'ajv-formats'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fieldsOf } from '../../services/control-plane/registry/fields.ts'
import { openJsonSchema } from '../../services/control-plane/registry/json-schema.ts'
import { openRegistry } from '../../services/control-plane/registry/registry.ts'
import { createRecordValidator } from '../../services/control-plane/stream-data/validate-records.ts'
import { jsonSchemaOf } from '../../shared/model/stream-schema.ts'
import { bestOf, timeOf, timesOf } from '../harness/times-of.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { laterWhenFree, refusalWhenFree, whenFree } from '../harness/when-free.ts'
import { openWebServer, type WebServer } from '../harness/web-server.ts'

const DEEP = `${'array<'.repeat(8)}integer${'>'.repeat(8)}?`
const FIELDS = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`field${index}`, DEEP]))

let asked: { method: string | undefined; path: string | undefined; body: string }[] = []
let server: WebServer
beforeAll(async () => {
  server = await openWebServer(async (request, response) => {
    const body = await text(request)
    asked.push({ method: request.method, path: request.url, body })
    const isRefused = body.includes('refuse me')
    response.statusCode = request.method === 'GET' ? 404 : isRefused ? 409 : 200
    response.end(JSON.stringify(isRefused ? { error_code: 409, message: 'it is not compatible' } : { id: 7 }))
  })
})
afterAll(() => server.close())

it('a schema of a thousand deep fields is registered without being compiled', async () => {
  const registry = openRegistry(server.url)
  const text = JSON.stringify(jsonSchemaOf('deep', FIELDS))
  const milliseconds = await bestOf(async () => {
    asked = []
    expect(await registry.register('s-value', 'json', text, 'BACKWARD')).toBe(7)
  })
  expect(milliseconds).toBeLessThan(limitMs(400))
  expect(asked.map(({ method, path }) => [method, path])).toEqual([
    ['GET', '/config/s-value'],
    ['POST', '/subjects/s-value/versions'],
    ['PUT', '/config/s-value'],
  ])
  expect(JSON.parse(asked[1]!.body)).toEqual({ schemaType: 'JSON', schema: text })
})

it('a refusal says what the registry said', async () => {
  const text = JSON.stringify({ title: 'refuse me' })
  const schema = { text, references: [] }
  const registry = openRegistry(server.url)
  await expect(registry.register('r-value', 'json', text, 'BACKWARD')).rejects.toThrow(/^it is not compatible$/)
  await expect(registry.registerAsIs('r-value', 'json', schema, 'BACKWARD')).rejects.toThrow(/^it is not compatible$/)
})

const AS_IN_THE_SERVICE = { strict: false, strictNumbers: true, allErrors: true, ownProperties: true } as const

/** What compiling each field's type for itself takes, some twenty times as long, on this machine. */
function plainMs(): number {
  return timeOf(() => addFormats.default(new Ajv.Ajv(AS_IN_THE_SERVICE)).compile(jsonSchemaOf('deep', FIELDS)))
}

it('a validator of a thousand deep fields is made and used in a moment', async () => {
  const stream = { id: 'st_1', account_id: 'acc_1', name: 'deep', format: 'json' as const, schema: FIELDS, schema_text: null }
  let id = 0
  const milliseconds = await bestOf(() => createRecordValidator(Date.now)({ ...stream, schema_id: ++id }, [{}]))
  expect(milliseconds).toBeLessThan(plainMs() / 3)
})

it('nor does a schema of the account’s own that it names by its id take longer', async () => {
  const schema = jsonSchemaOf('deep', FIELDS)
  let round = 0
  const read = () => {
    // What is compiled is remembered by its text.
    const text = JSON.stringify({ ...schema, title: String(++round) })
    expect(whenFree(() => fieldsOf('json', { text, references: [] }))).toEqual(FIELDS)
  }
  expect(await bestOf(read)).toBeLessThan(plainMs() / 3)
})

const scalar = fc.constantFrom('string', 'integer', 'number', 'boolean', 'datetime', 'date', 'uuid', 'decimal', 'bytes', 'object', 'any')
const type = fc
  .tuple(scalar, fc.nat({ max: 3 }), fc.boolean())
  .map(([name, depth, isOptional]) => `${'array<'.repeat(depth)}${name}${'>'.repeat(depth)}${isOptional ? '?' : ''}`)
const value = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom('2026-11-24', '2026-11-24T10:00:00Z', '1.50', 'YWI=', 2 ** 60))

it('types that are referred to refuse what the registered schema refuses, in the same words', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom('a', 'b', 'c'), type),
      fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), value),
      (fields, record) => {
        const schema = jsonSchemaOf('s', fields)
        const plain = addFormats.default(new Ajv.Ajv(AS_IN_THE_SERVICE)).compile(schema)
        const shared = openJsonSchema({ text: JSON.stringify(schema), references: [] }, 'all')
        expect(shared(record)).toBe(plain(record))
        const said = (validate: typeof plain) => (validate.errors ?? []).map(({ instancePath, message }) => [instancePath, message])
        expect(said(shared)).toEqual(said(plain))
      },
    ),
    { numRuns: 150 },
  )
})

describe('a record of many faults', () => {
  const FAULTS = 340_000
  it.each([
    ['an array', 'array<integer>', Array.from({ length: FAULTS }, () => '')],
    ['an array of arrays', 'array<array<integer>>', Array.from({ length: 1000 }, () => Array.from({ length: FAULTS / 1000 }, () => ''))],
    ['numbers that lose digits', 'array<any>', Array.from({ length: FAULTS }, () => 1e99)],
  ])('is refused in a moment, and names some of them: %s', async (_name, type, a) => {
    const stream = {
      id: 'st_1',
      account_id: 'acc_1',
      schema_id: 1,
      name: 'faulty',
      format: 'json' as const,
      schema: { a: type },
      schema_text: null,
    }
    const validate = createRecordValidator(Date.now)
    const milliseconds = await bestOf(async () => {
      const refused = await validate(stream, [{ a }]).catch((error: unknown) => error)
      expect(refused).toMatchObject({ status: 400 })
      expect((refused as { details: { path: string }[] }).details[0]!.path).toMatch(/^\/records\/0\/a\/0/)
    })
    expect(milliseconds).toBeLessThan(limitMs(1000))
  })

  it('names all of them where they are few', async () => {
    const stream = {
      id: 'st_1',
      account_id: 'acc_1',
      schema_id: 1,
      name: 'few',
      format: 'json' as const,
      schema: { a: 'integer', b: 'string' },
      schema_text: null,
    }
    const refused = await createRecordValidator(Date.now)(stream, [
      { a: 1, b: '' },
      { a: '', b: 1, c: 2 },
    ]).catch((error: unknown) => error)
    expect((refused as { details: { path: string }[] }).details.map(({ path }) => path).toSorted()).toEqual([
      '/records/1/a',
      '/records/1/b',
      '/records/1/c',
    ])
  })
})

describe('a record of many numbers in a field of any type', () => {
  const stream = {
    id: 'st_1',
    account_id: 'acc_1',
    schema_id: 1,
    name: 'open',
    format: 'json' as const,
    schema: { a: 'any' },
    schema_text: null,
  }
  it.each([
    ['in an array', Array.from({ length: 500_000 }, () => 1)],
    ['in arrays of their own', Array.from({ length: 250_000 }, () => [1])],
  ])('is looked through in a moment: %s', async (_name, a) => {
    const validate = createRecordValidator(Date.now)
    expect(await bestOf(() => validate(stream, [{ a }]))).toBeLessThan(limitMs(100))
  })

  it('names the place of each that loses digits', async () => {
    const a = { 'b/c': [1, { d: [[2 ** 60]] }], e: 2 ** 60, f: 'text' }
    const refused = await createRecordValidator(Date.now)(stream, [{ a: 1 }, { a }]).catch((error: unknown) => error)
    const paths = (refused as { details: { path: string }[] }).details.map(({ path }) => path)
    expect(paths).toEqual(['/records/1/a/b~1c/1/d/0/0', '/records/1/a/e'])
  })
})

describe('a schema from the registry that takes for ever', () => {
  let streams = 0
  const adopted = (schema: object, account_id: string) => ({
    id: `st_${++streams}`,
    account_id,
    name: 'adopted',
    format: 'json' as const,
    schema: { a: 'any' },
    schema_text: { text: JSON.stringify(schema), references: [] },
    schema_id: 1,
  })
  const doubling = (levels: number, keyword: string) =>
    Object.fromEntries(
      Array.from({ length: levels }, (_, at) => {
        const next = { $ref: `#/definitions/d${at + 1}` }
        return [`d${at}`, at === levels - 1 ? { type: 'string' } : { [keyword]: [next, next] }]
      }),
    )
  const BOMBS = {
    'a backtracking pattern': [{ properties: { a: { pattern: '^(a+)+$' } } }, { a: `${'a'.repeat(60)}b` }],
    'alternatives that double': [{ definitions: doubling(60, 'anyOf'), properties: { a: { $ref: '#/definitions/d0' } } }, { a: 1 }],
    'unique items of a long array': [
      { properties: { a: { uniqueItems: true } } },
      { a: Array.from({ length: 100_000 }, (_, each) => ({ each })) },
    ],
  } as const

  it.each(Object.entries(BOMBS))('is ended, and its account waits: %s', async (_name, [schema, record]) => {
    let at = 1_000_000
    const validate = createRecordValidator(() => at)
    const from = performance.now()
    // The time that the account has for it is over meanwhile, so that it may ask again.
    const refused = await refusalWhenFree(
      () => validate(adopted(schema, 'acc_1'), [{ a: 'a' }, record]),
      () => (at += 31_000),
    )
    expect(refused).toMatchObject({
      status: 400,
      message: expect.stringContaining('/records: take too long to check'),
    })
    expect(performance.now() - from).toBeLessThan(limitMs(15_000))
    await expect(validate(adopted(schema, 'acc_1'), [{ a: 'a' }])).rejects.toMatchObject({ code: 'rate_limit_exceeded', status: 429 })
    const text = { properties: { a: { type: 'string' } } }
    await laterWhenFree(() => validate(adopted(text, 'acc_2'), [{ a: 'b' }]))
    await validate({ ...adopted({}, 'acc_1'), schema_text: null }, [{ a: 'b' }])
    at += 31_000
    await laterWhenFree(() => validate(adopted(text, 'acc_1'), [{ a: 'b' }]))
  })

  it('is ended when each record is quick enough, and all are not; others have their turns meanwhile', async () => {
    // Some 20 ms each.
    const records = Array.from({ length: 1000 }, () => ({ a: `${'a'.repeat(22)}b` }))
    // It matches, after all.
    const slow = adopted({ properties: { a: { pattern: '^(a+)+$|b$' } } }, 'acc_3')
    let refused: unknown
    let at = 1_000_000
    const validate = createRecordValidator(() => at)
    const { held } = await timesOf(async () => {
      refused = await refusalWhenFree(
        () => validate(slow, records),
        () => (at += 31_000),
      )
    })
    expect(refused).toMatchObject({ message: expect.stringContaining('take too long to check') })
    expect(held).toBeLessThan(limitMs(2000))
  })

  it('is refused when compiling it does, once', async () => {
    // Short to read, endless to compile: each reference stands for all the fields.
    const fields = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`f${at}`, { type: 'string', pattern: `^${at}` }]))
    const definitions = { fields: { properties: fields } }
    const properties = Object.fromEntries(
      Array.from({ length: 3000 }, (_, at) => [`p${at}`, { anyOf: [{ $ref: '#/definitions/fields' }] }]),
    )
    const schema = { text: JSON.stringify({ definitions, properties }), references: [] }
    const from = performance.now()
    const refuse = () => expect(() => whenFree(() => fieldsOf('json', schema))).toThrow('takes more than 2000 ms')
    refuse()
    const first = performance.now() - from
    expect((await bestOf(refuse)) / first).toBeLessThan(0.1)
  })
})
