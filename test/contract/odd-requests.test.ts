/** Unusual requests, most of them senseless: each gets a clear answer, never a 5xx, and leaves nothing behind. */
import { beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../services/control-plane/store/database.ts'
import { listPerhapsSourced } from '../../services/control-plane/store/pipelines.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { loggedIn, service, unique, type Client } from '../harness/client.ts'
import { createPipeline, createStream, moduleId, waitForStatus } from '../harness/pipelines.ts'
import { openAccount } from '../harness/operator.ts'

const ANY_RECORD = `import { Record } from 'dps'\nexport function filter(record: Record): bool { return true }`
let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
})

describe('the API, given odd requests', () => {
  it.each([
    ['NUL in an id', 'GET', '/v1/pipelines/%00/status', undefined, 404],
    ['NUL in a filter', 'GET', '/v1/keys?name=a%00b', undefined, 400],
    [
      'a forged cursor',
      'GET',
      `/v1/smartmodules?cursor=${Buffer.from('{"s":"created_at","v":"2020","i":"x"}').toString('base64url')}`,
      undefined,
      400,
    ],
    ['half a surrogate pair in a name', 'POST', '/v1/streams', '{"name":"\\ud800","schema":{"a":"string"}}', 400],
    ['a partition that no topic has', 'POST', '/v1/pipelines/pl_x/dead-letters/redrive', { filter: { partition: 2 ** 40 } }, 400],
    ['a body for an action', 'POST', '/v1/pipelines/pl_x/start', { x: 1 }, 400],
    ['both a cursor and an order', 'GET', '/v1/streams/st_x/data?cursor=abc&order=desc', undefined, 404],
  ] as const)('answers 4xx to a request with %s', async (_name, method, path, body, status) => {
    expect((await client.call(method, path, body)).status).toBe(status)
  })

  it('answers 400 with the path of an integer that would be rounded', async () => {
    const { status, body } = await client.call('POST', '/v1/connectors/conn_log/validate', '{"config":{"a":[0,9007199254740993]}}')
    expect([status, body.error?.details]).toEqual([400, [{ path: '/config/a/1', message: 'is a number that would lose digits' }]])
  })

  it('answers 400 to a body that does not decompress', async () => {
    const { status } = await client.call('POST', '/v1/streams', 'xx', { 'Content-Encoding': 'gzip' })
    expect(status).toBe(400)
  })

  it('answers 400 to a body that is not UTF-8, and takes a byte order mark', async () => {
    const body = (description: string | Buffer) =>
      Buffer.concat([
        Buffer.from(`{"name":"${unique('stream')}","schema":{"a":"string"},"description":"`),
        Buffer.from(description),
        Buffer.from('"}'),
      ])
    const send = (bytes: Buffer) =>
      fetch(`${service().apiUrl}/v1/streams`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${client.token}`, 'Content-Type': 'application/json' },
        body: Uint8Array.from(bytes),
      })
    for (const bytes of [[0xff], [0xc3], [0xed, 0xa0, 0x80]]) {
      const refused = await send(body(Buffer.from(bytes)))
      expect([refused.status, await refused.json()]).toMatchObject([
        400,
        { error: { details: [{ path: '', message: 'the body is not UTF-8' }] } },
      ])
    }
    const made = await send(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), body('ä\ufffd😀')]))
    expect(made.status).toBe(201)
    const { id } = (await made.json()) as { id: string }
    expect((await client.call('GET', `/v1/streams/${id}`)).body).toMatchObject({ description: 'ä\ufffd😀' })
  })

  it('answers 400 to a schema that can’t be registered, and leaves no stream behind', async () => {
    const name = unique('stream')
    // Both are `aB` in the JSON of Protobuf.
    const { status, body } = await client.call('POST', '/v1/streams', { name, format: 'protobuf', schema: { a_b: 'string', aB: 'string' } })
    expect([status, body.error?.details]).toEqual([
      400,
      [{ path: '/schema', message: expect.stringContaining('refuses it: duplicate name') }],
    ])
    expect((await client.call('GET', `/v1/streams?name=${name}`)).body).toMatchObject({ total: 0 })
  })

  it('accepts any JSON in a step’s config, including NUL and lone surrogates', async () => {
    const [source, sink] = [await createStream(client, { a: 'string' }), await createStream(client, { a: 'string' })]
    const body = `{"name":"${unique('pipeline')}","source":{"connector_id":"conn_stream","config":{"stream_id":"${source.id}"}},"processors":[{"module_id":"${await moduleId(client, 'dps/filter')}","config":{"field":"a","operator":"eq","value":"x\\u0000\\ud800"}}],"sink":{"connector_id":"conn_stream","config":{"stream_id":"${sink.id}"}}}`
    const created = await client.call<{ pipeline_id: string }>('POST', '/v1/pipelines', body)
    expect(created.status).toBe(201)
    expect((await client.call('GET', `/v1/pipelines/${created.body.pipeline_id}`)).status).toBe(200)
    // The reconciler looks through all definitions, where one like this must not end its pass.
    const db = openDatabase(service().env.DATABASE_URL!, 1)
    expect(await listPerhapsSourced(db).finally(() => db.destroy())).toBeInstanceOf(Array)
    await client.call('DELETE', `/v1/pipelines/${created.body.pipeline_id}`)
  })

  it('answers 400 for the content, not for the size, of a large binary that is not WebAssembly', async () => {
    const { status, body } = await client.call('POST', '/v1/smartmodules', {
      name: unique('module'),
      wasm_binary: Buffer.alloc(8 << 20).toString('base64'),
    })
    expect([status, body.error?.details?.[0]?.path]).toEqual([400, '/wasm_binary'])
  })

  it('takes a binary in base64 with line breaks or without its padding, and nothing that is not base64', async () => {
    const binary = await compileSmartModule(ANY_RECORD)
    // Behind it a section without meaning, as long as it takes for one `=` or two.
    const section = binary.length % 3 === 0 ? [0, 2, 1, 0x78] : [0, 1, 0]
    const base64 = Buffer.from([...binary, ...section]).toString('base64')
    expect(base64.endsWith('=')).toBe(true)
    const upload = (wasm_binary: string) =>
      client.call('POST', '/v1/smartmodules', {
        name: unique('module'),
        wasm_binary,
        config: { input_format: 'json', output_format: 'json' },
      })
    for (const written of [
      base64.replaceAll(/.{76}/g, '$&\n'),
      base64.replaceAll(/.{76}/g, '$&\r\n'),
      `\t${base64} `,
      base64.replaceAll('=', ''),
    ])
      expect((await upload(written)).status).toBe(201)
    // It is decoded in parts of 65,536 characters.
    const paddedWithin = `${'A'.repeat(65_532)}QQ==${base64}`
    const wrongs = [`${base64}=`, base64.slice(0, -3), `${base64}\u0141`, base64.replace('A', '-'), base64.replace('A', '\f'), paddedWithin]
    for (const wrong of wrongs)
      expect((await upload(wrong)).body.error?.details).toEqual([{ path: '/wasm_binary', message: 'is not base64' }])
  })

  it('answers 400 to records whose numbers would lose digits', async () => {
    const stream = await createStream(client, { n: 'number?', o: 'object?', i: 'integer?' })
    for (const record of ['{"n":1e400}', '{"o":{"x":[-1e999]}}', '{"o":{"x":12345678901234567890}}', '{"i":9007199254740993}']) {
      expect((await client.call('POST', `/v1/streams/${stream.id}/data`, `{"records":[${record}]}`)).status).toBe(400)
    }
  })

  it('names the record that nests too deep, in both forms of a body', async () => {
    const stream = await createStream(client, { a: 'any?' })
    const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`
    const write = (body: string, type?: string) =>
      client.call('POST', `/v1/streams/${stream.id}/data`, body, type === undefined ? {} : { 'Content-Type': type })
    const wrong = [{ path: '/records/1', message: 'nests deeper than 30 levels' }]
    expect((await write(`{"records":[{},${nested(31)},{}]}`)).body.error?.details).toEqual(wrong)
    expect((await write(`{}\n${nested(31)}\n${nested(40)}`, 'application/x-ndjson')).body.error?.details).toEqual(wrong)
    expect((await write(`{"records":[{},${nested(30)}]}`)).status).toBe(201)
    expect((await write(`{}\n${nested(30)}`, 'application/x-ndjson')).status).toBe(201)
  })

  it('says that a number is too large, not that it is none', async () => {
    const stream = await createStream(client, { n: 'number?', l: 'array<number>?', s: 'number?' })
    const body = '{"records":[{"n":1e400},{"l":[1,-1e400]},{"s":"1e400x"}]}'
    expect((await client.call('POST', `/v1/streams/${stream.id}/data`, body)).body.error?.details).toEqual([
      { path: '/records/0/n', message: expect.stringContaining('is too large') },
      { path: '/records/1/l/1', message: expect.stringContaining('is too large') },
      { path: '/records/2/s', message: 'must be number' },
    ])
  })

  it('answers 412 and changes nothing when If-Match names another version', async () => {
    const stream = await createStream(client, { a: 'string' })
    expect((await client.call('DELETE', `/v1/streams/${stream.id}`, undefined, { 'If-Match': '"nope"' })).body.error).toMatchObject({
      code: 'precondition_failed',
      status: 412,
    })
    const { headers } = await client.call('GET', `/v1/streams/${stream.id}`)
    expect((await client.call('DELETE', `/v1/streams/${stream.id}`, undefined, { 'If-Match': headers.get('etag')! })).status).toBe(204)
  })

  it('keeps a pipeline’s ETag while its status changes, and makes a new one with each change', async () => {
    const [from, to] = [await createStream(client, { a: 'string' }), await createStream(client, { a: 'string' })]
    const id = await createPipeline(client, from.id, [], to.id)
    const path = `/v1/pipelines/${id}`
    const tagOf = async () => (await client.call('GET', path)).headers.get('etag')!
    const before = await tagOf()
    await client.call('POST', `${path}/pause`)
    await waitForStatus(client, id, 'paused')
    expect(await tagOf()).toBe(before)
    const change = (description: string) => client.call('PATCH', path, { description }, { 'If-Match': before })
    const changed = await change('one')
    expect([changed.status, changed.headers.get('etag')]).toEqual([200, await tagOf()])
    expect((await change('two')).status).toBe(412)
    expect((await client.call('GET', path)).body).toMatchObject({ description: 'one' })
  })

  it('accepts writes to a new stream right after another written stream was deleted', async () => {
    for (let i = 0; i < 3; i++) {
      const stream = await createStream(client, { a: 'string' })
      expect((await client.call('POST', `/v1/streams/${stream.id}/data`, { records: [{ a: 'x' }] })).status).toBe(201)
      expect((await client.call('DELETE', `/v1/streams/${stream.id}`)).status).toBe(204)
    }
  })
})

describe('a stream that is being created', () => {
  it('answers DELETE with 409 until it exists, and is deleted once', async () => {
    for (let run = 0; run < 5; run++) {
      // It asks again and again, which is not for the requests of others.
      const { client } = await openAccount('enterprise')
      const name = unique('early')
      const creating = client.call<{ id: string }>('POST', '/v1/streams', { name, schema: { a: 'string' } })
      let deleted = 0
      for (let done = false; !done;) {
        const { body } = await client.call<{ streams: { id: string }[] }>('GET', `/v1/streams?name=${name}`)
        const id = body.streams[0]?.id
        await new Promise((resolve) => setTimeout(resolve, 50))
        if (id === undefined) continue
        const { status } = await client.call('DELETE', `/v1/streams/${id}`)
        expect([204, 409]).toContain(status)
        if (status === 204) deleted++
        done = status === 204
      }
      expect((await creating).status).toBe(201)
      expect(deleted).toBe(1)
    }
  })
})
