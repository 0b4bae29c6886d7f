/** Tails: records as they pass a place of a pipeline, by server-sent events, sampled when they are many, resumed where they were left. */
import { beforeAll, describe, expect, it } from 'vitest'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { listen, type EventReader } from '../harness/events.ts'
import { createPipeline, createStream, waitForTotal, write } from '../harness/pipelines.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
})

type Shown = { value: { json: { n: number; big?: unknown } } }
type Frame = {
  records: {
    partition: number
    offset: number
    record?: Shown
    step?: { outcome: string; in: Shown[]; out: Shown[] }
    error?: { step: number; code: string; message: string }
  }[]
  sampled: boolean
  dropped: number
  undecided?: object
}
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => ({ n: from + index }))
const recordsOf = ({ events }: EventReader<Frame>) => events.filter(({ event }) => event === 'frame').flatMap(({ data }) => data.records)
const valuesOf = (reader: EventReader<Frame>) => recordsOf(reader).map(({ record }) => record!.value.json.n)
const open = (path: string, lastEventId?: string) => listen<Frame>(client, `/v1${path}`, lastEventId)

/** Odd numbers are dropped, others become a hundred times as much, and 4 fails. */
async function setUp() {
  const name = unique('tail')
  const code = `import { Record, Path, Segment, numberOf } from 'dps'
const path = new Path('n')
const n = new Segment('n')
export function filterMap(record: Record): bool {
  const slice = record.find(path)
  const value = numberOf(slice.start, slice.end) as i32
  if (value == 4) record.fail('four')
  if (value % 2 == 1) return false
  const text = String.UTF8.encode((value * 100).toString())
  record.setBytes(n, changetype<usize>(text), text.byteLength)
  return true
}
`
  const deployed = await client.call('POST', '/v1/smartmodules', { name, source: { language: 'typescript', code } })
  expect(deployed).toMatchObject({ status: 201 })
  const [from, to] = [
    await createStream(client, { n: 'integer' }, { partitions: 1 }),
    await createStream(client, { n: 'integer' }, { partitions: 1 }),
  ]
  const id = await createPipeline(client, from.id, [{ name, config: {} }], to.id)
  await write(client, from.id, numbers(0, 6))
  await waitForTotal(client, to.id, 2)
  return { id, from, to }
}

describe('the tail of a pipeline', () => {
  it('shows records at the source, what a step made of them, the sink, and the dead letters', async () => {
    const { id, from } = await setUp()
    const places = ['source', 'step:1', 'sink', 'dead_letters']
    const [source, step, sink, letters] = await Promise.all(places.map((at) => open(`/pipelines/${id}/tail?at=${at}&last=100`)))
    await eventually('the last records are shown', async () => recordsOf(step!).length === 6 && recordsOf(source!).length === 6)
    await write(client, from.id, [{ n: 8 }])
    await eventually('the next record is shown', async () => valuesOf(sink!).includes(800) && recordsOf(step!).length === 7)
    await eventually('the next record is shown at the source', async () => valuesOf(source!).length === 7)
    expect(valuesOf(source!)).toEqual([0, 1, 2, 3, 4, 5, 8])
    expect(recordsOf(step!).map(({ offset, step: made }) => [offset, made!.outcome, made!.out[0]?.value.json.n])).toEqual([
      [0, 'passed', 0],
      [1, 'filtered', undefined],
      [2, 'changed', 200],
      [3, 'filtered', undefined],
      [4, 'failed', undefined],
      [5, 'filtered', undefined],
      [6, 'changed', 800],
    ])
    expect(valuesOf(sink!)).toEqual([0, 200, 800])
    await eventually('the dead letter is shown', async () => recordsOf(letters!).length === 1)
    expect(recordsOf(letters!)[0]).toMatchObject({
      offset: 4,
      record: { value: { json: { n: 4 } } },
      error: { step: 1, code: 'record_failed', message: 'four' },
    })
    for (const each of [source, step, sink, letters]) each!.close()
  })

  it('shows only records for which a CEL expression is true, and names the place of a fault in it', async () => {
    const { id, from } = await setUp()
    const filter = encodeURIComponent('value.n >= 2 && value.n < 400')
    const [source, step] = await Promise.all(
      ['source', 'step:1'].map((at) => open(`/pipelines/${id}/tail?at=${at}&last=100&filter=${filter}`)),
    )
    await eventually('the records are shown', async () => recordsOf(source!).length === 4 && recordsOf(step!).length === 1)
    expect(valuesOf(source!)).toEqual([2, 3, 4, 5])
    expect(recordsOf(step!)[0]!.step!.out[0]!.value.json.n).toBe(200)
    await write(client, from.id, [{ n: 1 }, { n: 399 }])
    await eventually('the next one is shown', async () => valuesOf(source!).includes(399))
    expect(valuesOf(source!)).not.toContain(1)
    const undecided = await open(`/pipelines/${id}/tail?last=100&filter=${encodeURIComponent('value.m >= 2')}`)
    await eventually('it is said that the filter has no answer', async () =>
      undecided.events.some(({ data }) => data.undecided !== undefined),
    )
    const [frame] = undecided.events.filter(({ event }) => event === 'frame')
    expect(frame!.data).toMatchObject({ records: [], undecided: { partition: 0, reason: 'filter: 1:6: no such key: m' } })
    undecided.close()
    const wrong = await client.call('GET', `/v1/pipelines/${id}/tail?filter=${encodeURIComponent('value.n >=')}`)
    expect(wrong).toMatchObject({
      status: 400,
      body: { error: { details: [{ path: '/query/filter', message: expect.stringContaining('1:') }] } },
    })
    source!.close()
    step!.close()
  })

  it('follows the pipeline to the steps and the sink of its next revision, and ends with it', async () => {
    const { id, from } = await setUp()
    const next = await createStream(client, { n: 'integer' }, { partitions: 1 })
    const sink = await open(`/pipelines/${id}/tail?at=sink&last=0`)
    const changed = await client.call('PATCH', `/v1/pipelines/${id}`, {
      sink: { connector_id: 'conn_stream', config: { stream_id: next.id } },
    })
    expect(changed.status).toBe(200)
    await eventually('records of the new sink are shown', async () => {
      await write(client, from.id, [{ n: 12 }])
      const { body } = await client.call<{ pagination: { total: number } }>('GET', `/v1/streams/${next.id}/data`)
      return body.pagination.total > 0 && valuesOf(sink).includes(1200)
    })
    await client.call('POST', `/v1/pipelines/${id}/stop`)
    expect((await client.call('DELETE', `/v1/pipelines/${id}`)).status).toBeOneOf([202, 204])
    await sink.ended
  })

  it('refuses places that the pipeline does not have, and other accounts; a HEAD ends at once', async () => {
    const { id } = await setUp()
    const head = await fetch(`${service().apiUrl}/v1/pipelines/${id}/tail`, {
      method: 'HEAD',
      headers: { Authorization: `Bearer ${client.token}` },
    })
    expect([head.status, head.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/event-stream')])
    expect((await client.call('GET', `/v1/pipelines/${id}/tail?at=step:2`)).status).toBe(409)
    expect((await client.call('GET', `/v1/pipelines/${id}/tail?at=middle`)).status).toBe(400)
    const other = await loggedIn(service().accounts.other)
    expect((await other.call('GET', `/v1/pipelines/${id}/tail`)).status).toBe(404)
  })
})

describe('the tail of a stream', () => {
  it('shows a sample of many records, and tells how many it left out', async () => {
    const stream = await createStream(client, { n: 'integer' }, { partitions: 2 })
    await write(client, stream.id, numbers(0, 1))
    const reader = await open(`/streams/${stream.id}/tail`)
    // It is connected before it has found its place.
    await eventually('it has begun', async () => recordsOf(reader).length > 0)
    for (let n = 0; n < 20_000; n += 5000) await write(client, stream.id, numbers(n, n + 5000))
    const told = () => reader.events.reduce((sum, { data }) => sum + data.dropped + data.records.length, 0)
    await eventually('all records are shown or told', async () => told() > 20_000)
    expect(recordsOf(reader).length).toBeLessThan(2000)
    expect(recordsOf(reader).length).toBeGreaterThan(0)
    // Markers of transactions count as left out.
    expect(told()).toBeLessThan(20_100)
    expect(reader.events.some(({ data }) => data.sampled)).toBe(true)
    reader.close()
  })

  it('goes on after the last event that a client has seen', async () => {
    const stream = await createStream(client, { n: 'integer' }, { partitions: 1 })
    await write(client, stream.id, numbers(0, 5))
    const first = await open(`/streams/${stream.id}/tail?last=2`)
    await eventually('some are shown', async () => recordsOf(first).length > 0)
    first.close()
    expect(valuesOf(first).at(-1)).toBe(4)
    await write(client, stream.id, numbers(5, 8))
    const again = await open(`/streams/${stream.id}/tail`, first.events.at(-1)!.id)
    await eventually('the missed ones are shown', async () => recordsOf(again).length >= 3)
    expect(valuesOf(again)).toEqual([5, 6, 7])
    again.close()
    const other = await createStream(client, { n: 'integer' })
    const elsewhere = await open(`/streams/${other.id}/tail`, first.events.at(-1)!.id)
    await write(client, other.id, numbers(8, 9))
    await eventually('the other stream’s is shown', async () => recordsOf(elsewhere).length > 0)
    expect(valuesOf(elsewhere)).toEqual([8])
    elsewhere.close()
  })

  it('shows values of Avro as JSON', async () => {
    const stream = await createStream(client, { n: 'integer' }, { format: 'avro', partitions: 1 })
    await write(client, stream.id, [{ n: 12 }])
    const reader = await open(`/streams/${stream.id}/tail`)
    await eventually('it is shown', async () => recordsOf(reader).length === 1)
    expect(valuesOf(reader)).toEqual([12])
    reader.close()
  })
})
