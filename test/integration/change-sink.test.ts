/** PATCH changes a sink's config: every record is in the old target or the new one, once; a change that loses the position is refused. */
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, loggedIn, patiently, service, unique, type Client } from '../harness/client.ts'
import { bucket, connect, openS3, openWarehouse, stream, table, waitForRows, type Endpoint } from '../harness/connectors.ts'
import { createStream, readAll, waitForRevision, waitForStatus, waitForTotal, write } from '../harness/pipelines.ts'
import { openStore, placeAt } from '../harness/object-store.ts'
import { killProcessors } from '../harness/processes.ts'

let client: Client
let warehouse: pg.Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.other)
  warehouse = await openWarehouse()
  await warehouse.query('CREATE TABLE IF NOT EXISTS refused_d (n bigint)')
})
afterAll(() => warehouse.end())

type Refusal = { error: { details?: { path: string; message: string }[] } }
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => ({ n: from + index }))
const change = (id: string, sink: Endpoint, query = '') =>
  patiently(() => client.call<Refusal>('PATCH', `/v1/pipelines/${id}${query}`, { sink }))

describe('another config of the sink', () => {
  it('sends objects to another prefix and in another format, through kills, each record under one of the two prefixes', async () => {
    const [before, after] = [`${unique('before')}/`, `${unique('after')}/`]
    const from = await createStream(client, { n: 'integer' }, { partitions: 2 })
    const id = await connect(client, stream(from.id), [], bucket({ prefix: before, object_bytes: 5000, interval_ms: 300 }))
    const s3 = openS3()
    const found = async (prefix: string) => {
      const values: number[] = []
      for (const key of await s3.keys(prefix))
        for (const line of Buffer.from(await s3.get(key))
          .toString()
          .trim()
          .split(/\r?\n/)) {
          const n = line.startsWith('{') ? (JSON.parse(line) as { n: number }).n : Number(line)
          if (!Number.isNaN(n)) values.push(n)
        }
      return values
    }
    for (let at = 0; at < 2000; at += 500) await write(client, from.id, numbers(at, at + 500))
    await eventually('some objects are there', async () => (await s3.keys(before)).length > 0)
    await killProcessors()
    const changed = await change(id, bucket({ prefix: after, format: 'csv', columns: ['n'], object_bytes: 5000, interval_ms: 300 }))
    expect(changed.status).toBe(200)
    for (let at = 2000; at < 4000; at += 500) await write(client, from.id, numbers(at, at + 500))
    const all = async () => [...(await found(before)), ...(await found(after))].toSorted((a, b) => a - b)
    await eventually('all records are in objects', async () => (await all()).length >= 4000, 60_000)
    expect(await all()).toEqual(numbers(0, 4000).map(({ n }) => n))
    expect((await found(after)).length).toBeGreaterThan(0)
    const shown = (await client.call<{ sink: Endpoint }>('GET', `/v1/pipelines/${id}`)).body.sink
    expect(shown.config).toMatchObject({ prefix: after, format: 'csv' })
    s3.close()
  })

  it('finishes a planned range under its original prefix when the answer to its object was lost', async () => {
    const store = await openStore('deaf')
    const place = { ...(await placeAt(client, store.endpoint)), interval_ms: 100 }
    const from = await createStream(client, { n: 'integer' })
    const id = await connect(client, stream(from.id), [], bucket({ ...place, prefix: 'before/' }))
    await write(client, from.id, numbers(0, 100))
    await eventually('the object is stored but not acknowledged', async () => store.objects.size > 0)
    expect((await change(id, bucket({ ...place, prefix: 'after/' }))).status).toBe(200)
    await write(client, from.id, numbers(100, 200))
    await waitForRevision(client, id, 2)
    store.answer()
    const all = () =>
      [...store.objects].flatMap(([key, { body }]) =>
        body
          .toString()
          .trim()
          .split('\n')
          .map((line) => [key.split('/')[1], JSON.parse(line).n]),
      )
    await eventually('all records are in objects', async () => all().length >= 200)
    expect(
      all()
        .map(([, n]) => n)
        .toSorted((a, b) => a - b),
    ).toEqual(numbers(0, 200).map(({ n }) => n))
    expect(
      all()
        .filter(([, n]) => n < 100)
        .every(([folder]) => folder === 'before'),
    ).toBe(true)
    await client.call('DELETE', `/v1/pipelines/${id}`)
    store.close()
  })

  it('repairs a pipeline that its sink had failed: the planned range goes to the new target, and the status is running', async () => {
    const store = await openStore('refuses')
    const prefix = `${unique('mended')}/`
    const from = await createStream(client, { n: 'integer' })
    const id = await connect(client, stream(from.id), [], bucket({ ...(await placeAt(client, store.endpoint)), interval_ms: 100 }))
    await write(client, from.id, numbers(0, 100))
    await waitForStatus(client, id, 'failed')
    expect((await change(id, bucket({ prefix, interval_ms: 100 }))).status).toBe(200)
    const s3 = openS3()
    const found = async () => {
      const bodies = await Promise.all((await s3.keys(prefix)).map(async (key) => Buffer.from(await s3.get(key)).toString()))
      return bodies.flatMap((body) =>
        body
          .trim()
          .split('\n')
          .map((line) => (JSON.parse(line) as { n: number }).n),
      )
    }
    await eventually('all records are in objects', async () => (await found()).length >= 100)
    await waitForStatus(client, id, 'running')
    await write(client, from.id, numbers(100, 150))
    await eventually('the later records are in objects too', async () => (await found()).length >= 150)
    expect((await found()).toSorted((a, b) => a - b)).toEqual(numbers(0, 150).map(({ n }) => n))
    expect((await client.call('POST', `/v1/pipelines/${id}/pause`)).status).toBe(200)
    s3.close()
    store.close()
  })

  it('repairs a pipeline whose sink never answered', async () => {
    const prefix = `${unique('answered')}/`
    const from = await createStream(client, { n: 'integer' })
    await write(client, from.id, numbers(0, 50))
    const nowhere = { ...(await placeAt(client, 'http://127.0.0.1:1')), interval_ms: 100 }
    const made = await client.call<{ pipeline_id: string }>('POST', '/v1/pipelines?check=false', {
      name: unique('unanswered'),
      source: stream(from.id),
      processors: [],
      sink: bucket(nowhere),
    })
    const id = made.body.pipeline_id
    const tasksOf = async () => (await client.call<{ tasks: { reason: string | null }[] }>('GET', `/v1/pipelines/${id}/status`)).body.tasks
    await eventually('a task reports ECONNREFUSED', async () => (await tasksOf()).some(({ reason }) => reason?.includes('ECONNREFUSED')))
    expect((await change(id, bucket({ prefix, interval_ms: 100 }))).status).toBe(200)
    const s3 = openS3()
    await eventually('the records are there', async () => (await s3.keys(prefix)).length > 0, 60_000)
    const bodies = await Promise.all(
      (await s3.keys(prefix)).map(async (key) =>
        Buffer.from(await s3.get(key))
          .toString()
          .trim(),
      ),
    )
    const found = bodies.flatMap((body) => body.split('\n').map((line) => (JSON.parse(line) as { n: number }).n))
    expect(found.toSorted((a, b) => a - b)).toEqual(numbers(0, 50).map(({ n }) => n))
    s3.close()
  })

  it('writes later rows into another table, from the current position on', async () => {
    const [first, second] = [unique('first'), unique('second')].map((name) => name.replaceAll('-', '_').toLowerCase()) as [string, string]
    const from = await createStream(client, { n: 'integer' })
    const id = await connect(client, stream(from.id), [], table({ table: first }))
    await write(client, from.id, numbers(0, 300))
    await waitForRows(warehouse, first, 300)
    expect((await change(id, table({ table: second, mode: 'upsert', key: ['n'] }))).status).toBe(200)
    await waitForRevision(client, id, 2)
    await write(client, from.id, numbers(300, 500))
    await eventually(
      'the new table is there',
      async () => (await warehouse.query('SELECT to_regclass($1) AS found', [second])).rows[0].found !== null,
    )
    await waitForRows(warehouse, second, 200)
    const { rows } = await warehouse.query(
      `SELECT (SELECT count(*)::int FROM ${first}) AS first, (SELECT min(n)::int FROM ${second}) AS least`,
    )
    expect(rows).toEqual([{ first: 300, least: 300 }])
  })

  it('sends later records into another stream, which can’t be deleted from then on', async () => {
    const from = await createStream(client, { n: 'integer' })
    const [first, second] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const id = await connect(client, stream(from.id), [], stream(first.id))
    await write(client, from.id, numbers(0, 100))
    await waitForTotal(client, first.id, 100)
    expect((await change(id, stream(second.id))).status).toBe(200)
    await waitForRevision(client, id, 2)
    await write(client, from.id, numbers(100, 150))
    await waitForTotal(client, second.id, 50)
    expect((await readAll(client, second.id)).map(({ n }) => n)).toEqual(numbers(100, 150).map(({ n }) => n))
    expect((await client.call('DELETE', `/v1/streams/${second.id}`)).status).toBe(409)
  })

  it.each<[what: string, from: () => Endpoint, to: () => Endpoint, path: string]>([
    ['another connector', () => table({ table: 'refused_a' }), () => bucket({ prefix: 'refused/' }), '/sink/connector_id'],
    [
      'another database than the one that holds the position',
      () => table({ table: 'refused_b' }),
      () => table({ table: 'refused_b', connection: { $secret: 'elsewhere' } }),
      '/sink/config/connection',
    ],
    [
      'an upsert by columns that are not a key',
      () => table({ table: 'refused_d' }),
      () => table({ table: 'refused_d', mode: 'upsert', key: ['n'] }),
      '/sink/config/key',
    ],
    [
      'a folder outside of the prefix',
      () => bucket({ prefix: 'refused/' }),
      () => bucket({ prefix: 'refused/', key: 'a/../../b' }),
      '/sink/config/key',
    ],
    [
      'an incomplete template',
      () => bucket({ prefix: 'refused/' }),
      () => bucket({ prefix: 'refused/', key: '{value.n|date' }),
      '/sink/config/key',
    ],
    ['an unknown member', () => table({ table: 'refused_c' }), () => table({ table: 'refused_c', tabel: 'x' }), '/sink/config/tabel'],
    [
      'a bucket that does not exist',
      () => bucket({ prefix: 'refused/' }),
      () => bucket({ prefix: 'refused/', bucket: 'no-such-bucket-here' }),
      '/sink/config/bucket',
    ],
  ])('is refused when it has %s, and leaves the pipeline unchanged', async (_what, before, after, path) => {
    const from = await createStream(client, { n: 'integer' })
    const id = await connect(client, stream(from.id), [], before())
    const { status, body } = await change(id, after())
    expect([status, body.error.details?.[0]?.path]).toEqual([400, path])
    expect((await client.call('GET', `/v1/pipelines/${id}`)).body).toMatchObject({ revision: 1, sink: before() })
  })
})
