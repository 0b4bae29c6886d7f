/** What `dps` does to things by their names, with a service of its own: nothing, where one of the names is wrong. */
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { runProgram } from '../../clients/cli/src/program.ts'
import { openWebServer, type WebServer } from '../harness/web-server.ts'

const ID = '0'.repeat(26)
const MODULES = [
  { id: `sm_${'1'.repeat(26)}`, name: 'shop big-only', version: '1.0.0', description: '', is_builtin: false },
  { id: `sm_${ID}`, name: 'dps/cel', version: '1.0.0', description: '', is_builtin: true },
]
/** Answers by method and path; lists have one thing of the name `wh`. */
const ANSWERS: Record<string, object> = {
  'POST /v1/auth/token': { access_token: 't', token_type: 'Bearer', expires_in: 3600 },
  'GET /v1/secrets': { secrets: [{ id: `sec_${ID}`, name: 'wh' }] },
  'GET /v1/pipelines': { pipelines: [{ id: `pl_${ID}`, name: 'wh' }] },
  'GET /v1/keys': {
    keys: [
      { id: `key_${ID}`, name: 'all', scopes: Array.from({ length: 24 }, (_, n) => `scope:${n}`), created_at: '' },
      { id: `key_${ID}`, name: 'few', scopes: ['streams:read', 'pipelines:read'], created_at: '' },
    ],
    pagination: {},
  },
  'GET /v1/smartmodules': { modules: MODULES, pagination: {} },
}

let server: WebServer
/** The requests that change something. */
let changes: { request: string; body: string }[] = []
beforeEach(() => void (changes = []))
beforeAll(async () => {
  server = await openWebServer(async (request, response) => {
    const path = new URL(request.url ?? '', 'http://dps').pathname
    const name = `${request.method} ${path}`
    const body = await text(request)
    if (request.method !== 'GET' && path !== '/v1/auth/token') changes.push({ request: name, body })
    response.end(JSON.stringify(ANSWERS[name] ?? { id: ID, status: 'stopping' }))
  })
})
afterAll(() => server.close())

async function dps(args: string[], stdin = ''): Promise<{ exit: number; out: string; said: string }> {
  const input = new PassThrough()
  input.end(stdin)
  let [out, said] = ['', '']
  const exit = await runProgram(args, {
    env: { DPS_URL: server.url, DPS_API_KEY: 'k', DPS_API_SECRET: 's' },
    stdin: input,
    isTerminal: false,
    write: (each) => void (out += each),
    note: (each) => void (said += `${each}\n`),
    signal: new AbortController().signal,
  })
  return { exit, out, said }
}

describe('dps secret set', () => {
  it('makes a secret with its description, connectors and hosts, and changes the description of one that is there', async () => {
    const args = ['--description', 'the shop', '--connectors', 'table', 'http', '--hosts', '*.example.com']
    expect((await dps(['secret', 'set', 'new', ...args], 'x\n')).exit).toBe(0)
    expect((await dps(['secret', 'set', 'wh', '--description', 'the warehouse'], 'y')).exit).toBe(0)
    expect((await dps(['secret', 'set', 'wh'], 'z')).exit).toBe(0)
    expect(changes.map(({ request, body }) => [request, JSON.parse(body) as object])).toEqual([
      ['POST /v1/secrets', { name: 'new', value: 'x', description: 'the shop', connectors: ['table', 'http'], hosts: ['*.example.com'] }],
      [`PATCH /v1/secrets/sec_${ID}`, { value: 'y', description: 'the warehouse' }],
      [`PATCH /v1/secrets/sec_${ID}`, { value: 'z' }],
    ])
  })

  it('says that connectors and hosts of a secret stay, before it changes the value', async () => {
    expect(await dps(['secret', 'set', 'wh', '--hosts', 'example.com'], 'x')).toMatchObject({
      exit: 2,
      said: expect.stringContaining('stay'),
    })
    expect(changes).toEqual([])
  })
})

describe('dps list', () => {
  it('has the SmartModules of the service too, unless the own ones are asked for', async () => {
    const names = async (...args: string[]) =>
      (JSON.parse((await dps(['list', 'smartmodules', '-o', 'json', ...args])).out) as { name: string }[]).map(({ name }) => name)
    expect(await names()).toEqual(['shop big-only', 'dps/cel'])
    expect(await names('--own')).toEqual(['shop big-only'])
    expect((await dps(['list', 'pipelines', '--own'])).out).toContain('wh')
  })

  it('counts the scopes of a key that has many', async () => {
    const { out } = await dps(['list', 'keys'])
    expect(out.split('\n').map((line) => line.split(/ {2,}/)[2])).toEqual(['SCOPES', '24 scopes', 'streams:read,pipelines:read', undefined])
  })
})

describe('several names', () => {
  it.each([
    [['delete', 'secret', 'wh', 'nosuch'], 'there is no secret named nosuch'],
    [['delete', 'pipeline', 'wh', 'nosuch'], 'there is no pipeline named nosuch'],
    [['stop', 'wh', 'nosuch'], 'there is no pipeline named nosuch'],
  ])('are looked up before anything is done: dps %j', async (args, message) => {
    const { exit, said } = await dps(args)
    expect([exit, said]).toEqual([2, `dps: ${message}\n`])
    expect(changes).toEqual([])
  })

  it('are done in their order', async () => {
    expect((await dps(['delete', 'secret', 'wh', `sec_${'1'.repeat(26)}`])).exit).toBe(0)
    expect((await dps(['stop', `pl_${'1'.repeat(26)}`, 'wh'])).exit).toBe(0)
    expect(changes.map(({ request }) => request)).toEqual([
      `DELETE /v1/secrets/sec_${ID}`,
      `DELETE /v1/secrets/sec_${'1'.repeat(26)}`,
      `POST /v1/pipelines/pl_${'1'.repeat(26)}/stop`,
      `POST /v1/pipelines/pl_${ID}/stop`,
    ])
  })
})

describe('dps --help', () => {
  it.each([[['dlq', 'redrive']], [['profile', 'use']], [['list', 'streams']], [['-o', 'json', 'secret', 'set']], [[]]])(
    'of %j is no error',
    async (words) => {
      expect(await dps([...words, '--help'])).toEqual({ exit: 0, out: expect.stringContaining('Usage: dps'), said: '' })
    },
  )

  it('of a command that is not there is one', async () => {
    const unknown = "dps: unknown command 'frobnicate' (dps --help lists them)\n"
    expect(await dps(['frobnicate', '--help'])).toMatchObject({ exit: 2, said: unknown })
    expect(await dps(['--profile', 'x', 'frobnicate', '--help'])).toMatchObject({ exit: 2, said: unknown })
  })
})

it('a name that nothing has is not found, as an id would be', async () => {
  const { exit, said } = await dps(['explain', 'other', '0:0', '-o', 'json'])
  expect([exit, JSON.parse(said)]).toEqual([2, { error: { code: 'not_found', status: 404, message: 'there is no pipeline named other' } }])
})
