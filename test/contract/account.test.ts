/** The account itself: quotas, the audit log, keys, what secrets are for, and what is stored of answers that hold secrets. */
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SCOPES, type Scope } from '../../shared/model/limits.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { anonymous, eventually, loggedIn, patiently, service, unique, type Client } from '../harness/client.ts'
import { openAccount, setQuotas } from '../harness/operator.ts'
import { createPipeline, createStream } from '../harness/pipelines.ts'
import { openWebServer } from '../harness/web-server.ts'

let database: pg.Pool
beforeAll(() => {
  database = new pg.Pool({ connectionString: service().databaseUrl })
})
afterAll(() => database.end())

type NewKey = { id: string; api_key: string; api_secret: string }
const keyed = async (client: Client, scopes: readonly Scope[]): Promise<{ id: string; client: Client }> => {
  const { body } = await client.call<NewKey>('POST', '/v1/keys', { name: unique('key'), scopes })
  return { id: body.id, client: await loggedIn(body) }
}
const streamBody = (more: object = {}) => ({ name: unique('stream'), description: '', schema: { n: 'integer' }, partitions: 1, ...more })
const endpoint = (stream_id: string) => ({ connector_id: 'conn_stream', config: { stream_id } })

describe('quotas', () => {
  it('are shown with what is used of them, and refuse what would exceed them by name', async () => {
    const { account, client } = await openAccount('developer')
    type Shown = { type: string; requests_per_minute: number; quotas: Record<string, { limit: number; used: number | null }> }
    const shown = async () => (await client.call<Shown>('GET', '/v1/account')).body
    expect(await shown()).toMatchObject({ id: account.account_id, type: 'developer', requests_per_minute: 60 })
    expect((await shown()).quotas).toMatchObject({ streams: { limit: 50, used: 0 }, keys: { limit: 50, used: 1 }, tasks: { used: 0 } })

    await setQuotas(account.account_id, {
      streams: 2,
      partitions: 5,
      pipelines: 1,
      tasks: 2,
      secrets: 1,
      keys: 2,
      smartmodules: 1,
      smartmodule_versions: 2,
    })
    const refused = async (quota: string, ...call: [string, string, unknown]) => {
      const { body } = await client.call(...call)
      expect(body.error).toMatchObject({ status: 403, code: 'quota_exceeded' })
      expect(body.error!.message).toContain(`the quota ${quota} `)
    }
    await refused('partitions', 'POST', '/v1/streams', streamBody({ partitions: 6 }))
    const [from, to] = [
      await createStream(client, { n: 'integer' }, { partitions: 2 }),
      await createStream(client, { n: 'integer' }, { partitions: 2 }),
    ]
    await refused('streams', 'POST', '/v1/streams', streamBody())
    const pipeline = { name: unique('p'), source: endpoint(from.id), processors: [], sink: endpoint(to.id), autostart: false }
    await setQuotas(account.account_id, {
      streams: 2,
      partitions: 5,
      pipelines: 1,
      tasks: 1,
      secrets: 1,
      keys: 2,
      smartmodules: 1,
      smartmodule_versions: 2,
    })
    await refused('tasks', 'POST', '/v1/pipelines', { ...pipeline, tasks: 2 })
    const id = await createPipeline(client, from.id, [], to.id, { autostart: false })
    await refused('tasks', 'PATCH', `/v1/pipelines/${id}`, { tasks: 2 })
    await refused('tasks', 'POST', `/v1/pipelines/${id}/replay`, { from: 'earliest', to: 'latest' })
    expect((await client.call<{ jobs: object[] }>('GET', '/v1/jobs')).body.jobs).toEqual([])
    await refused('pipelines', 'POST', '/v1/pipelines', pipeline)
    await client.call('POST', '/v1/secrets', { name: unique('s'), value: 'x' })
    await refused('secrets', 'POST', '/v1/secrets', { name: unique('s'), value: 'x' })
    await client.call('POST', '/v1/keys', { name: unique('k') })
    await refused('keys', 'POST', '/v1/keys', { name: unique('k') })
    const binary = await compileSmartModule(`import { Record } from 'dps'\nexport function filter(record: Record): bool { return true }`)
    const module = {
      name: unique('m'),
      wasm_binary: Buffer.from(binary).toString('base64'),
      config: { input_format: 'json', output_format: 'json' },
    }
    for (let versions = 0; versions < 2; versions++) expect((await client.call('POST', '/v1/smartmodules', module)).status).toBe(201)
    await refused('smartmodule_versions', 'POST', '/v1/smartmodules', module)
    await refused('smartmodules', 'POST', '/v1/smartmodules', { ...module, name: unique('m') })
    expect((await shown()).quotas).toMatchObject({
      streams: { limit: 2, used: 2 },
      partitions: { limit: 5, used: 4 },
      pipelines: { limit: 1, used: 1 },
      tasks: { limit: 1, used: 1 },
      secrets: { limit: 1, used: 1 },
      keys: { limit: 2, used: 2 },
      smartmodules: { limit: 1, used: 1 },
      smartmodule_bytes: { used: expect.any(Number) },
    })
    // What is given back can be used again.
    expect((await client.call('DELETE', `/v1/pipelines/${id}`)).status).toBeOneOf([202, 204])
    await eventually('its stream is deleted', async () => (await client.call('DELETE', `/v1/streams/${to.id}`)).status < 300)
    await eventually('a stream is made', async () => (await client.call('POST', '/v1/streams', streamBody())).status === 201)
  })

  it('can’t be exceeded by requests at the same time', async () => {
    const { account, client } = await openAccount('enterprise')
    await setQuotas(account.account_id, { streams: 3 })
    const answers = await Promise.all(Array.from({ length: 8 }, () => patiently(() => client.call('POST', '/v1/streams', streamBody()))))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 201, 201, 403, 403, 403, 403, 403])
  })
})

describe('the audit log', () => {
  type Entry = {
    operation: string
    actor: string
    resource_id: string
    status: number
    before: unknown
    after: Record<string, unknown>
    address: string
    request_id: string
  }
  const log = async (client: Client, query = '') =>
    (await client.call<{ entries: Entry[] }>('GET', `/v1/audit?page_size=100${query}`)).body.entries

  it('says who changed what, from where, with the resource before and after, and shows no secret', async () => {
    const { account, client } = await openAccount('enterprise')
    const { id } = await createStream(client, { n: 'integer' })
    const tagged = await client.call('PATCH', `/v1/streams/${id}`, { description: 'changed' }, { 'X-Request-Id': 'of-mine' })
    expect(tagged.status).toBe(200)
    const secret = await client.call<{ id: string }>('POST', '/v1/secrets', { name: unique('s'), value: 'hidden-value' })
    await client.call('PATCH', `/v1/secrets/${secret.body.id}`, { value: 'hidden-value-2' })
    const key = await client.call<NewKey>('POST', '/v1/keys', { name: unique('k') })
    await client.call('DELETE', `/v1/streams/${id}`)
    const entries = (await log(client)).filter(({ actor }) => actor !== 'operator')
    expect(entries.map(({ operation }) => operation)).toEqual([
      'deleteStream',
      'createKey',
      'updateSecret',
      'createSecret',
      'updateStream',
      'createStream',
    ])
    for (const entry of entries) expect(entry).toMatchObject({ actor: account.api_key, address: '127.0.0.1' })
    const [deleted, made, , , changed, created] = entries
    expect(changed).toMatchObject({
      resource_id: id,
      request_id: 'of-mine',
      status: 200,
      before: { description: '' },
      after: { id, description: 'changed' },
    })
    expect(created).toMatchObject({ resource_id: id, status: 201, before: null })
    expect(deleted).toMatchObject({ resource_id: id, before: { id, description: 'changed' }, after: null })
    expect(made).toMatchObject({ resource_id: key.body.id, after: { name: expect.any(String) } })
    const { rows } = await database.query('SELECT * FROM audit_log WHERE account_id = $1', [account.account_id])
    for (const text of ['hidden-value', key.body.api_secret]) expect(JSON.stringify(rows)).not.toContain(text)
    expect((await log(client, `&resource_id=${id}`)).map(({ operation }) => operation)).toEqual([
      'deleteStream',
      'updateStream',
      'createStream',
    ])
    expect((await log(client, '&operation=createKey')).length).toBe(1)
    // Reads and records are not in it.
    expect(entries.every(({ operation }) => !operation.startsWith('get'))).toBe(true)
  })

  it('has requests that were refused, and the same request only once', async () => {
    const { client } = await openAccount('enterprise')
    const { client: reader, id: actor } = await keyed(client, ['streams:read'])
    await reader.call('POST', '/v1/streams', streamBody())
    const body = streamBody()
    const headers = { 'Idempotency-Key': unique('key') }
    for (let i = 0; i < 3; i++) await client.call('POST', '/v1/streams', body, headers)
    await client.call('POST', '/v1/streams', body)
    const entries = (await log(client)).filter(({ operation }) => operation === 'createStream')
    expect(entries.map(({ status }) => status)).toEqual([409, 201, 403])
    expect(entries.at(-1)).toMatchObject({ actor, after: null })
  })

  it('shows resources of every kind to a key with audit:read alone', async () => {
    const { client } = await openAccount('enterprise')
    const { client: reader } = await keyed(client, ['audit:read'])
    const { id } = await createStream(client, { n: 'integer' })
    expect((await log(reader, `&resource_id=${id}`))[0]).toMatchObject({ operation: 'createStream', after: { id } })
  })

  it('is only appended to', async () => {
    const { account, client } = await openAccount('enterprise')
    await createStream(client, { n: 'integer' })
    const of = [account.account_id]
    await expect(database.query('DELETE FROM audit_log WHERE account_id = $1', of)).rejects.toThrow('append-only')
    await expect(database.query(`UPDATE audit_log SET actor = 'x' WHERE account_id = $1`, of)).rejects.toThrow('append-only')
    await expect(database.query(`UPDATE audit_log SET after = NULL WHERE account_id = $1`, of)).rejects.toThrow('append-only')
  })

  it('is the account’s own', async () => {
    const [one, other] = [await openAccount('enterprise'), await openAccount('enterprise')]
    await createStream(one.client, { n: 'integer' })
    expect((await log(other.client)).map(({ operation }) => operation)).toEqual(['createAccount'])
  })
})

describe('a key', () => {
  it('that is the last one to make keys can’t be deleted, by two requests at once neither', async () => {
    const { account, client } = await openAccount('enterprise')
    const second = await keyed(client, SCOPES)
    const third = await keyed(client, ['keys:write', 'keys:read'])
    expect((await client.call('DELETE', `/v1/keys/${third.id}`)).status).toBe(204)
    const answers = await Promise.all([
      client.call('DELETE', `/v1/keys/${second.id}`),
      second.client.call('DELETE', `/v1/keys/${account.api_key}`),
    ])
    // The one that comes later is refused, or its own key is gone before it is looked at.
    expect(answers.map(({ status }) => status).toSorted()).toEqual([204, expect.toSatisfy((status: number) => [401, 409].includes(status))])
  })

  it('is refused for a minute after too many wrong secrets, its owner’s other keys are not', async () => {
    const { client } = await openAccount('enterprise')
    const { body: key } = await client.call<NewKey>('POST', '/v1/keys', { name: unique('k') })
    const attempt = (api_secret: string) => anonymous().call('POST', '/v1/auth/token', { api_key: key.api_key, api_secret })
    const statuses: number[] = []
    for (let i = 0; i < 32; i++) statuses.push((await attempt('wrong')).status)
    expect(statuses.slice(0, 30)).toEqual(Array.from({ length: 30 }, () => 401))
    expect(statuses.slice(30)).toEqual([429, 429])
    expect((await attempt(key.api_secret)).status).toBe(429)
    expect((await keyed(client, ['streams:read'])).client.token).toBeDefined()
  })

  it('gets the answer to its own idempotent request again, which is stored encrypted, and no other key does', async () => {
    const { account, client } = await openAccount('enterprise')
    const other = await keyed(client, SCOPES)
    const [body, headers] = [{ name: unique('k') }, { 'Idempotency-Key': unique('key') }]
    const first = await client.call<NewKey>('POST', '/v1/keys', body, headers)
    const again = await client.call<NewKey>('POST', '/v1/keys', body, headers)
    expect([again.status, again.body]).toEqual([201, first.body])
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect((await other.client.call('POST', '/v1/keys', body, headers)).status).toBe(409)
    const { rows } = await database.query('SELECT * FROM idempotency_keys WHERE account_id = $1', [account.account_id])
    expect(rows).toHaveLength(1)
    expect(JSON.stringify(rows)).not.toContain(first.body.api_secret)
  })
})

describe('a pipeline', () => {
  it('needs scopes for the streams and secrets that it uses', async () => {
    const { client } = await openAccount('enterprise')
    const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const secret = unique('s')
    await client.call('POST', '/v1/secrets', { name: secret, value: 'x' })
    const blackhole = { connector_id: 'conn_blackhole', config: {} }
    const generator = { connector_id: 'conn_generator', config: { records_max: 1 } }
    const hook = { connector_id: 'conn_webhook', config: { secret: { $secret: secret } } }
    const body = (source: object, sink: object) => ({ name: unique('p'), source, processors: [], sink, autostart: false })
    const table: [needed: Scope, body: object][] = [
      ['streams:read', body(endpoint(from.id), blackhole)],
      ['streams:write', body(generator, endpoint(to.id))],
      ['secrets:use', body(hook, blackhole)],
    ]
    for (const [needed, asked] of table) {
      const without = await keyed(client, ['pipelines:read', 'pipelines:write'])
      const { body: refused } = await without.client.call('POST', '/v1/pipelines', asked)
      expect(refused.error).toMatchObject({ status: 403, code: 'forbidden', message: expect.stringContaining(needed) })
      const having = await keyed(client, ['pipelines:write', needed])
      expect((await having.client.call('POST', '/v1/pipelines', asked)).status).toBe(201)
    }
    const checker = await keyed(client, ['connectors:write'])
    const check = { side: 'source', config: hook.config }
    expect((await checker.client.call('POST', '/v1/connectors/webhook/check', check)).status).toBe(403)
  })
})

describe('a secret', () => {
  it('goes only to the connectors and hosts that it is for', async () => {
    const { client } = await openAccount('enterprise')
    const made = async (more: object) => {
      const name = unique('s')
      const { status, body } = await client.call('POST', '/v1/secrets', { name, value: 'x', ...more })
      expect([status, body]).toEqual([201, expect.objectContaining({ connectors: null, hosts: null, ...more })])
      return { $secret: name }
    }
    const validate = async (connector: string, config: object) =>
      (
        await client.call<{ valid: boolean; details: { path: string; message: string }[] }>(
          'POST',
          `/v1/connectors/${connector}/validate`,
          { side: 'sink', config },
        )
      ).body
    const http = (url: string, secret: object) => ({ url, auth: { kind: 'bearer', token: secret } })
    const bound = await made({ connectors: ['http'], hosts: ['api.example.com', '*.example.org'] })
    for (const url of ['https://api.example.com/x', 'https://API.example.com:8443/', 'https://a.b.example.org/'])
      expect([url, (await validate('http', http(url, bound))).valid]).toEqual([url, true])
    for (const url of ['https://example.com/', 'https://example.org/', 'https://evil.com/?api.example.com', 'https://xexample.org/']) {
      const { valid, details } = await validate('http', http(url, bound))
      expect([url, valid, details[0]?.path]).toEqual([url, false, '/auth/token/$secret'])
    }
    // A user in an address is refused by itself, whatever its host looks like.
    expect((await validate('http', http('https://api.example.com@evil.com/', bound))).details[0]?.path).toBe('/url')
    const other = await validate('redis', { url: 'redis://api.example.com:6379', password: bound, stream: 's', mode: 'stream' })
    expect(other.valid).toBe(false)
    const body = {
      name: unique('p'),
      source: { connector_id: 'conn_generator', config: { records_max: 1 } },
      processors: [],
      sink: { connector_id: 'http', config: http('https://evil.com/', bound) },
    }
    const refused = await client.call('POST', '/v1/pipelines?check=false', body)
    expect(refused.body.error!.details).toEqual([{ path: '/sink/config/auth/token/$secret', message: expect.stringContaining('evil.com') }])
    expect((await client.call('POST', '/v1/secrets', { name: unique('s'), value: 'x', connectors: ['nothing'] })).status).toBe(400)
    expect((await client.call('POST', '/v1/secrets', { name: unique('s'), value: 'x', hosts: ['https://x'] })).status).toBe(400)
  })
})

describe('every response', () => {
  it.each(['/v1/streams', '/docs', '/openapi.json', '/nothing', '/v1/auth/token'])('of %s has headers that bind browsers', async (path) => {
    const { headers } = await fetch(`${service().apiUrl}${path}`)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
    expect(headers.get('strict-transport-security')).toMatch(/max-age=\d{7,}/)
    expect(headers.get('cache-control')).toBe('no-store')
  })
})

describe('a secret for one host', () => {
  const bearer = (name: string) => ({ kind: 'bearer', token: { $secret: name } })

  it('goes nowhere else by a check, a change, a hidden name or an empty host', async () => {
    const { client } = await openAccount('enterprise')
    const name = unique('s')
    await client.call('POST', '/v1/secrets', { name, value: 'x', hosts: ['api.example.com'] })
    const received: string[] = []
    const evil = await openWebServer((request, response) => {
      received.push(String(request.headers.authorization))
      response.end()
    })
    const url = `${evil.url}/`
    const checked = await client.call<{ ok: boolean }>('POST', '/v1/connectors/http/check', {
      side: 'sink',
      config: { url, auth: bearer(name) },
    })
    expect(checked.body.ok).toBe(false)
    const made = await client.call<{ pipeline_id: string }>('POST', '/v1/pipelines?check=false', {
      name: unique('p'),
      source: { connector_id: 'conn_generator', config: { records_max: 1 } },
      processors: [],
      sink: { connector_id: 'http', config: { url } },
      autostart: false,
    })
    const sink = { connector_id: 'http', config: { url, auth: bearer(name) } }
    const changed = await client.call('PATCH', `/v1/pipelines/${made.body.pipeline_id}?check=true`, { sink })
    expect([changed.status, changed.body.error?.details?.[0]?.path]).toEqual([400, '/sink/config/auth/token/$secret'])
    const configs = [
      {
        url: 'https://api.example.com/',
        headers: { 'X-A': 'a:///' },
        auth: { kind: 'oauth2', token_url: 'https://evil.com/', client_id: 'c', client_secret: { $secret: name } },
      },
      { url: 'https://evil.com/', headers: { $secret: 'another', 'X-T': { $secret: name } } },
      { url: ' https://evil.com/', auth: bearer(name) },
    ]
    for (const config of configs) {
      const { body } = await client.call<{ valid: boolean }>('POST', '/v1/connectors/http/validate', { side: 'sink', config })
      expect([config, body.valid]).toEqual([config, false])
    }
    expect(received).toEqual([])
    await evil.close()
  })
})

describe('a replay into a stream', () => {
  it('needs streams:write', async () => {
    const { client } = await openAccount('enterprise')
    const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const id = await createPipeline(client, from.id, [], to.id)
    const { client: writer } = await keyed(client, ['pipelines:read', 'pipelines:write'])
    const refused = await writer.call('POST', `/v1/pipelines/${id}/replay`, { from: 'earliest', to: 'latest', sink: { stream_id: to.id } })
    expect(refused.body.error).toMatchObject({ code: 'forbidden', message: expect.stringContaining('streams:write') })
  })
})

describe('an account with an odd config', () => {
  it('is counted and shown like any other', async () => {
    const { client } = await openAccount('enterprise')
    const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const body = {
      name: `x "tasks": 99`,
      source: endpoint(from.id),
      processors: [{ module_id: 'dps/map-fields', config: { set: { a: '\u0000', tasks: 7 } } }],
      sink: endpoint(to.id),
      tasks: 3,
    }
    const made = await client.call('POST', '/v1/pipelines', body)
    expect(made.status).toBe(201)
    const { quotas } = (await client.call<{ quotas: Record<string, { used: number }> }>('GET', '/v1/account')).body
    expect(quotas.tasks!.used).toBe(3)
  })
})
