/** The TypeScript client's transport against a server that refuses, fails, and is away: what is sent again, and what is not. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { ApiError, ConnectionError, createClient, parseJson, signIngest, writeJson } from '../../clients/typescript/src/index.ts'

type Answer = { status: number; body?: string; headers?: Record<string, string> } | 'reset'
const open: { close(): void }[] = []
afterEach(() => {
  for (const each of open.splice(0)) each.close()
})

/** A service whose token is `token-N`; `answers` are given one after the other, the last one again and again. */
async function serve(answers: (Answer | ((request: IncomingMessage) => Answer))[]) {
  const seen: { method: string; url: string; key: string | undefined; authorization: string | undefined; body: string }[] = []
  let tokens = 0
  async function onRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray()).toString()
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
  const server = createServer((request, response) => void onRequest(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  open.push({ close: () => server.close() })
  const client = createClient({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    apiKey: 'k',
    apiSecret: 's',
    timeoutMs: 2000,
  })
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

  it('does not send again what may have been done', async () => {
    const { client, seen } = await serve(['reset'])
    await expect(client.pipelines.start('pl_1')).rejects.toThrow(ConnectionError)
    await expect(client.pipelines.update('pl_1', { description: 'x' })).rejects.toThrow(ConnectionError)
    expect(seen).toHaveLength(2)
  })

  it('throws what the service says: code, details, request id', async () => {
    const { client } = await serve([refusal(409, 'conflict')])
    const error = await client.streams.create({ name: 'a', schema: {} }).catch((each: unknown) => each)
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ code: 'conflict', status: 409, requestId: 'req_1', details: [{ path: '/name', message: 'is taken' }] })
    const foreign = await serve([{ status: 404, body: '<html>' }])
    await expect(foreign.client.account.get()).rejects.toMatchObject({ code: 'unexpected_answer', status: 404 })
  })

  it('gives up on a service that does not answer in time, and when its caller does', async () => {
    const server = createServer(() => {})
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    open.push({ close: () => (server.closeAllConnections(), server.close()) })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const client = createClient({ url, apiKey: 'k', apiSecret: 's', timeoutMs: 100, retriesMax: 1 })
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

  it('keeps the digits of whole numbers in both directions', () => {
    const text = '{"a":9007199254740993,"b":[1,-9223372036854775808],"c":1.5,"d":1e400,"e":"9007199254740993"}'
    const value = parseJson(text)
    expect(value).toMatchObject({ a: 9_007_199_254_740_993n, b: [1, -9_223_372_036_854_775_808n], c: 1.5, e: '9007199254740993' })
    expect(writeJson({ a: 9_007_199_254_740_993n, b: 1 })).toBe('{"a":9007199254740993,"b":1}')
  })

  it('signs as Standard Webhooks has it', async () => {
    // The example of the specification.
    const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    const at = new Date(1_614_265_330_000)
    const headers = await signIngest(secret, '{"test": 2432232314}', { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', at })
    expect(headers['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
  })
})
