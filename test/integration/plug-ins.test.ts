/** Modules of other people's SDKs, unmodified, in one chain with built-ins: Extism's of three languages, Redpanda's and Fluvio's. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { buildGo, buildGoPlugin, compileFixture } from '../harness/compiled-fixtures.ts'
import { createPipeline, createStream, readAll, waitForTotal, write } from '../harness/pipelines.ts'
import { openWebServer, type WebServer } from '../harness/web-server.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
})

async function deploy(binary: Buffer, config: { allowed_hosts?: string[] } = {}): Promise<string> {
  const name = unique('plug-in')
  const { status, body } = await client.call('POST', '/v1/smartmodules', { name, wasm_binary: binary.toString('base64'), config })
  expect([status, body]).toMatchObject([201, { name }])
  return name
}
const rust = (name: string) => readFile(join(import.meta.dirname, '..', 'fixtures', 'smartmodules', 'rust', `${name}.wasm`))
const keepLong = () => compileFixture('keep-long', ['--use', 'abort=entry/abort'])

describe('plug-ins of the PDKs of Go, Rust and AssemblyScript', () => {
  it('run in one chain with built-in SmartModules', async (context) => {
    const goMap = await buildGoPlugin('map')
    const goArrayMap = await buildGoPlugin('array_map')
    if (!goMap || !goArrayMap) return context.skip('there is no Go on this machine, or no way to its modules')
    const steps = [
      { name: await deploy(goMap), config: { suffix: '!' } },
      { name: 'dps/filter', config: { expression: 'value.n > 0' } },
      { name: await deploy(await rust('extism-filter-map')), config: { level: 'warn' } },
      { name: await deploy(await keepLong()), config: { least: '40' } },
      { name: await deploy(goArrayMap), config: {} },
      { name: 'dps/cel', config: { set: { kind: 'has(value.z) ? "item" : "whole"' } } },
    ]
    const from = await createStream(client, { name: 'any', n: 'integer', level: 'any' }, { partitions: 1 })
    const to = await createStream(client, { name: 'any', n: 'any', z: 'any', a: 'any', kind: 'string' }, { partitions: 1 })
    await createPipeline(client, from.id, steps, to.id)
    await write(client, from.id, [
      { name: 'Ada Lovelace', n: 1, level: 'warn' },
      { name: 'Alan Turing', n: 1, level: 'info' },
      { name: 'x', n: 1, level: 'warn' },
      { name: 'Grace Hopper', n: 0, level: 'warn' },
      { name: 5, n: 1, level: 'warn' },
    ])
    await waitForTotal(client, to.id, 2)
    expect(await readAll(client, to.id)).toMatchObject([{ name: 'ADA LOVELACE!', n: 1, kind: 'whole' }, { kind: 'item' }])
    const url = `${service().apiUrl}/v1/streams/${to.id}/data`
    const text = await (await fetch(url, { headers: { Authorization: `Bearer ${client.token}` } })).text()
    // The plug-in's own bytes: neither digits nor the order of members change.
    expect(text).toContain('{"z": 12345678901234567890, "a": 1.10,"kind":"item"}')
  })
})

describe('a plug-in that asks a service', () => {
  const asked: string[] = []
  let slowMs = 0
  let server: WebServer
  let url: string
  beforeAll(async () => {
    server = await openWebServer(async (request, response) => {
      await new Promise((resolve) => setTimeout(resolve, slowMs))
      asked.push(`${request.method} ${request.url} ${request.headers['x-asked-by']}`)
      response.writeHead(request.url === '/cities/1' ? 503 : 200, { 'X-Server': 'cities' }).end(`Town ${request.url!.split('/').at(-1)}`)
    })
    url = `${server.url}/cities`
  })
  afterAll(() => server.close())

  it('gets its answers in pipelines and trials, which only read, from the hosts of its version', async (context) => {
    const enrich = await buildGoPlugin('enrich')
    if (!enrich) return context.skip('there is no Go on this machine, or no way to its modules')
    const name = await deploy(enrich, { allowed_hosts: ['127.0.0.1'] })
    const from = await createStream(client, { zip: 'integer' }, { partitions: 1 })
    const to = await createStream(client, { zip: 'integer', city: 'string', server: 'string' }, { partitions: 1 })
    const pipeline = await createPipeline(client, from.id, [{ name, config: { url } }], to.id)
    await write(client, from.id, [{ zip: 7 }, { zip: 1 }, { zip: 9 }])
    await waitForTotal(client, to.id, 2)
    expect(await readAll(client, to.id)).toMatchObject([
      { zip: 7, city: 'Town 7', server: 'cities' },
      { zip: 9, city: 'Town 9' },
    ])
    // A round that is made again asks again.
    expect(new Set(asked.splice(0))).toEqual(new Set(['GET /cities/7 enrich', 'GET /cities/1 enrich', 'GET /cities/9 enrich']))
    const { body } = await client.call<{ dead_letters: { error: object }[] }>('GET', `/v1/pipelines/${pipeline}/dead-letters`)
    expect(body.dead_letters).toMatchObject([{ error: { code: 'record_failed', message: 'answered 503' } }])

    type Tried = { records: { outputs: { value: { json: object } }[]; steps: { error?: object; logs: string[] }[] }[] }
    const tried = async (config: object, step: object = { module_id: name }) =>
      (await client.call<Tried>('POST', '/v1/smartmodules/test', { processors: [{ ...step, config }], records: [{ value: { zip: 3 } }] }))
        .body.records[0]!
    expect((await tried({ url })).outputs).toMatchObject([{ value: { json: { city: 'Town 3' } } }])
    expect((await tried({ url, method: 'POST' })).steps).toMatchObject([
      { error: { message: 'answered 502' }, logs: [expect.stringContaining('a trial sends no POST')] },
    ])
    const elsewhere = await tried({ url }, { wasm_binary: enrich.toString('base64'), allowed_hosts: ['*.example.com'] })
    expect(elsewhere.steps).toMatchObject([
      { error: { code: 'module_trapped', message: expect.stringContaining('may not send a request to 127.0.0.1') } },
    ])
    expect(asked).toEqual(['GET /cities/3 enrich'])
  })

  it('commits every few seconds, however long its service takes', async (context) => {
    const enrich = await buildGoPlugin('enrich')
    if (!enrich) return context.skip('there is no Go on this machine, or no way to its modules')
    const name = await deploy(enrich, { allowed_hosts: ['127.0.0.1'] })
    const from = await createStream(client, { zip: 'integer' }, { partitions: 1 })
    const to = await createStream(client, { zip: 'integer', city: 'string', server: 'string' }, { partitions: 1 })
    // One batch of 25 KB, whose answers take 20 s together.
    await write(
      client,
      from.id,
      Array.from({ length: 1000 }, (_, i) => ({ zip: 1_000_000 + i })),
    )
    slowMs = 20
    await createPipeline(client, from.id, [{ name, config: { url } }], to.id)
    const first = await eventually('the first of them are there', async () => (await readAll(client, to.id)).length || undefined)
    // How long the start takes depends on the machine, but not that a part is there before the rest.
    expect(first).toBeLessThan(1000)
    slowMs = 0
    await waitForTotal(client, to.id, 1000)
  })

  it('is the only kind of SmartModule that has hosts', async () => {
    const upload = {
      name: unique('hosts'),
      source: {
        language: 'typescript',
        code: "import { Record } from 'dps'\nexport function filter(record: Record): bool { return true }\n",
      },
      config: { allowed_hosts: ['example.com'] },
    }
    const { status, body } = await client.call('POST', '/v1/smartmodules', upload)
    expect([status, body]).toMatchObject([400, { error: { details: [{ path: '/config/allowed_hosts' }] } }])
  })
})

describe('modules of the SDKs of Redpanda and Fluvio', () => {
  it('run in one chain with a built-in, and what fails becomes a dead letter', async (context) => {
    const transform = await buildGo('go-redpanda')
    if (!transform) return context.skip('there is no Go on this machine, or no way to its modules')
    const redpanda = await deploy(transform)
    const fluvio = await deploy(await rust('fluvio-filter-param'))
    const kindsOf = async (kind: string) =>
      (await client.call<{ modules: { name: string }[] }>('GET', `/v1/smartmodules?kind=${kind}`)).body.modules.map(({ name }) => name)
    expect(await kindsOf('redpanda')).toContain(redpanda)
    expect(await kindsOf('fluvio')).toContain(fluvio)
    const steps = [
      { name: redpanda, config: { LEVEL: 'error' } },
      { name: 'dps/cel', config: { set: { size: 'size(value.line)' } } },
      { name: fluvio, config: { contains: 'disk' } },
    ]
    const from = await createStream(client, { level: 'string', lines: 'any' }, { partitions: 1 })
    const to = await createStream(client, { line: 'string', size: 'integer' }, { partitions: 1 })
    const pipeline = await createPipeline(client, from.id, steps, to.id)
    await write(client, from.id, [
      { level: 'error', lines: ['disk full', 'no network', 'disk gone'] },
      { level: 'info', lines: ['disk found'] },
      { level: 'error', lines: 'no list' },
      { level: 'error', lines: ['disk back'] },
    ])
    await waitForTotal(client, to.id, 3)
    expect(await readAll(client, to.id)).toMatchObject([{ line: 'disk full', size: 9 }, { line: 'disk gone' }, { line: 'disk back' }])
    const letters = await client.call<{ dead_letters: { error: { code: string; message: string } }[] }>(
      'GET',
      `/v1/pipelines/${pipeline}/dead-letters`,
    )
    expect(letters.body.dead_letters).toMatchObject([
      { error: { code: 'module_trapped', message: expect.stringContaining('cannot unmarshal') } },
    ])
  })

  it('that can not run are refused at their upload, saying why', async () => {
    const upload = { name: unique('state'), wasm_binary: (await rust('fluvio-look-back-max')).toString('base64') }
    const { status, body } = await client.call('POST', '/v1/smartmodules', upload)
    expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('look_back')])
  })
})
