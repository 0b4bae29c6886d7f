/** A table's rows and all their changes, as records, and written back into a table and into objects. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { TableSourceConfig } from '../../shared/connectors/table/connector.ts'
import { disposeReplication, dropOtherSlots, publicationOf } from '../../shared/connectors/table/replication-slot.ts'
import { openReplication } from '../../shared/connectors/table/replication.ts'
import { createSeenEntries } from '../../shared/connectors/seen-entries.ts'
import { eventually, loggedIn, patiently, service, unique, type Client } from '../harness/client.ts'
import { bucket, connect, openS3, openWarehouse, stream, table, waitForRows } from '../harness/connectors.ts'
import { blockValues, contextFor } from '../harness/conformance.ts'
import { createStream, readAll, waitForStatus, waitForTotal } from '../harness/pipelines.ts'
import { killProcessors } from '../harness/processes.ts'

let client: Client
let warehouse: pg.Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.other)
  warehouse = await openWarehouse()
})
afterAll(() => warehouse.end())

const name = (kind: string) => unique(kind).replaceAll('-', '_').toLowerCase()
const slots = async (id: string) =>
  (await warehouse.query('SELECT 1 FROM pg_replication_slots WHERE starts_with(slot_name::text, $1)', [`dps_${id}`])).rows.length

const COLUMNS = `id int, part text, big bigint, num numeric, f double precision, ok boolean, at timestamptz, local timestamp, day date, raw bytea, doc jsonb, tags text[], long text, PRIMARY KEY (id, part)`

async function fill(source: string, from: number, to: number): Promise<void> {
  await warehouse.query(
    `INSERT INTO ${source} SELECT n, 'p' || n % 3, n * 1000000007::bigint, n / 7.0, n * 1.1, n % 2 = 0, timestamptz '2026-01-01 00:00:00.123+02' + n * interval '1 hour',
       timestamp '2026-01-01 00:00:00' + n * interval '1 minute', date '2026-01-01' + n, decode(md5(n::text), 'hex'), jsonb_build_object('n', n, 't', E'a"b\\\\c\\n'),
       ARRAY['x', n::text], repeat(md5(n::text), 200) FROM generate_series(${from}, ${to - 1}) n`,
  )
}

describe('a table by replication', () => {
  it('is copied exactly into another table, through inserts, updates, changed keys, deletes and kills of the processors', async () => {
    const [source, copy] = [name('replicated'), name('copied')]
    await warehouse.query(`CREATE TABLE ${source} (${COLUMNS})`)
    await warehouse.query(`CREATE TABLE ${copy} (${COLUMNS})`)
    await fill(source, 0, 6000)
    const id = await connect(
      client,
      { connector_id: 'conn_table', config: { table: source } },
      [],
      table({ table: copy, mode: 'upsert', key: ['id', 'part'] }),
    )
    await waitForStatus(client, id, 'running')
    // Changes from here on arrive as change records.
    await waitForRows(warehouse, copy, 6000)
    await warehouse.query(`UPDATE ${source} SET ok = NOT ok WHERE id < 50`)
    await warehouse.query(`DELETE FROM ${source} WHERE id % 10 = 3`)
    await killProcessors()
    await fill(source, 6000, 7000)
    await warehouse.query(`UPDATE ${source} SET part = 'moved' WHERE id % 100 = 5`)
    await warehouse.query('BEGIN')
    await warehouse.query(`UPDATE ${source} SET num = -num, f = 'NaN' WHERE id % 7 = 0`)
    await warehouse.query(`DELETE FROM ${source} WHERE id % 14 = 0`)
    await warehouse.query('COMMIT')
    await warehouse.query('BEGIN')
    await warehouse.query(`DELETE FROM ${source} WHERE id < 1000`)
    await warehouse.query('ROLLBACK')
    const difference = `SELECT (SELECT count(*)::int FROM ((TABLE ${source} EXCEPT TABLE ${copy}) UNION ALL (TABLE ${copy} EXCEPT TABLE ${source})) d) AS different, (SELECT count(*)::int FROM ${copy}) AS rows`
    await eventually(
      'the copy equals the table',
      async () => {
        const { rows } = await warehouse.query(difference)
        return rows[0].different === 0 && rows[0].rows > 5000
      },
      90_000,
    )
    expect(await slots(id)).toBe(1)
    await client.call('DELETE', `/v1/pipelines/${id}`)
    await eventually('the replication slot is gone', async () => (await slots(id)) === 0)
  })

  it('D5: loses no change where an owner before it makes its slot only when the next one has read the rows', async () => {
    const source = name('late')
    await warehouse.query(`CREATE TABLE ${source} (id int PRIMARY KEY, v text)`)
    await warehouse.query(`INSERT INTO ${source} VALUES (1, 'before'), (2, 'before')`)
    const [config, context] = [TableSourceConfig.parse({ table: source }), contextFor()]
    const stop = new AbortController()
    const [late, owner] = await Promise.all([openReplication(config, context), openReplication(config, context)])
    const readsOf = ({ read }: typeof owner) =>
      read({ index: 0, count: 1 }, undefined, createSeenEntries(), stop.signal)[Symbol.asyncIterator]()
    const [lateReads, reads] = [readsOf(late), readsOf(owner)]
    const next = async () => {
      const { value } = await reads.next()
      owner.confirm!(0, value.position)
      return { values: blockValues(value.block), slot: (JSON.parse(value.position) as { s: string }).s }
    }
    expect((await next()).values).toEqual([])
    expect((await next()).values).toEqual(['{"id":1,"v":"before"}', '{"id":2,"v":"before"}'])
    await warehouse.query(`UPDATE ${source} SET v = 'meanwhile' WHERE id = 1`)
    const { value: lateRead } = await lateReads.next()
    await warehouse.query(`UPDATE ${source} SET v = 'afterwards' WHERE id = 2`)
    const changes: (string | null)[] = []
    let slot = ''
    while (changes.length < 2) {
      const change = await next()
      changes.push(...change.values)
      slot = change.slot
    }
    expect(changes).toEqual(['{"id":1,"v":"meanwhile"}', '{"id":2,"v":"afterwards"}'])
    const run = context.runId
    // The owner's own sweep may have removed it by now.
    expect((JSON.parse((lateRead as { position: string }).position) as { s: string }).s).not.toBe(slot)
    await dropOtherSlots((work) => work(warehouse), publicationOf(run), slot)
    expect((await warehouse.query('SELECT slot_name FROM pg_replication_slots WHERE slot_name = $1', [slot])).rows).toHaveLength(1)
    expect(await slots(run)).toBe(1)
    stop.abort()
    await Promise.all([lateReads.return!(), reads.return!()])
    await disposeReplication(config, context)
    expect(await slots(run)).toBe(0)
  })

  it('leaves one slot where its first start is tried again and again, and another one only where that is gone', async () => {
    const source = name('again')
    await warehouse.query(`CREATE TABLE ${source} (id int PRIMARY KEY)`)
    const [config, context] = [TableSourceConfig.parse({ table: source }), contextFor()]
    const { read } = await openReplication(config, context)
    const first = async () => {
      const reads = read({ index: 0, count: 1 }, undefined, createSeenEntries(), new AbortController().signal)[Symbol.asyncIterator]()
      const { value } = await reads.next()
      await reads.return!()
      return (JSON.parse((value as { position: string }).position) as { s: string }).s
    }
    const slot = await first()
    expect(await first()).toBe(slot)
    await warehouse.query('SELECT pg_drop_replication_slot($1)', [slot])
    expect(await first()).not.toBe(slot)
    expect(await slots(context.runId)).toBe(1)
    await disposeReplication(config, context)
  })

  it('goes on when a column was dropped or renamed while changes without their large values were waiting', async () => {
    const source = name('altered')
    await warehouse.query(`CREATE TABLE ${source} (id int PRIMARY KEY, large text, n int, gone jsonb, old text)`)
    await warehouse.query(`ALTER TABLE ${source} ALTER large SET STORAGE EXTERNAL, ALTER old SET STORAGE EXTERNAL`)
    await warehouse.query(`INSERT INTO ${source} VALUES (1, repeat('x', 20000), 1, '{}', repeat('y', 20000))`)
    const to = await createStream(
      client,
      { id: 'integer', large: 'string?', n: 'integer?', gone: 'any?', old: 'string?' },
      { partitions: 1 },
    )
    const id = await connect(client, { connector_id: 'conn_table', config: { table: source } }, [], stream(to.id))
    await waitForTotal(client, to.id, 1)
    await client.call('POST', `/v1/pipelines/${id}/pause`)
    await waitForStatus(client, id, 'paused')
    await warehouse.query(`UPDATE ${source} SET n = 2`)
    await warehouse.query(`ALTER TABLE ${source} DROP gone`)
    await warehouse.query(`ALTER TABLE ${source} RENAME old TO new`)
    await client.call('POST', `/v1/pipelines/${id}/resume`)
    await waitForTotal(client, to.id, 2)
    const [, changed] = await readAll(client, to.id)
    expect(changed).toEqual({ id: 1, large: 'x'.repeat(20_000), n: 2, gone: {} })
    await client.call('DELETE', `/v1/pipelines/${id}`)
  })

  it('goes through a stream into Parquet, and DuckDB reads back what the table holds', async () => {
    const source = name('told')
    const prefix = `${unique('told')}/`
    await warehouse.query(`CREATE TABLE ${source} (id int PRIMARY KEY, s text, n numeric)`)
    await warehouse.query(`INSERT INTO ${source} SELECT n, 'row ' || n, n / 4.0 FROM generate_series(1, 500) n`)
    const between = await createStream(client, { id: 'integer', s: 'string?', n: 'decimal?' }, { key: 'id' })
    await connect(client, { connector_id: 'conn_table', config: { table: source } }, [], stream(between.id))
    await connect(client, stream(between.id), [], bucket({ prefix, format: 'parquet', interval_ms: 300 }))
    // Changes from now on arrive as change records, deletes included.
    await waitForTotal(client, between.id, 500)
    await warehouse.query(`UPDATE ${source} SET s = NULL, n = n + 1 WHERE id % 5 = 0`)
    await warehouse.query(`DELETE FROM ${source} WHERE id % 3 = 0`)
    const wanted = (await warehouse.query(`SELECT id, s, trim_scale(n)::text AS n FROM ${source} ORDER BY id`)).rows
    const s3 = openS3()
    const duck = await (await DuckDBInstance.create(':memory:')).connect()
    const readBack = async () => {
      const files: string[] = []
      for (const [index, key] of (await s3.keys(prefix)).entries()) {
        const file = join(service().logFolder, `told-${index}.parquet`)
        await writeFile(file, await s3.get(key))
        files.push(file)
      }
      if (files.length === 0) return []
      // Keys sort by partition and offset; within a partition the last record of an id is its newest.
      const { getRowObjectsJson } = { getRowObjectsJson: async (sql: string) => (await duck.runAndReadAll(sql)).getRowObjectsJson() }
      return getRowObjectsJson(
        `WITH all_rows AS (SELECT *, filename, file_row_number FROM read_parquet([${files.map((file) => `'${file}'`).join(',')}], union_by_name = true, filename = true, file_row_number = true)),
           newest AS (SELECT *, row_number() OVER (PARTITION BY id ORDER BY length(filename) DESC, filename DESC, file_row_number DESC) AS place FROM all_rows)
         SELECT id::int AS id, s, regexp_replace(regexp_replace(n::VARCHAR, '(\\.[0-9]*?)0+$', '\\1'), '\\.$', '') AS n FROM newest WHERE place = 1 AND _deleted IS NOT TRUE ORDER BY 1`,
      )
    }
    await eventually(
      'the objects equal the table',
      async () => {
        const rows = await readBack().catch(() => [])
        return JSON.stringify(rows) === JSON.stringify(wanted)
      },
      60_000,
    ).catch(async () => expect(await readBack()).toEqual(wanted))
    s3.close()
  })

  it('writes rows with operation and commit time into folders by a member, and DuckDB rebuilds the table cell by cell', async () => {
    const source = name('history')
    const prefix = `${unique('history')}/`
    await warehouse.query(`CREATE TABLE ${source} (id bigint PRIMARY KEY, amount numeric(30, 6), at timestamptz, day date)`)
    const insert = (from: number, to: number) =>
      warehouse.query(
        `INSERT INTO ${source} SELECT 9007199254740993 + n, 123456789012345678.000001 * n, timestamptz '2026-03-01 00:00:00.123456+00' + n * interval '1 hour 1 microsecond', date '2026-03-01' + n / 100
         FROM generate_series(${from}, ${to - 1}) n`,
      )
    await insert(0, 300)
    const config = {
      prefix,
      format: 'parquet',
      types: { amount: 'decimal(30,6)', at: 'datetime', day: 'date' },
      key: 'day={value.day|date}',
      metadata: ['offset', 'partition', 'timestamp', 'op', 'commit_time'],
      interval_ms: 300,
    }
    const id = await connect(client, { connector_id: 'conn_table', config: { table: source } }, [], bucket(config))
    const s3 = openS3()
    await eventually('the initial rows are in objects', async () => (await s3.keys(prefix)).length >= 3)
    const [{ before }] = (await warehouse.query('SELECT clock_timestamp() AS before')).rows as [{ before: Date }]
    await insert(300, 350)
    await warehouse.query(`UPDATE ${source} SET amount = -amount WHERE id % 5 = 0`)
    await warehouse.query(`DELETE FROM ${source} WHERE id % 7 = 0`)
    const wanted = (
      await warehouse.query(
        `SELECT id::text, amount::text, extract(epoch FROM at)::numeric * 1000000 AS at, day::text FROM ${source} ORDER BY id`,
      )
    ).rows
    const changed = (await warehouse.query(`SELECT count(*)::int AS changed FROM ${source} WHERE amount < 0`)).rows[0].changed as number
    const duck = await (await DuckDBInstance.create(':memory:')).connect()
    const folder = join(service().logFolder, prefix)
    const read = async (sql: string) => {
      for (const key of await s3.keys(prefix)) {
        const file = join(service().logFolder, key)
        await mkdir(dirname(file), { recursive: true })
        await writeFile(file, await s3.get(key))
      }
      const rows = `read_parquet('${folder}*/*.parquet', union_by_name = true, hive_partitioning = false)`
      return (await duck.runAndReadAll(sql.replace('FROM rows', `FROM ${rows}`))).getRowObjectsJson()
    }
    const newest = `SELECT id::VARCHAR AS id, amount::VARCHAR AS amount, epoch_us("at")::VARCHAR AS "at", day::VARCHAR AS day
      FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY _offset DESC) AS place FROM rows) WHERE place = 1 AND _op <> 'delete' ORDER BY id`
    const asText = (rows: unknown[]) => rows.map((row) => Object.values(row as object).map((cell) => String(cell).replace(/\.0+$/, '')))
    await eventually(
      'the objects hold what the table holds',
      async () => JSON.stringify(asText(await read(newest).catch(() => []))) === JSON.stringify(asText(wanted)),
      60_000,
    ).catch(async () => expect(asText(await read(newest))).toEqual(asText(wanted)))
    const operations = await read(
      'SELECT _op AS op, count(*)::INT AS rows, count(_commit_time)::INT AS committed, min(_commit_time)::VARCHAR AS first FROM rows GROUP BY 1 ORDER BY 1',
    )
    const first = (row: unknown) =>
      Date.parse(
        `${String((row as { first: string }).first)
          .replace(' ', 'T')
          .replace(/\+00$/, '')}Z`,
      )
    expect(operations.map(({ op, rows, committed }) => [op, rows, committed])).toEqual([
      ['delete', 50, 50],
      ['insert', 50, 50],
      ['snapshot', 300, 0],
      ['update', 70, 70],
    ])
    expect(changed).toBeGreaterThan(0)
    for (const row of operations.filter(({ op }) => op !== 'snapshot')) expect(first(row)).toBeGreaterThanOrEqual(before.getTime() - 1)
    // A deletion has no day, because its key does not include one.
    expect(new Set((await s3.keys(prefix)).map((key) => key.slice(prefix.length).split('/')[0]))).toEqual(
      new Set(['day=2026-03-01', 'day=2026-03-02', 'day=2026-03-03', 'day=2026-03-04', 'day=__HIVE_DEFAULT_PARTITION__']),
    )
    await client.call('DELETE', `/v1/pipelines/${id}`)
    s3.close()
  })
})

describe('a table by query', () => {
  it('gives each version of a row once when its cursor has grown, even when many rows have the same cursor', async () => {
    const [source, copy] = [name('asked'), name('answered')]
    await warehouse.query(`CREATE TABLE ${source} (id int PRIMARY KEY, v int, changed_at timestamptz NOT NULL)`)
    await warehouse.query(`INSERT INTO ${source} SELECT n, 0, '2026-01-01' FROM generate_series(1, 7000) n`)
    await connect(
      client,
      { connector_id: 'conn_table', config: { table: source, mode: 'query', cursor: 'changed_at', poll_interval_ms: 200 } },
      [],
      table({ table: copy }),
    )
    const count = async () =>
      Number((await warehouse.query(`SELECT count(*) FROM ${copy}`).catch(() => ({ rows: [{ count: -1 }] }))).rows[0].count)
    await eventually('all rows are there', async () => (await count()) === 7000, 60_000)
    await warehouse.query(`UPDATE ${source} SET v = 1, changed_at = '2026-01-02' WHERE id <= 10`)
    await eventually('the changed rows are copied again', async () => (await count()) === 7010)
  })

  it('is never one of Postgres’ own, which name what others have', async () => {
    for (const own of ['pg_class', 'pg_catalog.pg_attribute', 'information_schema.tables']) {
      const config = { table: own, mode: 'query', cursor: 'oid' }
      const { body } = await patiently(() => client.call<{ ok: boolean }>('POST', '/v1/connectors/table/check', { side: 'source', config }))
      expect([own, body]).toMatchObject([own, { ok: false, details: [{ path: '/table', message: 'does not exist, or may not be read' }] }])
    }
  })
})
