/** SmartModules tried before they are deployed: over given records, and over those of a stream; nothing is written. */
import { beforeAll, describe, expect, it } from 'vitest'
import { eventually, loggedIn, patiently, service, unique, type Client } from '../harness/client.ts'
import { openAccount } from '../harness/operator.ts'
import { FRAMING_BYTES } from '../../shared/model/framing.ts'
import { createPipeline, createStream, waitForStatus, write, type Page } from '../harness/pipelines.ts'

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
    expect(await paths({ processors: [{ source: source(DOUBLE) }], pipeline_id: 'pl_unknown' })).toEqual(['/pipeline_id'])
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

describe('a trial of a pipeline’s records', () => {
  type Tried = {
    total?: number
    records: {
      offset: number
      outcome: string
      input: { timestamp: string }
      outputs: { value: { json: unknown } }[]
      dead_letter?: unknown
    }[]
  }
  type Letters = { dead_letters: { id: string; offset: number }[] }
  const KEEP = `import { Path, Record } from 'dps'
const count = new Path('count')
export function filter(record: Record): bool { return record.integer(count) > 0 }
`
  const MEAN = { set: { mean: 'value.sum / value.count' } }
  let [id, name] = ['', '']
  let moduleId = ''
  let letters: Letters['dead_letters'] = []
  const tried = async (body: object, by = client) =>
    by.call<Tried>('POST', '/v1/smartmodules/test', { processors: [{ module_id: 'dps/cel', config: MEAN }], pipeline_id: id, ...body })
  const previewed = (body: object) => client.call<Tried>('POST', `/v1/pipelines/${id}/preview`, body)
  const offsets = ({ body }: { body: Tried }) => body.records.map(({ offset }) => offset)

  beforeAll(async () => {
    const schema = { sum: 'integer', count: 'integer' }
    const [from, to] = [await createStream(client, schema, { partitions: 1 }), await createStream(client, { ...schema, mean: 'integer' })]
    name = unique('keep')
    moduleId = (await client.call<{ id: string }>('POST', '/v1/smartmodules', { name, source: source(KEEP.replace('> 0', '>= 0')) })).body
      .id
    id = await createPipeline(
      client,
      from.id,
      [
        { name, config: {} },
        { name: 'dps/cel', config: MEAN },
      ],
      to.id,
      { failure_threshold: 1 },
    )
    await waitForStatus(client, id, 'running')
    await write(
      client,
      from.id,
      [0, 1, 0, 2, 0].map((count, sum) => ({ sum, count })),
    )
    letters = await eventually('three are dead letters', async () => {
      const { body } = await client.call<Letters>('GET', `/v1/pipelines/${id}/dead-letters`)
      return body.dead_letters.length === 3 && body.dead_letters
    })
  })

  it('runs its dead letters as a redrive would, those that failed last first, and says how each failed', async () => {
    const { status, body } = await tried({ dead_letters: {}, limit: 2 })
    expect([status, body.total]).toEqual([200, 3])
    expect(body.records).toMatchObject([
      { offset: 4, outcome: 'dead_letter', dead_letter: { id: letters[2]!.id, step: 2, error: { code: 'record_failed' } } },
      { offset: 2, outcome: 'dead_letter', dead_letter: { id: letters[1]!.id } },
    ])
    const mended = [{ source: source(KEEP) }, { module_id: 'dps/cel', config: MEAN }]
    expect((await tried({ processors: mended, dead_letters: { step: 2 } })).body.records.map(({ outcome }) => outcome)).toEqual(
      Array(3).fill('filtered'),
    )
    expect((await tried({ dead_letters: { step: 1 } })).body).toMatchObject({ records: [], total: 0 })
    // The record itself, not the dead letter that holds it.
    const [newest] = (await tried({ limit: 1 })).body.records
    expect([newest!.offset, newest!.dead_letter]).toEqual([4, undefined])
    expect(body.records[0]!.input).toEqual(newest!.input)
  })

  it('runs dead letters through the pipeline’s own chain or another one, by id whatever has become of them', async () => {
    const ids = [letters[0]!.id, letters[2]!.id]
    const asked = {
      processors: [{ module_id: 'dps/cel', config: { set: { mean: 'value.sum' } } }],
      dead_letters: { ids: [...ids, 'dl_0_999', 'x'] },
    }
    expect((await previewed({ dead_letters: {} })).body.records.map(({ outcome }) => outcome)).toEqual(Array(3).fill('dead_letter'))
    const answer = await previewed(asked)
    expect(answer.body.records.map(({ outputs }) => outputs[0]?.value.json)).toEqual([
      { sum: 4, count: 0, mean: 4 },
      { sum: 0, count: 0, mean: 0 },
    ])
    const patched = await client.call('PATCH', `/v1/pipelines/${id}`, { processors: [{ module_id: name }, asked.processors[0]] })
    expect(patched.status).toBe(200)
    expect((await client.call('POST', `/v1/pipelines/${id}/dead-letters/redrive`, { ids: [ids[0]] })).status).toBe(202)
    await eventually('it is redriven', async () => offsets(await previewed({ dead_letters: {} })).join() === '4,2')
    await eventually('it has left none behind', async () => offsets(await previewed(asked)).join() === '4,0')
  })

  it('refuses dead letters beside a place of the source, and those of no pipeline', async () => {
    const faults = async (answer: Promise<{ status: number; body: { error?: { details?: { path: string }[] } } }>) => {
      const { status, body } = await answer
      return [status, body.error?.details?.map(({ path }) => path)]
    }
    expect(await faults(previewed({ dead_letters: {}, from: 'latest' }))).toEqual([400, ['/from']])
    expect(await faults(tried({ dead_letters: {}, partition: 0 }))).toEqual([400, ['/partition']])
    expect(await faults(tried({ dead_letters: {}, pipeline_id: undefined, records: [{ value: 1 }] }))).toEqual([400, ['/dead_letters']])
    expect(await faults(tried({ stream_id: 'st_1' }))).toEqual([400, ['/records']])
    expect(await faults(previewed({ dead_letters: { ids: [] } }))).toEqual([400, ['/dead_letters/ids']])
    expect(await faults(previewed({ dead_letters: { stp: 1 } }))).toEqual([400, ['/dead_letters/stp']])
  })

  it('needs what reading the pipeline’s records needs, and sees no other account’s', async () => {
    const { client: other } = await openAccount('enterprise')
    expect((await tried({ dead_letters: {} }, other)).body.error!.details).toMatchObject([{ path: '/pipeline_id' }])
    for (const [scopes, missing] of [
      [['smartmodules:read', 'streams:read'], 'pipelines:read'],
      [['smartmodules:read', 'pipelines:read'], 'streams:read'],
    ]) {
      const key = await client.call<{ api_key: string; api_secret: string }>('POST', '/v1/keys', { name: unique('k'), scopes })
      expect((await tried({}, await loggedIn(key.body))).body.error).toMatchObject({
        code: 'forbidden',
        message: expect.stringContaining(missing as string),
      })
    }
  })

  it('is found by the SmartModule that it uses', async () => {
    const using = async (module: string) =>
      (await client.call<{ pipelines: { id: string }[]; total: number }>('GET', `/v1/pipelines?module_id=${encodeURIComponent(module)}`))
        .body
    expect(await using(moduleId)).toMatchObject({ pipelines: [{ id }], total: 1 })
    expect(await using('sm_other')).toMatchObject({ pipelines: [], total: 0 })
  })
})
