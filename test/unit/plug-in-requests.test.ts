/**
 * HTTP requests of Extism plug-ins: only to the hosts of their version, within bounds, and answered as a proxy would where no answer comes.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPlugInRequests } from '../../shared/connectors/send-plug-in-requests.ts'
import { HOST_PATTERN, isAllowedHost } from '../../shared/model/plug-in-http.ts'
import { openTestChain } from '../harness/chains.ts'
import { compileFixture } from '../harness/compiled-fixtures.ts'
import { openWebServer, type WebServer } from '../harness/web-server.ts'

let server: WebServer
const asked: string[] = []

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request)
  asked.push(`${request.method} ${request.url} ${request.headers['x-from'] ?? ''} ${body}`.trim())
  if (request.url === '/silent') return
  if (request.url === '/large') return void response.end(Buffer.alloc((1 << 20) + 1))
  if (request.url === '/elsewhere') return void response.writeHead(307, { location: 'http://127.0.0.2:1/' }).end()
  if (request.url === '/packed') {
    response.setHeaders(new Headers({ 'content-encoding': 'gzip' }))
    response.removeHeader('date')
    response.sendDate = false
    return void response.setHeader('set-cookie', ['a=1', 'b=2']).end(gzipSync('unpacked'))
  }
  if (request.url === '/teapot') return void response.writeHead(418, { 'x-kind': 'pot' }).end('short and stout')
  response.end(`of ${request.url}`)
}

beforeAll(async () => {
  server = await openWebServer(serve)
})
afterAll(() => server.close())

async function openAsking(how: { isTrial?: boolean; hosts?: string[]; addresses?: Parameters<typeof openPlugInRequests>[0] } = {}) {
  const ask = await WebAssembly.compile(new Uint8Array(await compileFixture('ask')))
  // A trial's time begins here.
  const { send } = openPlugInRequests(how.addresses ?? 'any', how.isTrial ? 8000 : undefined)
  return openTestChain([{ name: 'ask', config: {} }], { ask }, undefined, {
    kind: 'extism',
    extismFunction: 'map',
    allowedHosts: how.hosts ?? ['127.0.0.1'],
    send,
  })
}
const request = (path: string, more: object = {}) => JSON.stringify({ url: `${server.url}${path}`, ...more })

describe('a plug-in', () => {
  it('gets the status, the headers and the body of each of its requests', async () => {
    const chain = await openAsking()
    asked.length = 0
    const { values, failures } = await chain.run([
      request('/a'),
      request('/teapot', { headers: { 'X-From': 'a plug-in' } }),
      `+${request('/b', { method: 'post' })}`,
    ])
    expect(failures).toEqual([])
    expect(values.map((value) => value!.replace(/\{.*\} /, ''))).toEqual(['200 of /a', '418 short and stout', '200 of /b'])
    expect(values[1]).toContain('"x-kind":"pot"')
    expect(asked).toEqual(['GET /a', 'GET /teapot a plug-in', `POST /b  ${request('/b', { method: 'post' })}`])
  })

  it('is answered 502 or 504 for what can not be reached, is too large or does not come', async () => {
    const chain = await openAsking()
    const { values, failures } = await chain.run([
      JSON.stringify({ url: 'http://127.0.0.1:1/' }),
      request('/large'),
      request('/elsewhere'),
      request('/silent'),
      request('/after'),
    ])
    expect(failures).toEqual([])
    expect(values).toEqual(['502 {} ', '502 {} ', '502 {} ', '504 {} ', expect.stringMatching(/^200 .* of \/after$/)])
  })

  it('fails the record whose request goes to another host, is none, or is one of too many', async () => {
    const chain = await openAsking()
    const { values, failures } = await chain.run([
      request('/x').replace('127.0.0.1', 'localhost'),
      JSON.stringify({ url: 'file:///etc/passwd' }),
      'no JSON',
      `*${request('/many')}`,
      request('/last'),
    ])
    expect(values).toEqual([expect.stringMatching(/^200 .* of \/last$/)])
    expect(failures.map(({ delta, message }) => [delta, message])).toMatchObject([
      [0, expect.stringContaining('may not send a request to localhost')],
      [1, expect.stringContaining('no HTTP request')],
      [2, expect.stringContaining('no HTTP request')],
      [3, expect.stringContaining('more than 10 requests')],
    ])
  })

  it('fails the record whose request has too long a head', async () => {
    const chain = await openAsking()
    const many = (count: number) => ({ headers: Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, '1'])) })
    const { values, failures } = await chain.run([
      request('/a', many(101)),
      request(`/${'a'.repeat(8192)}`),
      request('/a', { headers: { 'x-long': 'x'.repeat(65_536) } }),
      request('/b', many(90)),
    ])
    expect(values).toEqual([expect.stringMatching(/^200 .* of \/b$/)])
    expect(failures.map(({ delta, message }) => [delta, message])).toMatchObject([
      [0, expect.stringContaining('at most 100')],
      [1, expect.stringContaining('8192')],
      [2, expect.stringContaining('64 KiB')],
    ])
  })

  it('is asked with the headers of its message as the client makes them, and answered without those that no longer hold', async () => {
    const chain = await openAsking()
    const { values } = await chain.run([
      `+${request('/b', { method: 'POST', headers: { 'Content-Length': '3', Host: 'elsewhere.example', Connection: 'close' } })}`,
      request('/packed'),
      request('/a', { headers: { 'x-broken': `a\n${'b'.repeat(30_000)}` } }),
    ])
    expect(values[0]).toMatch(/^200 .* of \/b$/)
    expect(values[1]).toBe('200 {"set-cookie":"a=1, b=2"} unpacked')
    expect(values[2]).toBe('502 {} ')
  })

  it('sends none while it starts', async () => {
    const early = await WebAssembly.compile(new Uint8Array(await compileFixture('ask-early')))
    const { send } = openPlugInRequests('any')
    const how = { kind: 'extism', extismFunction: 'map', allowedHosts: ['127.0.0.1'], send } as const
    await expect(openTestChain([{ name: 'early', config: {} }], { early }, undefined, how)).rejects.toThrow(
      'sends a request while it starts',
    )
  })

  it('reaches no address that connectors may not reach', async () => {
    const chain = await openAsking({ addresses: { allowed: [], own: [] } })
    asked.length = 0
    expect((await chain.run([request('/private')])).values).toEqual(['502 {} '])
    expect(asked).toEqual([])
  })

  it('only reads in a trial', async () => {
    // What is compiled for it is so before its time begins.
    await openAsking()
    const chain = await openAsking({ isTrial: true })
    asked.length = 0
    const { values } = await chain.run([request('/a'), request('/b', { method: 'DELETE' })])
    expect(values).toEqual([expect.stringMatching(/^200 .* of \/a$/), '502 {} '])
    expect(asked).toEqual(['GET /a'])
  })
})

describe('the hosts of a version', () => {
  it.each([
    ['api.example.com', ['api.example.com'], true],
    ['api.example.com', ['example.com'], false],
    ['api.example.com', ['*.example.com'], true],
    ['example.com', ['*.example.com'], false],
    ['evil-example.com', ['*.example.com'], false],
    ['example.com.evil.org', ['*.example.com', 'example.com'], false],
  ])('%s is allowed by %j: %s', (host, patterns, expected) => {
    expect(isAllowedHost(host, patterns)).toBe(expected)
  })

  it.each(['*', '*.', 'https://a.b', 'a.b:80', 'A.b', 'a..', '-a', '', 'a.*.b'])('are not %j', (pattern) => {
    expect(HOST_PATTERN.test(pattern)).toBe(false)
  })
})
