/** SmartModules deployed as sources: what is wrong with one is named by line and column, and what is right runs. */
import { createHash } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { loggedIn, patiently, service, unique, type Client } from '../harness/client.ts'
import { createPipeline, createStream, readAll, waitForTotal, write } from '../harness/pipelines.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
})

const WRONG = `import { Record, Path, numberOf, Kind } from 'dps'

const amount = new Path('amount')

export function filter(record: Record): bool {
  const slice = record.fnd(amount)
  return slice.kind == Kind.Number && numberOf(slice.start, slice.end) > 100
}
`
const RIGHT = WRONG.replace('fnd', 'find')
const source = (code: string) => ({ language: 'typescript', code })
type Fault = { path: string; message: string; line?: number; column?: number; text?: string }
type Compiled = { ok: boolean; details: Fault[]; bytes?: number; sha256?: string }
const compile = async (code: string) =>
  (await patiently(() => client.call<Compiled>('POST', '/v1/smartmodules/compile', { source: source(code) }))).body

describe('the versions of a SmartModule', () => {
  it('are listed, the newest first, and each is shown with its own source, config and binary', async () => {
    const name = unique('m')
    const codes = [5, 10, 15].map((least) => RIGHT.replace('> 100', `> ${least}`))
    let id = ''
    for (const code of codes)
      ({ id } = (await client.call<{ id: string }>('POST', '/v1/smartmodules', { name, source: source(code) })).body)
    type Version = { version: string; sha256: string; bytes: number; source?: { code: string }; config: object; wasm_binary?: string }
    const list = async (query = '') =>
      (await client.call<{ versions: Version[]; total: number; next_cursor?: string }>('GET', `/v1/smartmodules/${id}/versions${query}`))
        .body
    expect((await list()).versions.map(({ version }) => version)).toEqual(['1.0.2', '1.0.1', '1.0.0'])
    const first = await list('?page_size=2')
    expect([first.total, first.versions.length]).toEqual([3, 2])
    expect((await list(`?page_size=2&cursor=${first.next_cursor}`)).versions.map(({ version }) => version)).toEqual(['1.0.0'])
    const get = (version: string, query = '') => client.call<Version>('GET', `/v1/smartmodules/${id}/versions/${version}${query}`)
    const { body: second } = await get('1.0.1', '?binary=true')
    expect(second).toMatchObject({ version: '1.0.1', source: source(codes[1]!), config: { input_format: 'json', output_format: 'json' } })
    const binary = Buffer.from(second.wasm_binary!, 'base64')
    expect([binary.length, createHash('sha256').update(binary).digest('hex')]).toEqual([second.bytes, second.sha256])
    expect((await get('1.0.0')).body.wasm_binary).toBeUndefined()
    expect((await get('9.9.9')).status).toBe(404)
  })
})

describe('a source', () => {
  it('is compiled with line and column of what is wrong, then deployed, shown, and run', async () => {
    const wrong = await compile(WRONG)
    expect(wrong).toMatchObject({ ok: false, details: [{ path: '/source/code', line: 6, column: 24, text: WRONG.split('\n')[5] }] })
    expect(wrong.details.map(({ message }) => message)).toEqual(["Property 'fnd' does not exist on type 'Record'."])
    const refused = await client.call<{ error: { details: Fault[] } }>('POST', '/v1/smartmodules', {
      name: unique('m'),
      source: source(WRONG),
    })
    expect([refused.status, refused.body.error?.details]).toEqual([400, wrong.details])

    const right = await compile(RIGHT)
    expect(right).toMatchObject({ ok: true, details: [], bytes: expect.any(Number) })
    const name = unique('m')
    const made = await client.call<{ id: string }>('POST', '/v1/smartmodules', { name, source: source(RIGHT) })
    expect(made.status).toBe(201)
    const shown = (await client.call('GET', `/v1/smartmodules/${made.body.id}`)).body
    expect(shown).toMatchObject({ source: source(RIGHT), sha256: right.sha256, bytes: right.bytes, kind: 'batch' })

    const [from, to] = [await createStream(client, { amount: 'number' }), await createStream(client, { amount: 'number' })]
    await createPipeline(client, from.id, [{ name, config: {} }], to.id)
    await write(client, from.id, [{ amount: 50 }, { amount: 150 }, { amount: 101 }])
    await waitForTotal(client, to.id, 2)
    expect((await readAll(client, to.id)).map((record) => record.amount).toSorted()).toEqual([101, 150])
  })

  it.each<[what: string, code: string, message: RegExp, line: number | undefined]>([
    [
      'no function of the SDK',
      `export function keep(): bool { return true }`,
      /exports exactly one of filter, map, filterMap, arrayMap; found keep/,
      1,
    ],
    [
      'two of them',
      `import { Record } from 'dps'\nexport function filter(r: Record): bool { return true }\nexport function map(r: Record): void {}`,
      /found filter, map/,
      3,
    ],
    [
      'one in a comment',
      `// export function filter(r: Record): bool\n/* export function map() */ const x = "export function map"`,
      /found none/,
      undefined,
    ],
    ['another form than the SDK’s', `export function filter(a: i32, b: i32): bool { return true }`, /not the form that the SDK expects/, 1],
    [
      'an import of a file',
      `import { x } from './secrets'\nimport { Record } from 'dps'\nexport function filter(r: Record): bool { return x }`,
      /only 'dps' may be imported: 'secrets' is not found/,
      1,
    ],
    [
      'a map that returns what it makes',
      `import { Record } from 'dps'\nexport function map(record: Record): string { return '{}' }`,
      /^map returns void, and not string: a record is changed in place, for example by record.setText/,
      2,
    ],
    ['an import that is no export', `import { Rekord } from 'dps'\nexport function filter(r: Rekord): bool { return true }`, /Rekord/, 1],
    ['a brace too few', `import { Record } from 'dps'\nexport function filter(r: Record): bool {\n  return true`, /expected/, 3],
    ['nothing but words', `this is no program`, /./, undefined],
  ])('that has %s is refused with a sentence', async (_what, code, message, line) => {
    const { ok, details } = await compile(code)
    expect(ok).toBe(false)
    expect(details.map((each) => each.message).join('\n')).toMatch(message)
    if (line !== undefined) expect(details[0]!.line).toBe(line)
  })

  it('says by its settings what configs it takes, at a trial and when a pipeline is created', async () => {
    const code = `import { Path, Record } from 'dps'
export class Settings {
  /** @minimum 0 */
  above: f64 = 10
  field!: string
}
export const settings = new Settings()
export function filter(record: Record): bool { return record.number(new Path(settings.field)) > settings.above }
`
    const name = unique('settings')
    const { parameters } = (await client.call<{ parameters: object }>('POST', '/v1/smartmodules/compile', { source: source(code) })).body
    expect(parameters).toMatchObject({ required: ['field'], properties: { above: { type: 'number', minimum: 0, default: 10 } } })
    const { id } = (await client.call<{ id: string }>('POST', '/v1/smartmodules', { name, source: source(code) })).body
    expect((await client.call<{ config: object }>('GET', `/v1/smartmodules/${id}`)).body.config).toMatchObject({ parameters })
    const trial = (config: object) =>
      client.call<{ records: { outcome: string }[] }>('POST', '/v1/smartmodules/test', {
        processors: [{ source: source(code), config }],
        records: [{ value: { n: 20 } }],
      })
    expect((await trial({ field: 'n' })).body.records[0]!.outcome).toBe('delivered')
    expect((await trial({ field: 'n', above: 30 })).body.records[0]!.outcome).toBe('filtered')
    const [stream, sink] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const create = (config: object) =>
      client.call('POST', '/v1/pipelines', {
        name: unique('settings'),
        source: { connector_id: 'conn_stream', config: { stream_id: stream.id } },
        processors: [{ module_id: id, config }],
        sink: { connector_id: 'conn_stream', config: { stream_id: sink.id } },
      })
    for (const ask of [trial, create]) {
      const paths = async (config: object) => (await ask(config)).body.error?.details?.map(({ path }) => path)
      expect(await paths({ field: 'n', above: 'much' })).toEqual(['/processors/0/config/above'])
      expect(await paths({ above: -1 })).toEqual(expect.arrayContaining(['/processors/0/config/field', '/processors/0/config/above']))
      expect(await paths({ field: 'n', over: 1 })).toEqual(['/processors/0/config/over'])
    }
  })

  it('may export its function by another name', async () => {
    const code = `import { Record } from 'dps'\nfunction keep(r: Record): bool { return true }\nexport { keep as filter }`
    expect(await compile(code)).toMatchObject({ ok: true })
  })

  it('that makes the compiler run without end is given up', async () => {
    const code = `import { Record } from 'dps'\nfunction f<T>(): i32 { return f<Array<T>>() + f<StaticArray<T>>() }\nexport function filter(r: Record): bool { return f<i32>() > 0 }`
    const { ok, details } = await compile(code)
    expect([ok, details.length]).toEqual([false, 1])
    expect(details[0]!.message).toContain('does a generic class or function use itself with ever larger types?')
    expect(await compile(RIGHT)).toMatchObject({ ok: true })
  })

  it('that becomes too large is refused, and what is wrong with one is told briefly', async () => {
    const names = 'A'.repeat(2200)
    const types = [
      `type T0 = P<${names}, ${names}>`,
      ...Array.from({ length: 11 }, (_, index) => `type T${index + 1} = P<T${index}, T${index}>`),
    ]
    const code = (use: string) => `import { Record } from 'dps'\nclass ${names} {}\nclass P<X, Y> {}\n${types.join('\n')}\n${use}`
    const large = await compile(
      code('export function filter(record: Record): bool { return nameof<T11>().charCodeAt(<i32>record.offset) > 3 }'),
    )
    expect(large).toMatchObject({ ok: false, details: [{ path: '/source/code' }] })
    const wrong = await compile(code('export function filter(record: Record): bool { let x: T8 = record; return true }'))
    expect(wrong.ok).toBe(false)
    expect(JSON.stringify(wrong).length).toBeLessThan(2000)
  })

  it('and a binary are not both taken, nor neither', async () => {
    const neither = await client.call('POST', '/v1/smartmodules', { name: unique('m') })
    const both = await client.call('POST', '/v1/smartmodules', { name: unique('m'), source: source(RIGHT), wasm_binary: 'AAAA' })
    for (const { status, body } of [neither, both]) expect([status, body.error!.details![0]!.path]).toEqual([400, '/wasm_binary'])
  })
})

describe('the tests of a SmartModule', () => {
  const keeps = (least: number) => RIGHT.replace('> 100', `> ${least}`)
  const tests = [
    {
      title: 'keeps large ones',
      records: [{ value: { amount: 150 } }, { value: { amount: 50 } }, { value: null }],
      out: [{ amount: 150 }, null],
    },
  ]
  type Refused = { error?: { details: { path: string; message: string }[] } }
  const deploy = (body: object) => client.call<Refused & { id: string; version: string }>('POST', '/v1/smartmodules', body)

  it('are run before it is deployed, and before each later version', async () => {
    const name = unique('m')
    const first = await deploy({ name, source: source(keeps(100)), tests })
    expect([first.status, first.body.version]).toEqual([201, '1.0.0'])
    const { body } = await client.call<{ tests: object[] }>('GET', `/v1/smartmodules/${first.body.id}/versions/1.0.0`)
    expect(body.tests).toMatchObject([{ title: 'keeps large ones', config: {}, failures: [] }])
    const wrong = await deploy({ name, source: source(keeps(200)) })
    expect([wrong.status, wrong.body.error?.details]).toEqual([
      400,
      [{ path: '/tests/0/out/0', message: 'is {"amount":150}, and the version makes null' }],
    ])
    expect((await deploy({ name, source: source(keeps(120)) })).body.version).toBe('1.0.1')
    expect((await deploy({ name, source: source(keeps(200)), tests: [] })).body.version).toBe('1.0.2')
    expect((await deploy({ name, source: source(keeps(300)) })).body.version).toBe('1.0.3')
  })

  it('count as bytes of every version that keeps them, and have at most 1 MiB together', async () => {
    const name = unique('m')
    const large = { amount: 150, text: 'ü'.repeat(200_000) }
    const kept = [{ records: [{ value: large }], out: [large] }]
    const used = async () =>
      (await client.call<{ quotas: { smartmodule_bytes: { used: number } } }>('GET', '/v1/account')).body.quotas.smartmodule_bytes.used
    const before = await used()
    const first = await deploy({ name, source: source(keeps(100)), tests: kept })
    expect([first.status, first.body.error]).toEqual([201, undefined])
    const after = await used()
    expect(after - before).toBeGreaterThan(800_000)
    // They go on to the next version.
    expect((await deploy({ name, source: source(keeps(120)) })).status).toBe(201)
    expect((await used()) - after).toBeGreaterThan(800_000)
    const refused = await deploy({ name, source: source(keeps(100)), tests: [...kept, ...kept] })
    expect([refused.status, refused.body.error?.details]).toEqual([
      400,
      [{ path: '/tests', message: 'must have at most 1048576 bytes together' }],
    ])
    const { body } = await client.call<{ versions: object[] }>('GET', `/v1/smartmodules/${first.body.id}/versions`)
    expect(body.versions.map((version) => Object.keys(version).toSorted())).toEqual(
      Array.from({ length: 2 }, () => ['bytes', 'created_at', 'kind', 'sha256', 'status', 'version']),
    )
    expect((await client.call('DELETE', `/v1/smartmodules/${first.body.id}`)).status).toBe(204)
  })

  it('compare numbers by their value, with all digits', async () => {
    const name = unique('m')
    const code = RIGHT.replace('> 100', '> 0')
    const text = JSON.stringify({ name, source: source(code), tests: ['RECORDS'] })
    const given = (out: string) =>
      text.replace('"RECORDS"', `{"records": [{"value": {"amount": 12.50}}, {"value": {"amount": 9007199254740993}}], "out": [${out}]}`)
    const wrong = await client.call<Refused>('POST', '/v1/smartmodules', given('{"amount": 12.5}, {"amount": 9007199254740992}'))
    expect([wrong.status, wrong.body.error?.details]).toEqual([
      400,
      [{ path: '/tests/0/out/1', message: 'is {"amount":9007199254740992}, and the version makes {"amount":9007199254740993}' }],
    ])
    const right = given('{"amount": 12.5}, {"amount": 9007199254740993}')
    expect((await client.call('POST', '/v1/smartmodules', right)).status).toBe(201)
    // What is kept has all digits too.
    const next = await deploy({ name, source: source(code.replace('return slice.kind', 'return false && slice.kind')) })
    expect(next.body.error?.details).toEqual([{ path: '/tests/0/out/0', message: 'is {"amount":12.5}, and the version makes nothing' }])
    expect((await deploy({ name, source: source(code.replace('> 0', '> 1')) })).status).toBe(201)
  })

  it('have configs that a pipeline could have', async () => {
    const settings = `export class Settings { above: f64 = 100 }\nexport const settings = new Settings()\n`
    const code = keeps(100).replace('> 100', '> settings.above').replace(/\n/, `\n${settings}`)
    const records = [{ value: { amount: 150 } }]
    const wrong = await deploy({
      name: unique('m'),
      source: source(code),
      tests: [
        { config: { above: 100 }, records, out: [{ amount: 150 }] },
        { config: { abv: 1 }, records, out: [{ amount: 150 }] },
        { config: { above: 'x' }, records, out: [{ amount: 150 }] },
      ],
    })
    expect([wrong.status, wrong.body.error?.details.map(({ path }) => path)]).toEqual([
      400,
      ['/tests/1/config/abv', '/tests/2/config/above'],
    ])
    const right = { name: unique('m'), source: source(code), tests: [{ config: { above: 200 }, records, out: [] }] }
    expect((await deploy(right)).status).toBe(201)
  })

  it('name what fails otherwise than expected, and leave nothing behind', async () => {
    const name = unique('m')
    const fails = RIGHT.replace('return slice.kind', "if (slice.kind == Kind.String) record.fail('a text')\n  return slice.kind")
    const given = { records: [{ value: { amount: 'x' } }], out: [], failures: ['a text'] }
    const wrong = await deploy({ name, source: source(fails), tests: [given, { ...given, failures: [] }] })
    expect(wrong.body.error?.details).toEqual([{ path: '/tests/1/failures/0', message: 'is nothing, and the version makes "a text"' }])
    expect((await client.call<{ modules: object[] }>('GET', `/v1/smartmodules?name=${name}`)).body.modules).toEqual([])
    expect((await deploy({ name, source: source(fails), tests: [given] })).status).toBe(201)
  })
})
