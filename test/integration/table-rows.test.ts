/** Rows of tables whose columns Postgres fills itself, and of bytes: what the sink writes into them, by itself. */
import { createHash } from 'node:crypto'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findConnector } from '../../shared/connectors/catalogue.ts'
import { loggedIn, patiently, service, unique } from '../harness/client.ts'
import { contextFor, deliveryOf, rowsOf } from '../harness/conformance.ts'
import { openWarehouse } from '../harness/connectors.ts'

let warehouse: pg.Client
beforeAll(async () => {
  warehouse = await openWarehouse()
})
afterAll(() => warehouse.end())

async function made(columns: string): Promise<string> {
  const table = unique('rows').replaceAll('-', '_').toLowerCase()
  await warehouse.query(`CREATE TABLE ${table} (${columns})`)
  return table
}
const all = async (table: string) => (await warehouse.query(`SELECT * FROM ${table} ORDER BY 1`)).rows

/** Writes the records as one delivery. */
async function write(config: Record<string, unknown>, records: unknown[]) {
  const context = contextFor({ fields: undefined })
  const sink = await (await findConnector('conn_table')!.sink!.open!())(config, context)
  try {
    await sink.position!(deliveryOf(context, 0, 0), { nextOffset: 0n, note: '' })
    const values = records.map((record) => JSON.stringify(record))
    return await sink.write(deliveryOf(context, 0, records.length), rowsOf(sink.rows, values, 0), new AbortController().signal)
  } finally {
    await sink.close()
  }
}

describe('a table with an identity column', () => {
  it.each(['ALWAYS', 'BY DEFAULT'])('GENERATED %s gets its rows, and a row that it refuses is named alone', async (when) => {
    const columns = `id bigint GENERATED ${when} AS IDENTITY, k text NOT NULL UNIQUE, n int CHECK (n < 100), twice int GENERATED ALWAYS AS (n * 2) STORED NOT NULL`
    const inserted = await made(columns)
    expect(
      await write({ table: inserted }, [
        { k: 'a', n: 1 },
        { k: 'b', n: 500 },
        { k: 'c', n: 3 },
      ]),
    ).toMatchObject({ kind: 'at_fault', records: [{ offset: 1n, code: 'postgres_23514' }] })
    expect(await write({ table: inserted }, [{ k: 'a', n: 1 }])).toEqual({ kind: 'delivered' })
    const upserted = await made(columns)
    const config = { table: upserted, mode: 'upsert', key: ['k'] }
    expect(
      await write(config, [
        { k: 'a', n: 1 },
        { k: 'b', n: 2 },
        { k: 'a', n: 3 },
      ]),
    ).toEqual({ kind: 'delivered' })
    expect((await all(upserted)).map(({ k, n, twice }) => [k, n, twice]).sort()).toEqual([
      ['a', 3, 6],
      ['b', 2, 4],
    ])
  })

  it('that is GENERATED ALWAYS can’t be its key, and the pipeline says why', async () => {
    const table = await made('id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int')
    const config = { table, mode: 'upsert', key: ['id'] }
    await expect(write(config, [])).rejects.toThrow('GENERATED ALWAYS')
    const check = await findConnector('conn_table')!.sink!.check!()
    expect(await check(config, contextFor(), new AbortController().signal)).toMatchObject([
      { path: '/key', message: expect.stringContaining('GENERATED ALWAYS') },
    ])
  })
})

describe('a row that the table refuses', () => {
  it('by a trigger that raises an exception is named alone', async () => {
    const table = await made('n int')
    await warehouse.query(
      `CREATE FUNCTION ${table}_check() RETURNS trigger LANGUAGE plpgsql AS
       $$ BEGIN IF NEW.n = 5 THEN RAISE EXCEPTION 'no fives here'; END IF; RETURN NEW; END $$`,
    )
    await warehouse.query(`CREATE TRIGGER checked BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION ${table}_check()`)
    const records = Array.from({ length: 10 }, (_, n) => ({ n }))
    expect(await write({ table }, records)).toMatchObject({
      kind: 'at_fault',
      records: [{ offset: 5n, code: 'postgres_P0001', message: expect.stringContaining('no fives here') }],
    })
  })

  it('because its key is too large for the index is named alone', async () => {
    const table = await made('k text PRIMARY KEY, n int')
    // What does not compress: an index entry may have about 2,700 bytes.
    const large = Array.from({ length: 400 }, (_, i) => createHash('sha256').update(String(i)).digest('hex')).join('')
    const records = [
      { k: 'a', n: 1 },
      { k: large, n: 2 },
      { k: 'b', n: 3 },
    ]
    for (const config of [{ table }, { table, mode: 'upsert', key: ['k'] }])
      expect(await write(config, records)).toMatchObject({ kind: 'at_fault', records: [{ offset: 1n, code: 'postgres_54000' }] })
  })
})

describe('an upsert', () => {
  it('keeps each record whose key is null, as the table’s unique index does', async () => {
    const table = await made('email text UNIQUE, n int')
    const config = { table, mode: 'upsert', key: ['email'] }
    const records = [{ email: 'a', n: 1 }, { email: null, n: 2 }, { n: 3 }, { email: 'a', n: 4 }]
    expect(await write(config, records)).toEqual({ kind: 'delivered' })
    expect((await all(table)).map(({ email, n }) => [email, n]).sort(([, a], [, b]) => a - b)).toEqual([
      [null, 2],
      [null, 3],
      ['a', 4],
    ])
  })
})

describe('a patch', () => {
  it('has its bytes as base64, and a new row gets the defaults of the members that it lacks', async () => {
    const table = await made(
      `id int PRIMARY KEY, raw bytea, at text DEFAULT 'now', n int NOT NULL DEFAULT 7, record text DEFAULT 'r', serial bigint GENERATED BY DEFAULT AS IDENTITY`,
    )
    const config = { table, mode: 'merge-patch', key: ['id'] }
    const raw = Buffer.from([0, 255, 104, 105])
    expect(
      await write(config, [
        { id: 1, raw: raw.toString('base64') },
        { id: 2, at: null, n: 1 },
        { id: 1, n: 2 },
      ]),
    ).toEqual({ kind: 'delivered' })
    expect(await all(table)).toEqual([
      { id: 1, raw, at: 'now', n: 2, record: 'r', serial: expect.any(String) },
      { id: 2, raw: null, at: null, n: 1, record: 'r', serial: expect.any(String) },
    ])
    expect(
      await write(config, [
        { id: 1, n: 3 },
        { id: 3, raw: 'no base64!' },
      ]),
    ).toMatchObject({ kind: 'at_fault', records: [{ offset: 1n }] })
    // What was there is not replaced by a default.
    expect(await write(config, [{ id: 1, at: 'later' }])).toEqual({ kind: 'delivered' })
    expect((await all(table))[0]).toMatchObject({ raw, at: 'later', n: 2 })
  })

  it('takes defaults of another type than their columns, and bytes in the form of Postgres', async () => {
    const table = await made(
      `id int PRIMARY KEY, uid text DEFAULT gen_random_uuid(), at text DEFAULT now(), doc json DEFAULT '{}'::jsonb, code char(3) DEFAULT 'abc', raw bytea`,
    )
    const config = { table, mode: 'merge-patch', key: ['id'] }
    expect(await write(config, [{ id: 1, raw: '\\x6869' }])).toEqual({ kind: 'delivered' })
    const text = expect.stringMatching(/.{10}/)
    expect(await all(table)).toEqual([{ id: 1, uid: text, at: text, doc: {}, code: 'abc', raw: Buffer.from('hi') }])
  })
})

describe('a table whose columns are called like names in the statements', () => {
  const NAMES = ['t', 's', 'r', 'm', 'p', 'x', 'record', 'merged', 'placed', 'places', 'all_merged', 'is_new']
  it.each(['insert', 'upsert', 'merge-patch'])('gets its rows, and one that it refuses is named: %s', async (mode) => {
    const table = await made(`id int PRIMARY KEY, n int CHECK (n < 100), ${NAMES.map((name) => `${name} text`).join(', ')}`)
    const config = { table, mode, ...(mode === 'insert' ? {} : { key: ['id'] }) }
    const row = (id: number, n: number) => ({ id, n, ...Object.fromEntries(NAMES.map((name) => [name, name + id])) })
    const found = await write(config, [row(1, 1), row(2, 200), row(3, 3)])
    expect(found).toMatchObject({ kind: 'at_fault', records: [{ offset: 1n, code: 'postgres_23514' }] })
    expect(await write(config, [row(1, 1), row(3, 3)])).toEqual({ kind: 'delivered' })
    expect(await all(table)).toEqual([row(1, 1), row(3, 3)])
    if (mode === 'insert') return
    expect(await write(config, [row(1, 7)])).toEqual({ kind: 'delivered' })
    expect(await all(table)).toEqual([row(1, 7), row(3, 3)])
  })
})

describe('the table of a sink', () => {
  it.each(['pg_temp.rows', 'pg_catalog.rows', 'information_schema.rows', 'dps_positions', 'shop.dps_positions', 'dps_stage', 'dps_text'])(
    'is never one of Postgres or of the connector itself, where rows would be lost: %s',
    async (table) => {
      const client = await loggedIn(service().accounts.enterprise)
      const { body } = await patiently(() => client.call('POST', '/v1/connectors/table/check', { side: 'sink', config: { table } }))
      expect(body).toMatchObject({ ok: false, details: [{ path: '/table', message: expect.stringContaining('Postgres itself') }] })
    },
  )
})
