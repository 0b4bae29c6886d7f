/** The TypeScript client's transport against a server that refuses, fails, and is away: what is sent again, and what is not. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { limitMs } from '../harness/machine-speed.ts'
import { openWebServer, type WebServer } from '../harness/web-server.ts'
import { ApiError, ConnectionError, createClient, WriteError, writeJson, type ClientOptions } from '../../clients/typescript/src/index.ts'

type Answer = { status: number; body?: string; headers?: Record<string, string> } | 'reset'
const open: WebServer[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.close()
})

/** A service whose token is `token-N`; `answers` are given one after the other, the last one again and again. */
async function serve(answers: (Answer | ((request: IncomingMessage) => Answer))[], more: Partial<ClientOptions> = {}) {
  const seen: { method: string; url: string; key: string | undefined; authorization: string | undefined; body: string }[] = []
  let tokens = 0
  async function onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request)
    if (request.url === '/v1/auth/token') {
      tokens++
      return void response.end(JSON.stringify({ access_token: `token-${tokens}`, token_type: 'Bearer', expires_in: 3600 }))
    }
    const { authorization, 'idempotency-key': key } = request.headers
    seen.push({ method: request.method!, url: request.url!, key: key as string | undefined, authorization, body })
    const next = answers.length > 1 ? answers.shift()! : answers[0]!
    const answer = typeof next === 'function' ? next(request) : next
    if (answer === 'reset') return void request.socket.destroy()
    response.writeHead(answer.status, answer.headers)
    response.end(answer.body ?? '{}')
  }
  const server = await openWebServer(onRequest)
  open.push(server)
  const client = createClient({ url: server.url, apiKey: 'k', apiSecret: 's', timeoutMs: 60_000, ...more })
  return { client, seen, tokens: () => tokens }
}

const refusal = (status: number, code: string, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { 'x-request-id': 'req_1', ...headers },
  body: JSON.stringify({ error: { code, message: 'no', status, details: [{ path: '/name', message: 'is taken' }] } }),
})

describe('the TypeScript client', () => {
  it('fetches one token for all callers, and another one when it is refused', async () => {
    const { client, seen, tokens } = await serve([
      ({ headers }) => (headers.authorization === 'Bearer token-1' ? refusal(401, 'invalid_token') : { status: 200 }),
    ])
    await Promise.all(Array.from({ length: 20 }, () => client.account.get()))
    expect(tokens()).toBe(2)
    expect(seen.at(-1)!.authorization).toBe('Bearer token-2')
  })

  it('waits as long as the service asks when it is refused for its rate, whatever the request', async () => {
    const { client, seen } = await serve([refusal(429, 'rate_limit_exceeded', { 'retry-after': '1' }), { status: 200 }])
    const from = performance.now()
    await client.pipelines.start('pl_1')
    expect(performance.now() - from).toBeGreaterThan(950)
    expect(seen.map(({ method }) => method)).toEqual(['POST', 'POST'])
  })

  it('sends reads again after a reset and a 503, and writes only with the key of the first attempt', async () => {
    const read = await serve(['reset', { status: 503 }, { status: 200, body: '{"id":"st_1"}' }])
    expect(await read.client.streams.get('st_1')).toEqual({ id: 'st_1' })
    const write = await serve(['reset', { status: 503 }, { status: 201, body: '{"records":1,"partitions":[]}' }])
    expect(await write.client.streams.write('st_1', [{ n: 1 }])).toEqual({ records: 1, requests: 1 })
    const keys = write.seen.map(({ key }) => key)
    expect(keys).toEqual([keys[0], keys[0], keys[0]])
    expect(keys[0]).toMatch(/^[\da-f-]{36}$/)
  })

  it('asks again with the same key while the service still works on the first attempt', async () => {
    const { client, seen } = await serve([
      'reset',
      refusal(409, 'conflict', { 'retry-after': '0' }),
      { status: 201, body: '{"id":"st_1"}' },
    ])
    expect(await client.streams.create({ name: 'a', schema: {} })).toEqual({ id: 'st_1' })
    expect(new Set(seen.map(({ key }) => key)).size).toBe(1)
  })

  it('goes on waiting for its own attempt, however often it is still in progress, but not for ever', async () => {
    const isBusy = refusal(409, 'conflict', { 'retry-after': '0' })
    const slow = await serve(['reset', ...Array.from({ length: 20 }, () => isBusy), { status: 201, body: '{"id":"st_1"}' }])
    expect(await slow.client.streams.create({ name: 'a', schema: {} })).toEqual({ id: 'st_1' })
    expect(slow.seen).toHaveLength(22)
    vi.useFakeTimers({ toFake: ['Date'] })
    try {
      const passes = () => (vi.setSystemTime(Date.now() + 30_000), isBusy)
      const lost = await serve(['reset', passes])
      // What is not known is whether it was done, which is no conflict.
      await expect(lost.client.streams.create({ name: 'a', schema: {} })).rejects.toThrow(ConnectionError)
      expect(lost.seen).toHaveLength(6)
      const others = await serve([passes])
      await expect(others.client.streams.create({ name: 'a', schema: {} })).rejects.toMatchObject({ code: 'conflict' })
    } finally {
      vi.useRealTimers()
    }
  })

  it('sends no key where the answer holds a secret, and none where the operation knows no keys', async () => {
    const { client, seen } = await serve([{ status: 201 }])
    await client.keys.create({ name: 'k', scopes: [] })
    await client.pipelines.restart('pl_1', { idempotencyKey: 'mine' })
    expect(seen.map(({ key }) => key)).toEqual([undefined, undefined])
  })

  it('refuses ids that would name something else', () => {
    const client = createClient({ url: 'http://127.0.0.1:1', apiKey: 'k', apiSecret: 's' })
    for (const id of ['', '.', '..']) expect(() => client.streams.get(id)).toThrow(TypeError)
  })

  it('does not send again what may have been done', async () => {
    const { client, seen } = await serve(['reset'])
    await expect(client.pipelines.start('pl_1')).rejects.toThrow(ConnectionError)
    await expect(client.pipelines.update('pl_1', { description: 'x' })).rejects.toThrow(ConnectionError)
    expect(seen).toHaveLength(2)
  })

  it('sends again what only reads, though it is a POST', async () => {
    const { client, seen } = await serve(['reset', { status: 503 }, { status: 200, body: '{"ok":true}' }])
    expect(await client.connectors.check('log', { config: {} })).toEqual({ ok: true })
    expect(seen.map(({ method, key }) => [method, key])).toEqual(Array.from({ length: 3 }, () => ['POST', undefined]))
  })

  it('throws what the service says: code, details, request id', async () => {
    const { client } = await serve([refusal(409, 'conflict')])
    const error = await client.streams.create({ name: 'a', schema: {} }).catch((each: unknown) => each)
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ code: 'conflict', status: 409, requestId: 'req_1', details: [{ path: '/name', message: 'is taken' }] })
    const foreign = await serve([{ status: 404, body: '<html>' }])
    await expect(foreign.client.account.get()).rejects.toMatchObject({ code: 'unexpected_answer', status: 404 })
  })

  it('says why it can’t reach the service, at once where the address is none', async () => {
    const at = (url: string) => createClient({ url, apiKey: 'k', apiSecret: 's', retriesMax: 0 })
    await expect(at('http://127.0.0.1:2').account.get()).rejects.toThrow("can't reach http://127.0.0.1:2/v1: ECONNREFUSED")
    await expect(at('http://nowhere.invalid').account.get()).rejects.toThrow(/\/v1: E[A-Z_]+$/)
    for (const url of ['', 'api.example.com', 'localhost:8080', 'ftp://a.example'])
      expect(() => at(url)).toThrow(`${url} is not an address as https://api.example.com`)
  })

  it('takes what is not the service’s answer for what it is, and asks again only behind a proxy that is out of order', async () => {
    const page = (status: number): Answer => ({ status, body: '<html>', headers: { 'content-type': 'text/html; charset=utf-8' } })
    const other = await serve([page(200)])
    const message = "not the service's answer (200 text/html)"
    await expect(other.client.account.get()).rejects.toMatchObject({ code: 'unexpected_answer', status: 200, message })
    await expect(other.client.streams.tail('st_1').next()).rejects.toMatchObject({ code: 'unexpected_answer', status: 200, message })
    expect(other.seen).toHaveLength(2)
    const proxy = await serve([page(502), page(503), { status: 200, body: '{"name":"Shop"}' }])
    expect(await proxy.client.account.get()).toEqual({ name: 'Shop' })
  })

  it('asks again for an answer that ended early, under the same key', async () => {
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    for (const body of ['{"records":1,"part', '']) {
      const cut: Answer = { status: 201, headers, body }
      const { client, seen } = await serve([cut, cut, { status: 201, headers, body: '{"records":1,"partitions":[]}' }])
      expect(await client.streams.write('st_1', [{ n: 1 }])).toEqual({ records: 1, requests: 1 })
      expect(seen).toHaveLength(3)
      expect(new Set(seen.map(({ key }) => key)).size).toBe(1)
      const read = await serve([
        { ...cut, status: 200 },
        { status: 200, headers, body: '{"id":"st_1"}' },
      ])
      expect(await read.client.streams.get('st_1')).toEqual({ id: 'st_1' })
      const other = await serve([cut])
      await expect(other.client.pipelines.start('pl_1')).rejects.toThrow(/^can't reach .*: the answer ended early$/)
      expect(other.seen).toHaveLength(1)
      const away = await serve([cut], { retriesMax: 1 })
      // It is not known whether they were written.
      await expect(away.client.streams.write('st_1', [{}])).rejects.toMatchObject({ code: 'unreachable', records: 0 })
    }
  })

  it('follows no redirect, behind which a write would be a read', async () => {
    for (const status of [301, 302, 307]) {
      const moved = await serve([
        { status, headers: { location: '/v1/elsewhere' }, body: '' },
        { status: 200, body: '{"streams":[]}' },
      ])
      const expected = {
        code: 'unexpected_answer',
        status,
        message: `not the service's answer (${status}, which leads to /v1/elsewhere)`,
      }
      await expect(moved.client.streams.create({ name: 'a', schema: {} })).rejects.toMatchObject(expected)
      expect(moved.seen.map(({ method, url }) => `${method} ${url}`)).toEqual(['POST /v1/streams'])
      const written = await serve([{ status, headers: { location: '/v1/elsewhere' } }])
      await expect(written.client.streams.write('st_1', [{}])).rejects.toMatchObject({ code: 'unexpected_answer', status, records: 0 })
      const tailed = await serve([{ status, headers: { location: '/v1/elsewhere' } }])
      await expect(tailed.client.streams.tail('st_1').next()).rejects.toMatchObject(expected)
    }
    // As a browser's fetch shows it.
    const fetch = () => Promise.resolve(Response.error())
    const hidden = createClient({ url: 'http://a.example', apiKey: 'k', apiSecret: 's', fetch })
    await expect(hidden.account.get()).rejects.toMatchObject({ status: 0, message: "not the service's answer (a redirect)" })
  })

  it('gives up on a service that does not answer in time, and when its caller does', async () => {
    const server = await openWebServer()
    open.push(server)
    const client = createClient({ url: server.url, apiKey: 'k', apiSecret: 's', timeoutMs: 100, retriesMax: 1 })
    await expect(client.account.get()).rejects.toThrow('no answer within 0.1 s')
  })

  it('pages through lists, and writes records of an iterator in several requests', async () => {
    const list = await serve([
      { status: 200, body: '{"streams":[{"id":"a"},{"id":"b"}],"next_cursor":"c1"}' },
      { status: 200, body: '{"streams":[{"id":"c"}]}' },
    ])
    const ids: string[] = []
    for await (const { id } of list.client.streams.all()) ids.push(id)
    expect(ids).toEqual(['a', 'b', 'c'])
    expect(list.seen.map(({ url }) => url)).toEqual(['/v1/streams?page_size=100', '/v1/streams?page_size=100&cursor=c1'])
    const write = await serve([{ status: 201, body: '{"records":2,"partitions":[]}' }])
    async function* records() {
      for (let n = 0n; n < 5n; n++) yield { n: n + 9_007_199_254_740_993n }
    }
    expect(await write.client.streams.write('st_1', records(), { recordsMax: 2 })).toMatchObject({ requests: 3 })
    expect(write.seen[0]!.body).toBe('{"n":9007199254740993}\n{"n":9007199254740994}')
  })

  it('keeps requests below the service’s limit of bytes, whatever the records', async () => {
    const { client, seen } = await serve([{ status: 201, body: '{"records":1,"partitions":[]}' }])
    await client.streams.write(
      'st_1',
      Array.from({ length: 3000 }, (_, n) => ({ n, text: '漢字'.repeat(n % 200) })),
    )
    const sizes = seen.map(({ body }) => Buffer.byteLength(body))
    expect(Math.max(...sizes)).toBeLessThan(1 << 20)
    expect(sizes.length).toBeLessThan(6)
    expect(seen.flatMap(({ body }) => body.split('\n'))).toHaveLength(3000)
  })

  it('writes what a slow source has said so far, and what was read before a source failed', async () => {
    const { client, seen } = await serve([{ status: 201, body: '{"records":1,"partitions":[]}' }])
    let isWritten = () => false
    async function* slow() {
      yield { n: 1 }
      while (!isWritten()) await new Promise((resolve) => setTimeout(resolve, 20))
      yield { n: 2 }
      throw new Error('the source is broken')
    }
    isWritten = () => seen.length === 1
    const error = await client.streams.write('st_1', slow(), { silenceMs: 50, keyPrefix: 'run' }).catch((each: unknown) => each)
    expect(error).toBeInstanceOf(WriteError)
    expect(error).toMatchObject({ records: 2, message: 'the source is broken (2 records were written before)' })
    expect(seen.map(({ body, key }) => [body, key])).toEqual([
      ['{"n":1}', 'run-0'],
      ['{"n":2}', 'run-1'],
    ])
  })

  it('gives up listening to a service that can’t be reached from the start, and to one that refuses', async () => {
    const away = createClient({ url: 'http://127.0.0.1:1', apiKey: 'k', apiSecret: 's', retriesMax: 1 })
    const first = (client: ReturnType<typeof createClient>) => client.streams.tail('st_1').next()
    await expect(first(away)).rejects.toThrow(ConnectionError)
    const refusing = await serve([refusal(403, 'forbidden')])
    await expect(first(refusing.client)).rejects.toMatchObject({ code: 'forbidden' })
    const foreign = await serve([{ status: 200, body: '<html>', headers: { 'content-type': 'text/html' } }], { retriesMax: 4 })
    const { client } = foreign
    await expect(Promise.race([first(client), new Promise((resolve) => setTimeout(resolve, limitMs(60_000), 'late'))])).rejects.toThrow(
      ApiError,
    )
  })

  it('comes back where it left off, and ends when what it listens to is gone', async () => {
    const events = (text: string): Answer => ({ status: 200, headers: { 'content-type': 'text/event-stream' }, body: text })
    const seen: (string | undefined)[] = []
    const { client } = await serve([
      events(': \n\nevent: frame\nid: a\ndata: {"records":[],"n":1}\n\n'),
      (request) => {
        seen.push(request.headers['last-event-id'] as string)
        return events('event: frame\nid: b\ndata: {"records":[],"n":9007199254740993}\n\n')
      },
      refusal(404, 'not_found'),
    ])
    const found: unknown[] = []
    for await (const { data } of client.streams.tail('st_1')) found.push(data)
    expect(found).toEqual([
      { records: [], n: 1 },
      { records: [], n: 9_007_199_254_740_993n },
    ])
    expect(seen).toEqual(['a'])
  })

  it('survives a restart of the service, and gives up on one that stays away', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    try {
      const away = async (ms: number) => {
        const until = Date.now() + ms
        const { client } = await serve([{ status: 200, body: '{"records":1}' }], {
          fetch: (target, init) => (Date.now() < until ? Promise.reject(new TypeError('fetch failed')) : fetch(target, init)),
        })
        let outcome: unknown
        const done = client.streams
          .write('st_1', [{}])
          .then((written) => (outcome = written))
          .catch((error: unknown) => (outcome = error))
        for (let passed = 0; passed < 60 && outcome === undefined; passed++) {
          await vi.advanceTimersByTimeAsync(1000)
          await new Promise((resolve) => setImmediate(resolve))
        }
        await done
        return outcome
      }
      expect(await away(14_000)).toEqual({ records: 1, requests: 1 })
      expect(await away(600_000)).toMatchObject({ name: 'WriteError', code: 'unreachable', records: 0, details: [] })
    } finally {
      vi.useRealTimers()
    }
  })

  it('names a refused record by its place among all, not in its request', async () => {
    const body = JSON.stringify({
      error: {
        code: 'invalid_request',
        message: 'invalid request: /records/0/id: is required; /records/1/records/5: is not a field',
        details: [
          { path: '/records/0/id', message: 'is required' },
          { path: '/records/1/records/5', message: 'is not a field' },
        ],
      },
    })
    const { client } = await serve([
      { status: 200, body: '{"records":2}' },
      { status: 400, body },
    ])
    const error: unknown = await client.streams.write('st_1', [{}, {}, {}, {}], { recordsMax: 2 }).catch((each: unknown) => each)
    expect(error).toMatchObject({
      code: 'invalid_request',
      message: 'invalid request: /records/2/id: is required; /records/3/records/5: is not a field (2 records were written before)',
      details: [{ path: '/records/2/id' }, { path: '/records/3/records/5' }],
      cause: { details: [{ path: '/records/0/id' }, { path: '/records/1/records/5' }] },
    })
  })

  it('keeps the form of numbers where it is asked to', async () => {
    const answer = { status: 200, body: '{"data":[{"price":12.50}],"pagination":{"has_more":false}}' }
    const readBy = async (more: Partial<ClientOptions>) => {
      const { client } = await serve([answer], more)
      for await (const record of client.streams.records('st_1')) return record as { price: number }
      return undefined
    }
    expect(await readBy({})).toEqual({ price: 12.5 })
    const kept = await readBy({ keepsNumbersAsWritten: true })
    expect(writeJson(kept)).toBe('{"price":12.50}')
    expect(kept!.price * 2).toBe(25)
  })
})
