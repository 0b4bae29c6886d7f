/** Records from and to a bucket and a database. */
import { randomBytes } from 'node:crypto'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { bucket, connect, countRows, lettersOf, openS3, openWarehouse, stream, table, waitForRows } from '../harness/connectors.ts'
import { createStream, readAll, waitForAccounting, waitForStatus, waitForTotal, write } from '../harness/pipelines.ts'
import { killProcessors, runningProcessors } from '../harness/processes.ts'

let client: Client
let warehouse: pg.Client
const s3 = openS3Lazily()
beforeAll(async () => {
  client = await loggedIn(service().accounts.other)
  warehouse = await openWarehouse()
})
afterAll(async () => {
  await warehouse.end()
  s3().close()
})

function openS3Lazily() {
  let opened: ReturnType<typeof openS3> | undefined
  return () => (opened ??= openS3())
}

const name = (kind: string) => unique(kind).replaceAll('-', '_').toLowerCase()
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => ({ n: from + index }))
const CLASSIFIER = {
  name: 'dps/text-classifier',
  config: { field: 'text', output_field: 'label', labels: { good: { keywords: ['fine'] }, bad: { keywords: ['awful'] } } },
}

const letters = (id: string) => lettersOf(client, id)

describe('a bucket of text', () => {
  it('goes through a classifier into a table, every line once, while the processors are killed', async () => {
    const prefix = `${unique('texts')}/`
    const target = name('reviews')
    const files = 6
    const lines = 20_000
    for (let file = 0; file < files; file++)
      await s3().put(
        `${prefix}part-${file}.txt`,
        Array.from(
          { length: lines },
          (_, line) => `review ${file}/${line} was ${line % 2 === 0 ? 'fine' : 'awful'}, "so"\tto \\ say é`,
        ).join('\n'),
      )
    const id = await connect(client, bucket({ prefix }), [CLASSIFIER], table({ table: target, batch_size: 1000 }), { tasks: 2 })
    for (const share of [0.05, 0.3, 0.6]) {
      await waitForRows(warehouse, target, Math.floor(files * lines * share), 60_000)
      await killProcessors()
    }
    await waitForRows(warehouse, target, files * lines, 90_000)
    await new Promise((resolve) => setTimeout(resolve, 1000))
    const { rows } = await warehouse.query(
      `SELECT count(*)::int AS all, count(DISTINCT (object, line))::int AS once, count(*) FILTER (WHERE label = 'good')::int AS good,
         count(*) FILTER (WHERE text = format('review %s/%s was %s, "so"%sto \\ say é', substr(object, ${prefix.length + 6}, 1), line - 1, CASE WHEN line % 2 = 1 THEN 'fine' ELSE 'awful' END, chr(9)))::int AS same
       FROM ${target}`,
    )
    expect(rows[0]).toEqual({ all: files * lines, once: files * lines, good: (files * lines) / 2, same: files * lines })
    expect(await waitForAccounting(client, id, files * lines)).toMatchObject({ balanced: true, totals: { out: files * lines } })
  })

  it('is read further when objects are added, and a replaced object is read again', async () => {
    const prefix = `${unique('new')}/`
    const target = name('new_objects')
    await s3().put(`${prefix}a.txt`, 'one\ntwo\n')
    await connect(client, bucket({ prefix, poll_interval_ms: 200 }), [], table({ table: target }))
    await waitForRows(warehouse, target, 2)
    await s3().put(`${prefix}b.txt`, 'three')
    await waitForRows(warehouse, target, 3)
    await s3().put(`${prefix}a.txt`, 'one\ntwo\nfour\r\n')
    await waitForRows(warehouse, target, 6)
    const { rows } = await warehouse.query(`SELECT text, line::int FROM ${target} ORDER BY text, line`)
    expect(rows.map(({ text }) => text)).toEqual(['four', 'one', 'one', 'three', 'two', 'two'])
  })
})

describe('a bucket of documents', () => {
  it('is read in every format, compressed or not, by the objects’ extensions', async () => {
    const prefix = `${unique('formats')}/`
    const to = await createStream(client, { n: 'any', from: 'string?' })
    await s3().put(`${prefix}a.ndjson`, '{"n":1}\n\n{"n":2}\n')
    await s3().put(`${prefix}b.jsonl.gz`, gzipSync('{"n":3}\n{"n":4}'))
    await s3().put(`${prefix}c.json.zst`, zstdCompressSync('[{"n":5,"from":"[],{}\\""}, {"n":6}\n,{"n":[7]}]'))
    await s3().put(`${prefix}d.csv`, 'n,from\r\n"8","a ""b"", c"\r\n9,\n')
    await s3().put(`${prefix}e.tsv`, 'n\tfrom\n10\td\n')
    await s3().put(`${prefix}ignored/f.ndjson`, '{"n":99}\n')
    await connect(client, bucket({ prefix, pattern: '*.*', poll_interval_ms: 500 }), [], stream(to.id))
    await waitForTotal(client, to.id, 10)
    const records = await readAll(client, to.id)
    const sorted = records.map((record) => JSON.stringify(record)).sort()
    expect(sorted).toEqual(
      [
        '{"n":1}',
        '{"n":2}',
        '{"n":3}',
        '{"n":4}',
        '{"n":5,"from":"[],{}\\""}',
        '{"n":6}',
        '{"n":[7]}',
        '{"n":"8","from":"a \\"b\\", c"}',
        '{"n":"9","from":""}',
        '{"n":"10","from":"d"}',
      ].sort(),
    )
  })

  it('reports a truncated object without harm to the processors, can be paused then, and reads the object once it is whole', async () => {
    const prefix = `${unique('cut')}/`
    const to = await createStream(client, { n: 'integer', pad: 'string' })
    // Hardly compressible and larger than a block, so that the records before the fault are committed.
    const lines = Array.from({ length: 6000 }, (_, n) => JSON.stringify({ n, pad: randomBytes(300).toString('base64') }))
    const whole = gzipSync(lines.join('\n'))
    await s3().put(`${prefix}a.ndjson.gz`, whole.subarray(0, Math.floor(whole.length * 0.9)))
    const id = await connect(client, bucket({ prefix, poll_interval_ms: 300 }), [], stream(to.id))
    const before = runningProcessors()
    const [letter] = await eventually('a dead letter names it', async () => {
      const { dead_letters } = await letters(id)
      return dead_letters.length > 0 && dead_letters
    })
    expect(letter!.error).toMatchObject({
      code: 'object_unreadable',
      message: expect.stringContaining(`${prefix}a.ndjson.gz is corrupt: unexpected end of file`),
    })
    await new Promise((resolve) => setTimeout(resolve, 2000))
    expect(runningProcessors()).toEqual(expect.arrayContaining(before))
    expect((await client.call('POST', `/v1/pipelines/${id}/pause`)).status).toBe(200)
    await waitForStatus(client, id, 'paused')
    expect((await client.call('POST', `/v1/pipelines/${id}/resume`)).status).toBe(200)
    await s3().put(`${prefix}a.ndjson.gz`, whole)
    await eventually(
      'every record is there',
      async () => new Set((await readAll(client, to.id)).map(({ n }) => n)).size === lines.length,
      60_000,
    )
  })

  it('makes dead letters of exactly the malformed lines', async () => {
    const prefix = `${unique('malformed')}/`
    const target = name('malformed')
    await s3().put(`${prefix}a.ndjson`, '{"n":1}\n{"n":\nnot json\n{"n":2} 3\n{"n":4}\n')
    await warehouse.query(`CREATE TABLE ${target} (n int)`)
    const id = await connect(client, bucket({ prefix }), [], table({ table: target }), { failure_threshold: 1 })
    await waitForRows(warehouse, target, 2)
    const found = await eventually('three dead letters', async () => {
      const all = await letters(id)
      return all.total === 3 && all
    })
    expect(found.dead_letters.map(({ error }) => error.code)).toEqual(Array.from({ length: 3 }, () => 'not_a_json_object'))
    expect((await warehouse.query(`SELECT n FROM ${target} ORDER BY n`)).rows).toEqual([{ n: 1 }, { n: 4 }])
  })
})

describe('a table', () => {
  it('is created for the stream, and holds every stream type exactly', async () => {
    const target = name('types')
    const schema = {
      s: 'string',
      i: 'integer',
      f: 'number',
      b: 'boolean',
      d: 'datetime',
      day: 'date',
      u: 'uuid',
      m: 'decimal',
      raw: 'bytes',
      o: 'object',
      l: 'array<string>',
      missing: 'string?',
    }
    const from = await createStream(client, schema)
    const record = {
      s: 'tab\t line\n "quote" back\\slash é 😀',
      i: 9007199254740991,
      f: 1.5e-7,
      b: true,
      d: '2026-01-02T03:04:05.678Z',
      day: '2026-01-02',
      u: '0190b6a0-0000-7000-8000-000000000000',
      m: '12345678901234567890.123456789',
      raw: Buffer.from([0, 1, 254, 255]).toString('base64'),
      o: { a: [1, 'x\n', null], ü: { deep: true } },
      l: ['a', 'b"c'],
    }
    const id = await connect(client, stream(from.id), [], table({ table: target }), { failure_threshold: 1 })
    await write(client, from.id, [record])
    await eventually('a row, or a dead letter', async () => (await letters(id)).total === 1 || (await countRows(warehouse, target)) === 1)
    expect((await letters(id)).dead_letters).toEqual([])
    const { rows } = await warehouse.query(`SELECT *, d::text AS at, day::text AS on_day, pg_typeof(i)::text AS type_of_i FROM ${target}`)
    expect(rows[0]).toMatchObject({
      s: record.s,
      i: '9007199254740991',
      f: 1.5e-7,
      b: true,
      on_day: '2026-01-02',
      u: record.u,
      m: record.m,
      raw: Buffer.from([0, 1, 254, 255]),
      o: record.o,
      l: record.l,
      missing: null,
      type_of_i: 'bigint',
    })
    expect(new Date(rows[0].d).toISOString()).toBe(record.d)
  })

  it('makes dead letters of exactly the rows that it refuses', async () => {
    const target = name('refusing')
    await warehouse.query(`CREATE TABLE ${target} (n int PRIMARY KEY CHECK (n % 100 <> 7), made timestamptz NOT NULL DEFAULT now())`)
    const from = await createStream(client, { n: 'integer' })
    const id = await connect(client, stream(from.id), [], table({ table: target, batch_size: 50 }))
    await write(client, from.id, [...numbers(0, 900), { n: 3_000_000_000 }, { n: 5 }])
    await waitForRows(warehouse, target, 891)
    const found = await eventually('eleven dead letters', async () => {
      const all = await letters(id)
      return all.total === 11 && all
    })
    expect(found.dead_letters.map(({ error }) => error.code).sort()).toEqual([
      'postgres_22003',
      'postgres_23505',
      ...Array.from({ length: 9 }, () => 'postgres_23514'),
    ])
    expect((await warehouse.query(`SELECT count(*)::int AS c, count(made)::int AS m FROM ${target}`)).rows).toEqual([{ c: 891, m: 891 }])
    expect(await waitForAccounting(client, id, 902)).toMatchObject({ balanced: true, totals: { in: 902, out: 891, dead_lettered: 11 } })
  })

  it('takes redriven records once it is fixed', async () => {
    const target = name('mended')
    await warehouse.query(`CREATE TABLE ${target} (n int CHECK (n < 5))`)
    const from = await createStream(client, { n: 'integer' })
    const id = await connect(client, stream(from.id), [], table({ table: target }), { failure_threshold: 1 })
    await write(client, from.id, numbers(0, 10))
    await eventually('five dead letters', async () => (await letters(id)).total === 5)
    await warehouse.query(`ALTER TABLE ${target} DROP CONSTRAINT ${target}_n_check`)
    const job = await client.call<{ id: string }>('POST', `/v1/pipelines/${id}/dead-letters/redrive`, {})
    expect(job.status).toBe(202)
    await waitForRows(warehouse, target, 10)
    expect((await warehouse.query(`SELECT n FROM ${target} ORDER BY n`)).rows.map(({ n }) => n)).toEqual(numbers(0, 10).map(({ n }) => n))
  })

  it('keeps the newest record of a key in mode upsert', async () => {
    const target = name('upserted')
    const from = await createStream(client, { id: 'integer', v: 'integer' }, { partitions: 2, key: 'id' })
    await connect(client, stream(from.id), [], table({ table: target, mode: 'upsert', key: ['id'] }))
    for (let v = 0; v < 5; v++)
      await write(
        client,
        from.id,
        Array.from({ length: 40 }, (_, id) => ({ id, v: id + v * 100 })),
      )
    await eventually('the last version is there', async () => {
      const { rows } = await warehouse
        .query(`SELECT count(*)::int AS c, count(*) FILTER (WHERE v = id + 400)::int AS last FROM ${target}`)
        .catch(() => ({ rows: [] }))
      return rows[0]?.c === 40 && rows[0]?.last === 40
    })
  })

  it('changes only the members that a record has in mode merge-patch, one record of a key after the other', async () => {
    const target = name('patched')
    await warehouse.query(`CREATE TABLE ${target} (id int PRIMARY KEY, a text, b text, doc jsonb, n int CHECK (n < 100))`)
    await warehouse.query(`INSERT INTO ${target} VALUES (1, 'old a', 'old b', '{"x":1}', 1)`)
    const from = await createStream(
      client,
      { id: 'integer', a: 'any', b: 'any', doc: 'any', n: 'any' },
      { partitions: 1, compatibility: 'NONE' },
    )
    const open = await client.call('PATCH', `/v1/streams/${from.id}`, {
      schema: { id: 'integer', a: 'any?', b: 'any?', doc: 'any?', n: 'any?' },
    })
    expect(open.status).toBe(200)
    const id = await connect(client, stream(from.id), [], table({ table: target, mode: 'merge-patch', key: ['id'] }), {
      failure_threshold: 1,
    })
    await write(client, from.id, [
      { id: 1, a: 'new a' },
      { id: 2, b: 'b2' },
      { id: 1, b: null, doc: { y: [2] } },
      { id: 2, a: 'a2', n: 500 },
      { id: 2, a: 'a2', n: 5 },
    ])
    await eventually(
      'all is merged',
      async () => (await warehouse.query(`SELECT 1 FROM ${target} WHERE id = 2 AND n = 5`)).rows.length === 1,
    )
    expect((await warehouse.query(`SELECT * FROM ${target} ORDER BY id`)).rows).toEqual([
      { id: 1, a: 'new a', b: null, doc: { y: [2] }, n: 1 },
      { id: 2, a: 'a2', b: 'b2', doc: null, n: 5 },
    ])
    await eventually('a dead letter', async () => (await letters(id)).total === 1)
  })

  it.each(['insert', 'merge-patch'])('takes members for columns that it gets while the pipeline runs, in mode %s', async (mode) => {
    const target = name('grows')
    await warehouse.query(`CREATE TABLE ${target} (id int PRIMARY KEY, a text, gone text)`)
    const from = await createStream(client, { id: 'integer', a: 'string', b: 'string?' })
    const keyed = mode === 'insert' ? {} : { key: ['id'] }
    await connect(client, stream(from.id), [], table({ table: target, mode, unknown_members: 'ignore', ...keyed }))
    const put = async (id: number) => {
      await write(client, from.id, [{ id, a: 'x', b: `b${id}` }])
      await waitForRows(warehouse, target, id)
    }
    await put(1)
    await warehouse.query(`ALTER TABLE ${target} ADD COLUMN b text`)
    await put(2)
    await warehouse.query(`ALTER TABLE ${target} DROP COLUMN gone`)
    await put(3)
    expect((await warehouse.query(`SELECT * FROM ${target} ORDER BY id`)).rows).toEqual([
      { id: 1, a: 'x', b: null },
      { id: 2, a: 'x', b: 'b2' },
      { id: 3, a: 'x', b: 'b3' },
    ])
  })

  it('stops only its own pipeline while it is missing, and loses nothing', async () => {
    const target = name('locked')
    await warehouse.query(`CREATE TABLE ${target} (n int)`)
    const [from, other] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const sink = await createStream(client, { n: 'integer' })
    const id = await connect(client, stream(from.id), [], table({ table: target }))
    await connect(client, stream(other.id), [], stream(sink.id))
    await waitForStatus(client, id, 'running')
    await warehouse.query(`ALTER TABLE ${target} RENAME TO ${target}_away`)
    await write(client, from.id, numbers(0, 100))
    await write(client, other.id, numbers(0, 100))
    await waitForTotal(client, sink.id, 100)
    await eventually('it misses its table', async () => {
      const { body } = await client.call<{ status_reason: string | null }>('GET', `/v1/pipelines/${id}`)
      return body.status_reason?.includes(target)
    })
    await warehouse.query(`ALTER TABLE ${target}_away RENAME TO ${target}`)
    // A missing table may have failed the pipeline by then; the status shows it a moment later.
    await eventually('all rows are there', async () => {
      const { body } = await client.call<{ status: string }>('GET', `/v1/pipelines/${id}`)
      if (body.status === 'failed') await client.call('POST', `/v1/pipelines/${id}/start`)
      return (await countRows(warehouse, target)) >= 100
    })
    expect(await countRows(warehouse, target)).toBe(100)
  })
})
