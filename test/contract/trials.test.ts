/** SmartModules tried before they are deployed: over given records, and over those of a stream; nothing is written. */
import { beforeAll, describe, expect, it } from 'vitest'
import { loggedIn, patiently, service, unique, type Client } from '../harness/client.ts'
import { openAccount } from '../harness/operator.ts'
import { FRAMING_BYTES } from '../../shared/model/framing.ts'
import { createStream, write, type Page } from '../harness/pipelines.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
})

const source = (code: string) => ({ language: 'typescript', code })
const DOUBLE = `import { Record, Path, Segment, Kind, numberOf } from 'dps'
const n = new Path('n')
const name = new Segment('twice')
export function map(record: Record): void {
  const slice = record.find(n)
  if (slice.kind != Kind.Number) return record.fail('n is no number')
  record.setText(name, (numberOf(slice.start, slice.end) * 2).toString())
}
`
type Step = { module: string; outcome: string; out: { value: { json: unknown } }[]; error: { code: string; message: string } | null }
type Traced = {
  not_run?: number
  records: {
    outcome: string
    reason: string
    input: { value: { json: unknown; base64: string } }
    outputs: { key: unknown; value: { json: unknown } | null }[]
    steps: Step[]
  }[]
}
const trial = (body: object, by = client) => by.call<Traced>('POST', '/v1/smartmodules/test', body)
const outputs = ({ records }: Traced) => records.map((record) => record.outputs.map(({ value }) => value?.json))

describe('a trial', () => {
  it('shows what sources and deployed SmartModules make of given records, step by step', async () => {
    const cast = { module_id: 'dps/cast', config: { fields: { n: 'integer' } } }
    const keep = { module_id: 'dps/filter@1.0.0', config: { field: 'n', operator: 'gt', value: 2 } }
    const { status, body } = await trial({
      processors: [cast, { source: source(DOUBLE) }, keep],
      records: [{ key: 'a', value: { n: '3' } }, { value: { n: '1' } }, { value: { n: 'x' } }, { value: null }, { value: { m: 1 } }],
    })
    expect(status).toBe(200)
    expect(body.records.map(({ outcome }) => outcome)).toEqual(['delivered', 'filtered', 'dead_letter', 'delivered', 'dead_letter'])
    expect(outputs(body)[0]).toEqual([{ n: 3, twice: '6.0' }])
    expect(body.records[0]!.steps.map(({ module, outcome }) => [module, outcome])).toEqual([
      ['dps/cast', 'changed'],
      ['source', 'changed'],
      ['dps/filter', 'passed'],
    ])
    expect(body.records[2]!.steps[0]!.error!.message).toBe('the field n is not an integer: "x"')
    expect(body.records[4]!.steps[1]!.error!.message).toBe('n is no number')
  })

  it('gives all that is made of a record its offset, as a pipeline does', async () => {
    const sample = { module_id: 'dps/sample', config: { share: 0.5 } }
    const items = Array.from({ length: 10 }, (_, item) => ({ item }))
    const { status, body } = await trial({
      processors: [{ module_id: 'dps/explode', config: { field: 'items' } }, sample],
      records: Array.from({ length: 50 }, (_, n) => ({ value: { n, items } })),
    })
    expect(status).toBe(200)
    const counts = outputs(body).map(({ length }) => length)
    expect([...new Set(counts)].sort()).toEqual([0, 10])
  })

  it('runs given records with all digits of their numbers, and refuses other numbers that would lose theirs', async () => {
    const processors = [{ module_id: 'dps/filter', config: { field: 'n', operator: 'eq', value: 9007199254740992 } }]
    const value = '{"n":9007199254740993,"price":12.50,"list":[1e400]}'
    const given = (record: string) => JSON.stringify({ processors, records: ['RECORD'] }).replace('"RECORD"', record)
    const { body } = await client.call<Traced>('POST', '/v1/smartmodules/test', given(`{"value": ${value}}`))
    expect(body.records[0]!.outcome).toBe('filtered')
    expect(Buffer.from(body.records[0]!.input.value.base64, 'base64').subarray(FRAMING_BYTES).toString()).toBe(value)
    const limit = await client.call('POST', '/v1/smartmodules/test', given(`{"value": 1, "key": 9007199254740993}`))
    expect([limit.status, limit.body.error!.details]).toEqual([
      400,
      [{ path: '/records/0/key', message: 'is a number that would lose digits' }],
    ])
  })

  it('gives SmartModules the bytes of given records, as a topic would', async () => {
    const values = ['{ "a": 5.0,"b":1e2, "c":-0.0,\n"2":1,"1":2,"a":5.0 }', '"\\u0041\\ud800"', ' [ 1.0 ]', '-0', '"ß"']
    const processors = [{ module_id: 'dps/cel', config: { filter: 'true' } }]
    const body = `{"processors":${JSON.stringify(processors)},"records":[${values.map((value) => `{"key":"k", "value" :${value}}`).join(' , ')}]}`
    const { status, body: answer } = await client.call<Traced>('POST', '/v1/smartmodules/test', body)
    expect(status).toBe(200)
    const seen = answer.records.map(({ input }) => Buffer.from(input.value.base64, 'base64').subarray(FRAMING_BYTES).toString())
    expect(seen).toEqual(values.map((value) => value.trim()))
    const half = [{ module_id: 'dps/cel', config: { set: { half: 'value.a / 2' } } }]
    const { body: halved } = await client.call<Traced>(
      'POST',
      '/v1/smartmodules/test',
      `{"processors":${JSON.stringify(half)},"records":[{"value":{"a":5.0}}]}`,
    )
    expect(outputs(halved)).toEqual([[{ a: 5, half: 2.5 }]])
  })

  it('keeps the numbers of tests as they are written, for later versions too', async () => {
    const code = `import { Record, Path, Segment } from 'dps'
const n = new Path('n')
const text = new Segment('text')
export function map(record: Record): void {
  const slice = record.find(n)
  record.setText(text, String.UTF8.decodeUnsafe(slice.start, slice.end - slice.start))
}`
    const upload = { name: unique('written'), source: source(code) }
    const tests = '[{"records":[{"value":{"n":5.0}},{"value":{"n":1e2}}],"out":[{"n":5,"text":"5.0"},{"n":100,"text":"1e2"}]}]'
    const first = await client.call('POST', '/v1/smartmodules', `${JSON.stringify(upload).slice(0, -1)},"tests":${tests}}`)
    expect([first.status, first.body]).toEqual([201, expect.anything()])
    const next = await client.call('POST', '/v1/smartmodules', upload)
    expect([next.status, next.body]).toEqual([201, expect.anything()])
  })

  it('shows what a SmartModule logged for each record, and how long it took', async () => {
    const code = `import { Record, Path, count, log, textOf } from 'dps'
const n = new Path('n')
export function filter(record: Record): bool {
  const slice = record.find(n)
  log('saw ' + textOf(slice.start, slice.end))
  count('Not A Name')
  for (let i = 0; i < 100; i++) log('x'.repeat(600))
  return true
}`
    const { body } = await trial({ processors: [{ source: source(code) }], records: [{ value: { n: 'a' } }, { value: { n: 'b' } }] })
    const steps = body.records.map(({ steps: [step] }) => step as unknown as { logs: string[]; nanoseconds: number; memory_bytes: number })
    expect(steps.map(({ logs }) => [logs.length, logs[0], logs[1]])).toEqual([
      [50, 'saw a', expect.stringContaining('"Not A Name"')],
      // It is said once.
      [50, 'saw b', expect.stringMatching(/^x+/)],
    ])
    expect(steps[0]!.logs[2]!.length).toBe(501)
    expect(steps.every(({ nanoseconds }) => nanoseconds > 1000)).toBe(true)
    // Whole pages, of what the instance may have at most.
    expect(steps.every(({ memory_bytes: bytes }) => bytes > 0 && bytes % 65_536 === 0 && bytes <= 64 << 20)).toBe(true)
  })

  it('shows a time, key or headers that a step has changed', async () => {
    const { body } = await trial({
      processors: [{ module_id: 'dps/timestamp', config: { field: 'at' } }],
      records: [{ value: { at: '2026-01-02T03:04:05Z' } }],
    })
    expect(body.records[0]).toMatchObject({ outputs: [{ timestamp: '2026-01-02T03:04:05.000Z' }], steps: [{ outcome: 'changed' }] })
  })

  it('reads the last records of a stream, and writes nothing', async () => {
    const { id } = await createStream(client, { n: 'integer' }, { partitions: 1 })
    await write(
      client,
      id,
      Array.from({ length: 30 }, (_, n) => ({ n })),
    )
    const { body } = await trial({ processors: [{ source: source(DOUBLE) }], stream_id: id, limit: 3 })
    expect(outputs(body)).toEqual([[{ n: 27, twice: '54.0' }], [{ n: 28, twice: '56.0' }], [{ n: 29, twice: '58.0' }]])
    const early = await trial({
      processors: [{ source: source(DOUBLE) }],
      stream_id: id,
      from: { offsets: { 0: 5 } },
      partition: 0,
      limit: 1,
    })
    expect(outputs(early.body)).toEqual([[{ n: 5, twice: '10.0' }]])
    expect((await client.call<Page>('GET', `/v1/streams/${id}/data?limit=1`)).body.pagination.total).toBe(30)
  })

  it('names what is wrong: the line of a source, a config, an unknown SmartModule, a record too few', async () => {
    const records = [{ value: { n: 1 } }]
    const paths = async (body: object) => {
      const answer = await trial(body)
      expect(answer.status).toBe(400)
      return answer.body.error!.details!.map(({ path }) => path)
    }
    const wrong = await trial({
      processors: [
        { module_id: 'dps/filter', config: { field: 'n', operator: 'exists' } },
        { source: source(DOUBLE.replace('find', 'fnd')) },
      ],
      records,
    })
    expect(wrong.body.error!.details).toMatchObject([{ path: '/processors/1/source/code', line: 5 }])
    expect(await paths({ processors: [{ module_id: 'dps/filter', config: { operator: 'eq' } }], records })).toEqual([
      '/processors/0/config/field',
    ])
    expect(await paths({ processors: [{ module_id: 'dps/cast', config: { fields: { a: 'int' } } }], records })).not.toEqual([])
    expect(await paths({ processors: [{ source: source(DOUBLE) }, { module_id: 'nothing' }], records })).toEqual([
      '/processors/1/module_id',
    ])
    expect(await paths({ processors: [{ source: source(DOUBLE) }] })).toEqual(['/records'])
    expect(await paths({ processors: [{ source: source(DOUBLE) }], stream_id: 'st_unknown' })).toEqual(['/stream_id'])
    expect(await paths({ processors: [{}], records })).toEqual(['/processors/0/module_id'])
    expect(await paths({ processors: Array.from({ length: 5 }, () => ({ source: source(DOUBLE) })), records })).toEqual(['/processors'])
  })

  it('ends with what is known of a source that never returns', async () => {
    const code = `import { Record } from 'dps'\nexport function filter(record: Record): bool {\n  while (record.offset == 1) {}\n  return true\n}`
    const values = [{ value: 1 }, { value: 2 }, { value: 3 }]
    const { status, body } = await patiently(() => trial({ processors: [{ source: source(code) }], records: values }))
    expect(status).toBe(200)
    expect(body.records.map(({ outcome }) => outcome)).toEqual(['delivered', 'dead_letter'])
    expect(body.records[1]!.steps[0]!.error!.code).toBe('module_timeout')
    expect(body.not_run).toBe(1)
    const deploying = { name: unique('hangs'), source: source(code), tests: [{ records: values, out: [1, 2, 3] }] }
    const refused = await patiently(() => client.call('POST', '/v1/smartmodules', deploying))
    expect(refused.body.error!.details).toEqual([{ path: '/tests/0/records/1', message: expect.stringContaining('does not return') }])
  })

  it('needs streams:read for a stream, and sees no other account’s', async () => {
    const { id } = await createStream(client, { n: 'integer' })
    const { client: other } = await openAccount('enterprise')
    const body = { processors: [{ source: source(DOUBLE) }], stream_id: id }
    expect((await trial(body, other)).status).toBe(400)
    const key = await client.call<{ api_key: string; api_secret: string }>('POST', '/v1/keys', {
      name: unique('k'),
      scopes: ['smartmodules:read'],
    })
    const reader = await loggedIn(key.body)
    expect((await trial(body, reader)).body.error!.message).toContain('smartmodules:write')
    const deployed = { processors: [{ module_id: 'dps/filter', config: { field: 'n', operator: 'exists' } }] }
    expect((await trial({ ...deployed, stream_id: id }, reader)).body.error!.message).toContain('streams:read')
    expect((await trial({ ...deployed, records: [{ value: { n: 1 } }] }, reader)).status).toBe(200)
  })
})
