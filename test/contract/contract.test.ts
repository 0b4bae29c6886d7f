/** The seven endpoints exactly as the API specification shows them, under both prefixes; the error envelope; rate limits. */
import { beforeAll, describe, expect, it } from 'vitest'
import jwt from 'jsonwebtoken'
import { anonymous, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { createStream, moduleId } from '../harness/pipelines.ts'
import { CONNECTORS } from '../../shared/connectors/catalogue.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
})

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const keysOf = (value: unknown): string[] => Object.keys(value as object).sort()

describe.each(['/api/v1', '/v1'])('under %s', (prefix) => {
  it('POST /auth/token answers 200 with a bearer token for 3600 seconds', async () => {
    const { api_key, api_secret } = service().accounts.enterprise
    const { status, body } = await anonymous().call('POST', `${prefix}/auth/token`, { api_key, api_secret })
    expect(status).toBe(200)
    expect(body).toEqual({ access_token: expect.any(String), token_type: 'Bearer', expires_in: 3600 })
  })

  it('GET /smartmodules answers 200 with a page that lists the built-ins', async () => {
    const { status, body } = await client.call<{ modules: object[] }>('GET', `${prefix}/smartmodules`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ page: 1, page_size: 10 })
    for (const item of body.modules) expect(keysOf(item)).toEqual(['created_at', 'description', 'id', 'name', 'version'])
    expect(body.modules.map((item) => (item as { name: string }).name)).toEqual(
      expect.arrayContaining(['dps/filter', 'dps/map-fields', 'dps/text-classifier']),
    )
  })

  it('POST /smartmodules answers 201 with version 1.0.0, and with the next version for the same name', async () => {
    const binary = Buffer.from(
      await compileSmartModule(`import { Record } from 'dps'\nexport function filter(record: Record): bool { return true }`),
    ).toString('base64')
    const name = unique('module')
    const request = { name, wasm_binary: binary, config: { input_format: 'json', output_format: 'json' } }
    const first = await client.call<{ id: string }>('POST', `${prefix}/smartmodules`, request)
    expect(first.status).toBe(201)
    expect(first.body).toEqual({ id: expect.stringMatching(/^sm_/), name, status: 'deployed', version: '1.0.0' })
    expect(first.headers.get('location')).toBe(`${prefix}/smartmodules/${first.body.id}`)
    expect((await client.call('POST', `${prefix}/smartmodules`, request)).body).toMatchObject({ id: first.body.id, version: '1.0.1' })
  })

  it('GET /connectors answers 200 with a page of the connectors', async () => {
    const { status, body } = await client.call<{ connectors: object[] }>('GET', `${prefix}/connectors`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ total: CONNECTORS.length, page: 1, page_size: 10 })
    expect(body.connectors[0]).toMatchObject({
      id: 'conn_stream',
      name: 'stream',
      version: '1.0.0',
      kind: 'both',
      created_at: expect.stringMatching(TIMESTAMP),
    })
  })

  it('POST /streams answers 201 with an active stream', async () => {
    const name = unique('stream')
    const { status, body, headers } = await client.call<{ id: string }>('POST', `${prefix}/streams`, {
      name,
      description: 'reviews',
      schema: { id: 'string', text: 'string', created_at: 'datetime' },
    })
    expect(status).toBe(201)
    expect(body).toEqual({ id: expect.stringMatching(/^st_/), name, status: 'active', created_at: expect.stringMatching(TIMESTAMP) })
    expect(headers.get('location')).toBe(`${prefix}/streams/${body.id}`)
  })

  it('POST /pipelines answers 201 with a created pipeline', async () => {
    const [source, sink] = [await createStream(client, { text: 'string' }), await createStream(client, { text: 'string', label: 'string' })]
    const name = unique('pipeline')
    const { status, body } = await client.call<{ pipeline_id: string }>('POST', `${prefix}/pipelines`, {
      name,
      description: 'classify',
      source: { connector_id: 'conn_stream', config: { stream_id: source.id } },
      processors: [{ module_id: await moduleId(client, 'dps/text-classifier'), config: { field: 'text', output_field: 'label' } }],
      sink: { connector_id: 'conn_stream', config: { stream_id: sink.id } },
    })
    expect(status).toBe(201)
    expect(body).toEqual({
      pipeline_id: expect.stringMatching(/^pl_/),
      name,
      status: 'created',
      created_at: expect.stringMatching(TIMESTAMP),
    })
    expect((await client.call('DELETE', `${prefix}/pipelines/${body.pipeline_id}`)).status).toBeOneOf([202, 204])
  })

  it('GET /streams/{id}/data answers 200 with a page, and with next_cursor once there are records', async () => {
    const stream = await createStream(client, { n: 'integer' })
    expect((await client.call('GET', `${prefix}/streams/${stream.id}/data?limit=100`)).body).toEqual({
      data: [],
      pagination: { total: 0, page: 1, limit: 100 },
    })
    await client.call('POST', `${prefix}/streams/${stream.id}/data`, { records: [{ n: 1 }, { n: 2 }, { n: 3 }] })
    const { status, body } = await client.call('GET', `${prefix}/streams/${stream.id}/data?limit=100`)
    expect(status).toBe(200)
    // The contract's three members, and the cursor for records that come later.
    expect(body).toEqual({
      data: [{ n: 1 }, { n: 2 }, { n: 3 }],
      pagination: { total: 3, page: 1, limit: 100, next_cursor: expect.any(String) },
    })
  })
})

describe('authentication', () => {
  it.each([
    ['no header', {}],
    ['another scheme', { Authorization: 'Basic abc' }],
    ['garbage', { Authorization: 'Bearer abc' }],
    [
      'a token signed with another key',
      { Authorization: `Bearer ${jwt.sign({ acc: 'acc_x' }, 'x'.repeat(32), { subject: 'key_x', keyid: 'local', expiresIn: 60 })}` },
    ],
    ['alg none', { Authorization: `Bearer ${jwt.sign({ acc: 'acc_x' }, '', { subject: 'key_x', keyid: 'local', algorithm: 'none' })}` }],
  ])('answers 401 invalid_credentials for %s', async (_name, headers) => {
    const { status, body } = await anonymous().call('GET', '/api/v1/connectors', undefined, headers as Record<string, string>)
    expect(status).toBe(401)
    expect(body.error).toMatchObject({ code: 'invalid_credentials', status: 401, message: expect.any(String) })
  })

  it('answers 401 for an expired token', async () => {
    const [kid, secret] = service().env.JWT_KEYS!.split(':') as [string, string]
    const { api_key, account_id } = service().accounts.enterprise
    const token = jwt.sign({ acc: account_id }, secret, {
      algorithm: 'HS256',
      keyid: kid,
      subject: api_key,
      issuer: 'data-pipeline-service',
      audience: 'data-pipeline-service-api',
      expiresIn: -1,
    })
    expect((await anonymous(token).call('GET', '/v1/connectors')).status).toBe(401)
  })

  it('answers 401 for a wrong api_secret, and 400 naming it when it is missing', async () => {
    expect(
      (await anonymous().call('POST', '/v1/auth/token', { api_key: service().accounts.enterprise.api_key, api_secret: 'no' })).status,
    ).toBe(401)
    const { status, body } = await anonymous().call('POST', '/v1/auth/token', { api_key: 'x' })
    expect(status).toBe(400)
    expect(body.error?.details).toEqual([{ path: '/api_secret', message: 'is required' }])
  })

  it('accepts OAuth 2 client credentials, in a form body or as HTTP Basic', async () => {
    const { api_key, api_secret } = service().accounts.enterprise
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' }
    const inBody = await anonymous().call(
      'POST',
      '/v1/auth/token',
      new URLSearchParams({ grant_type: 'client_credentials', client_id: api_key, client_secret: api_secret }).toString(),
      form,
    )
    expect(inBody.status).toBe(200)
    const basic = await anonymous().call('POST', '/v1/auth/token', 'grant_type=client_credentials', {
      ...form,
      Authorization: `Basic ${Buffer.from(`${api_key}:${api_secret}`).toString('base64')}`,
    })
    expect(basic.status).toBe(200)
  })

  it('answers 403 when a read-only key writes, and 404 for a stream of another account', async () => {
    const readOnly = await loggedIn(service().accounts.enterprise.read_only!)
    expect((await readOnly.call('GET', '/v1/streams')).status).toBe(200)
    expect((await readOnly.call('POST', '/v1/streams', { name: 'x', schema: { a: 'string' } })).body.error).toMatchObject({
      code: 'forbidden',
      status: 403,
    })
    const stream = await createStream(client, { a: 'string' })
    const other = await loggedIn(service().accounts.other)
    for (const [method, path] of [
      ['GET', `/v1/streams/${stream.id}`],
      ['GET', `/v1/streams/${stream.id}/data`],
      ['DELETE', `/v1/streams/${stream.id}`],
    ] as const) {
      expect((await other.call(method, path)).body.error).toMatchObject({ code: 'not_found', status: 404 })
    }
  })

  it('rejects the tokens of a revoked key within 2.5 s', async () => {
    const made = await client.call<{ id: string; api_key: string; api_secret: string }>('POST', '/v1/keys', {
      name: unique('key'),
      scopes: ['streams:read'],
    })
    expect(made.status).toBe(201)
    const own = await loggedIn(made.body)
    expect((await own.call('GET', '/v1/streams')).status).toBe(200)
    expect((await client.call('DELETE', `/v1/keys/${made.body.id}`)).status).toBe(204)
    await new Promise((resolve) => setTimeout(resolve, 2500))
    expect((await own.call('GET', '/v1/streams')).status).toBe(401)
  })
})

describe('rate limits', () => {
  it('are shown in the headers of authenticated answers, by account type', async () => {
    for (const [account, limit] of [
      ['professional', 300],
      ['enterprise', 1000],
    ] as const) {
      const { headers } = await (
        await loggedIn(service().accounts[account])
      )
        .call('GET', '/v1/nope')
        .then(async () => (await loggedIn(service().accounts[account])).call('GET', '/v1/connectors/none'))
      expect(headers.get('x-ratelimit-limit')).toBe(String(limit))
      expect(headers.get('x-ratelimit-remaining')).toMatch(/^\d+$/)
      expect(Number(headers.get('x-ratelimit-remaining'))).toBeLessThan(limit)
      expect(headers.get('ratelimit-policy')).toBe(`"default";q=${limit};w=60`)
      expect(headers.get('ratelimit')).toMatch(/^"default";r=\d+;t=\d+$/)
      expect(Number(headers.get('x-ratelimit-reset'))).toBeGreaterThan(0)
      expect(Number(headers.get('x-ratelimit-reset'))).toBeLessThanOrEqual(60)
    }
  })

  it('answer 429 with Retry-After to the 61st request of a developer account', async () => {
    const developer = await loggedIn(service().accounts.developer)
    const statuses = []
    for (let i = 0; i < 60; i++) statuses.push((await developer.call('GET', '/v1/connectors')).status)
    expect(statuses.every((status) => status === 200)).toBe(true)
    const { status, body, headers } = await developer.call('GET', '/v1/connectors')
    expect(status).toBe(429)
    expect(body.error).toMatchObject({ code: 'rate_limit_exceeded', status: 429 })
    expect(headers.get('x-ratelimit-remaining')).toBe('0')
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  })
})

describe('validation', () => {
  it.each([
    ['an unknown path', 'GET', '/v1/nope', undefined, 404, 'not_found'],
    ['a wrong method', 'PUT', '/v1/streams', undefined, 405, 'invalid_request'],
    ['malformed JSON', 'POST', '/v1/streams', '{', 400, 'invalid_request'],
    ['no body', 'POST', '/v1/streams', undefined, 400, 'invalid_request'],
    ['an unknown id', 'GET', '/v1/pipelines/pl_x', undefined, 404, 'not_found'],
    ['an id of the wrong form', 'GET', '/v1/streams/%00%F0%9F%92%A9', undefined, 404, 'not_found'],
    ['page_size=0', 'GET', '/v1/streams?page_size=0', undefined, 400, 'invalid_request'],
    ['page_size=1e2', 'GET', '/v1/streams?page_size=1e2', undefined, 400, 'invalid_request'],
    ['a parameter twice', 'GET', '/v1/streams?page=1&page=2', undefined, 400, 'invalid_request'],
  ])('answers %s with status and code in the error envelope', async (_name, method, path, body, status, code) => {
    const answer = await client.call(method, path, body)
    expect(answer.status).toBe(status)
    expect(answer.body.error).toMatchObject({ code, status, message: expect.any(String), request_id: answer.headers.get('x-request-id') })
  })

  it('names every fault of a new stream at once, and creates nothing', async () => {
    const name = unique('stream')
    const { status, body } = await client.call('POST', '/v1/streams', {
      name,
      schema: { 'bad name': 'string', a: 'text', b: 7 },
      partitions: 100,
      unknown: 1,
    })
    expect(status).toBe(400)
    expect(body.error?.details?.map(({ path }) => path).sort()).toEqual([
      '/partitions',
      '/schema/a',
      '/schema/b',
      '/schema/bad name',
      '/unknown',
    ])
    expect((await client.call('GET', `/v1/streams?name=${name}`)).body).toMatchObject({ total: 0 })
  })

  it('names index and field of every invalid record, and writes none of the request', async () => {
    const stream = await createStream(client, { id: 'integer', at: 'datetime', tags: 'array<string>?' })
    const good = { id: 1, at: '2026-11-21T00:00:00Z' }
    const { status, body } = await client.call('POST', `/v1/streams/${stream.id}/data`, {
      records: [good, { id: '1', at: 'yesterday' }, { ...good, extra: 1, tags: [1] }],
    })
    expect(status).toBe(400)
    expect(body.error?.details?.map(({ path }) => path).sort()).toEqual([
      '/records/1/at',
      '/records/1/id',
      '/records/2/extra',
      '/records/2/tags/0',
    ])
    expect((await client.call('GET', `/v1/streams/${stream.id}/data`)).body.pagination).toMatchObject({ total: 0 })
  })

  it.each([
    ['invalid base64', '@@@', 'base64'],
    ['base64 of another alphabet', 'AGFzbQEAAAA_', 'base64'],
    ['base64 with a padding in it', 'AGFzbQE=AAAA', 'base64'],
    ['base64 with bits left over', 'AGFzbQEAAAB=', 'base64'],
    ['a binary that is not WebAssembly', Buffer.from('hello world').toString('base64'), 'not WebAssembly'],
    ['no known export', Buffer.from('0061736d010000000503010001', 'hex').toString('base64'), 'exports neither'],
    ['a forbidden import', Buffer.from('0061736d0100000001040160000002090103656e76016600000503010001', 'hex').toString('base64'), 'env.f'],
    ['shared memory', Buffer.from('0061736d01000000050401030101', 'hex').toString('base64'), 'shared memory'],
    ['more memory than allowed', Buffer.from('0061736d01000000050401008110', 'hex').toString('base64'), 'memory pages'],
  ])('refuses a SmartModule with %s, naming the reason', async (_name, wasm_binary, text) => {
    const { status, body } = await client.call('POST', '/v1/smartmodules', {
      name: unique('module'),
      wasm_binary,
      config: { input_format: 'json', output_format: 'json' },
    })
    expect(status).toBe(400)
    expect(body.error?.details).toMatchObject([{ path: '/wasm_binary', message: expect.stringContaining(text) }])
  })

  it('names every wrong reference and config of a new pipeline at once', async () => {
    const { status, body } = await client.call('POST', '/v1/pipelines', {
      name: unique('pipeline'),
      source: { connector_id: 'conn_nope', config: {} },
      processors: [
        { module_id: 'sm_nope', config: {} },
        { module_id: await moduleId(client, 'dps/filter'), config: { field: 'a', operator: 'like' } },
      ],
      sink: { connector_id: 'conn_stream', config: { stream_id: 'st_nope' } },
    })
    expect(status).toBe(400)
    expect(body.error?.details?.map(({ path }) => path).sort()).toEqual([
      '/processors/0/module_id',
      '/processors/1/config/operator',
      '/sink/config/stream_id',
      '/source/connector_id',
    ])
  })

  it('answers 409 when the name of a new stream is taken', async () => {
    const stream = await createStream(client, { a: 'string' })
    const { body } = await client.call<{ name: string }>('GET', `/v1/streams/${stream.id}`)
    expect((await client.call('POST', '/v1/streams', { name: body.name, schema: { a: 'string' } })).body.error).toMatchObject({
      code: 'conflict',
      status: 409,
    })
  })
})

describe('conventions', () => {
  it('repeats the first answer for the same Idempotency-Key, and answers 409 for another body', async () => {
    const key = unique('key')
    const request = { name: unique('stream'), schema: { a: 'string' } }
    const first = await client.call('POST', '/v1/streams', request, { 'Idempotency-Key': key })
    const second = await client.call('POST', '/v1/streams', request, { 'Idempotency-Key': key })
    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.body).toEqual(first.body)
    expect((await client.call('POST', '/v1/streams', { ...request, name: unique('other') }, { 'Idempotency-Key': key })).status).toBe(409)
  })

  it('pages lists by number and by cursor without gaps or repeats', async () => {
    const made = []
    for (let i = 0; i < 5; i++) made.push((await createStream(client, { a: 'string' })).id)
    const ids: string[] = []
    for (let cursor = ''; ;) {
      const { body } = await client.call<{ streams: { id: string }[]; next_cursor?: string }>('GET', `/v1/streams?page_size=2${cursor}`)
      ids.push(...body.streams.map(({ id }) => id))
      if (body.next_cursor === undefined) break
      cursor = `&cursor=${body.next_cursor}`
    }
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toEqual(expect.arrayContaining(made))
    const second = await client.call<{ streams: { id: string }[] }>('GET', '/v1/streams?page=2&page_size=2')
    expect(second.body.streams.map(({ id }) => id)).toEqual(ids.slice(2, 4))
  })

  it('serves an OpenAPI 3.1 document that lists the operations, without a token', async () => {
    const { status, body } = await anonymous().call<{ paths: Record<string, object> }>('GET', '/openapi.json')
    expect(status).toBe(200)
    expect(body).toMatchObject({ openapi: '3.1.0' })
    expect(Object.keys(body.paths)).toEqual(
      expect.arrayContaining(['/auth/token', '/smartmodules', '/connectors', '/pipelines', '/streams', '/streams/{id}/data']),
    )
  })
})
