/** A table's log of changes: what would lose a change in silence is refused, and large keys and generated columns are read right. */
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findConnector } from '../../shared/connectors/catalogue.ts'
import { SPAN } from '../../shared/connectors/record-block.ts'
import { ConfigRefused } from '../../shared/connectors/connector.ts'
import type { SourceRead } from '../../shared/connectors/source.ts'
import { createSeenEntries } from '../../shared/connectors/seen-entries.ts'
import { eventually, service, unique } from '../harness/client.ts'
import { contextFor } from '../harness/conformance.ts'
import { openWarehouse } from '../harness/connectors.ts'

let warehouse: pg.Client
const disposals: (() => Promise<void>)[] = []
beforeAll(async () => {
  warehouse = await openWarehouse()
})
afterAll(async () => {
  for (const dispose of disposals) await dispose()
  await warehouse.end()
})

async function made(columns: string): Promise<string> {
  const table = unique('log').replaceAll('-', '_').toLowerCase()
  await warehouse.query(`CREATE TABLE ${table} (${columns})`)
  return table
}

type Row = { key: string; value: string | null }
const rowsOf = ({ block: { bytes, spans, count } }: SourceRead): Row[] =>
  Array.from({ length: count }, (_, row) => {
    const text = (from: number, to: number) => bytes.toString('utf8', from, to)
    const at = row * SPAN
    return { key: text(spans[at]!, spans[at + 1]!), value: spans[at + 2]! < 0 ? null : text(spans[at + 2]!, spans[at + 3]!) }
  })

/** A running source of the table: the rows that it has read, and how it failed. With a login that is refused it leaves nothing behind. */
async function opened(config: Record<string, unknown>, refused?: { connection: string }) {
  const context = contextFor(refused && { secret: () => refused.connection })
  const direction = findConnector('conn_table')!.source!
  const source = await (await direction.open!())(config, context)
  const dispose = await direction.dispose!()
  const stop = new AbortController()
  const rows: Row[] = []
  const failed = (async () => {
    for await (const read of source.read({ index: 0, count: 1 }, undefined, createSeenEntries(), stop.signal)) rows.push(...rowsOf(read))
  })().then(
    () => undefined,
    (error: unknown) => error as Error,
  )
  disposals.push(async () => {
    stop.abort()
    await failed
    await source.close()
    if (!refused) await dispose(config, context)
  })
  return { rows, failed, until: (count: number) => eventually(`${count} rows`, async () => rows.length === count) }
}

describe('the log of a table', () => {
  it('is refused while its replica identity lacks the primary key, by the check too', async () => {
    const table = await made('id int PRIMARY KEY, other int NOT NULL UNIQUE')
    await warehouse.query(`ALTER TABLE ${table} REPLICA IDENTITY USING INDEX ${table}_other_key`)
    const check = await findConnector('conn_table')!.source!.check!()
    const message = expect.stringContaining('replica identity')
    expect(await check({ table }, contextFor(), new AbortController().signal)).toMatchObject([{ path: '/table', message }])
    expect(await (await opened({ table })).failed).toMatchObject({ message })
    for (const identity of [`USING INDEX ${table}_pkey`, 'FULL', 'DEFAULT']) {
      await warehouse.query(`ALTER TABLE ${table} REPLICA IDENTITY ${identity}`)
      expect(await check({ table }, contextFor(), new AbortController().signal)).toEqual([])
    }
  })

  it('has the changes of a partitioned table, whose partitions it names', async () => {
    const table = unique('log').replaceAll('-', '_').toLowerCase()
    await warehouse.query(`CREATE TABLE ${table} (id int PRIMARY KEY, n int) PARTITION BY RANGE (id)`)
    await warehouse.query(`CREATE TABLE ${table}_1 PARTITION OF ${table} FOR VALUES FROM (0) TO (100)`)
    await warehouse.query(`INSERT INTO ${table} VALUES (1, 10)`)
    const { rows, until } = await opened({ table })
    await until(1)
    await warehouse.query(`UPDATE ${table} SET n = 11`)
    await until(2)
    expect(rows.map(({ value }) => value)).toEqual(['{"id":1,"n":10}', '{"id":1,"n":11}'])
  })

  it('ends the source when the replica identity loses the primary key meanwhile: a deletion would be lost', async () => {
    const table = await made('id int PRIMARY KEY, other int NOT NULL UNIQUE')
    await warehouse.query(`INSERT INTO ${table} VALUES (1, 10)`)
    const { failed, until } = await opened({ table })
    await until(1)
    await warehouse.query(`ALTER TABLE ${table} REPLICA IDENTITY USING INDEX ${table}_other_key`)
    await warehouse.query(`DELETE FROM ${table}`)
    expect(await failed).toMatchObject({ message: expect.stringContaining('replica identity') })
  })

  it('has the key of a row whose large key did not change', async () => {
    const table = await made('id text PRIMARY KEY, n int')
    await warehouse.query(`ALTER TABLE ${table} ALTER id SET STORAGE EXTERNAL`)
    const large = 'k'.repeat(2600)
    await warehouse.query(`INSERT INTO ${table} VALUES ($1, 1)`, [large])
    const { rows, until } = await opened({ table })
    await until(1)
    await warehouse.query(`UPDATE ${table} SET n = 2`)
    await until(2)
    expect(rows[1]).toEqual({ key: JSON.stringify({ id: large }), value: JSON.stringify({ id: large, n: 2 }) })
  })

  it('shows the same columns as the rows that were there before: none that is generated', async () => {
    const table = await made('id int PRIMARY KEY, n int, twice int GENERATED ALWAYS AS (n * 2) STORED')
    await warehouse.query(`INSERT INTO ${table} VALUES (1, 1)`)
    const { rows, until } = await opened({ table })
    await until(1)
    await warehouse.query(`UPDATE ${table} SET n = 2`)
    await until(2)
    expect(rows.map(({ value }) => value)).toEqual(['{"id":1,"n":1}', '{"id":1,"n":2}'])
  })

  it('ends the source when the table was swapped by renaming, and when it was made again', async () => {
    const [swapped, again] = [await made('id int PRIMARY KEY'), await made('id int PRIMARY KEY')]
    for (const table of [swapped, again]) await warehouse.query(`INSERT INTO ${table} VALUES (1)`)
    const [first, second] = [await opened({ table: swapped }), await opened({ table: again })]
    await first.until(1)
    await second.until(1)
    await warehouse.query(`CREATE TABLE ${swapped}_new (id int PRIMARY KEY)`)
    await warehouse.query(`ALTER TABLE ${swapped} RENAME TO ${swapped}_old`)
    await warehouse.query(`ALTER TABLE ${swapped}_new RENAME TO ${swapped}`)
    await warehouse.query(`INSERT INTO ${swapped}_old VALUES (2)`)
    await warehouse.query(`DROP TABLE ${again}`)
    await warehouse.query(`CREATE TABLE ${again} (id int PRIMARY KEY)`)
    expect(await first.failed).toMatchObject({ message: expect.stringContaining('renamed') })
    expect(await second.failed).toMatchObject({ message: expect.stringContaining('dropped or renamed') })
    expect(first.rows).toHaveLength(1)
  }, 120_000)
})

describe('a table by query', () => {
  it('is not asked again and again while the cursor of all rows is null', async () => {
    const table = await made('id int PRIMARY KEY, at int')
    await warehouse.query(`INSERT INTO ${table} SELECT generate_series(1, 6000)`)
    const { rows, until } = await opened({ table, mode: 'query', cursor: 'at', poll_interval_ms: 1000 })
    const scans = async () =>
      Number((await warehouse.query('SELECT seq_scan AS n FROM pg_stat_user_tables WHERE relname = $1', [table])).rows[0].n)
    await new Promise((resolve) => setTimeout(resolve, 4000))
    expect(await scans()).toBeLessThan(10)
    await eventually('it is asked', async () => (await scans()) > 0)
    await warehouse.query(`UPDATE ${table} SET at = 1 WHERE id = 1`)
    await until(1)
    expect(rows[0]!.value).toBe('{"id":1,"at":1}')
  })
})

describe.each([
  ['replication', {}],
  ['query', { mode: 'query', cursor: 'id', poll_interval_ms: 100 }],
])('a table read by %s', (_mode, config) => {
  it('ends the source for good when the login, or reading the table, is refused', async () => {
    const table = await made('id int PRIMARY KEY')
    const connectionOf = (user: string) => {
      const url = new URL(service().warehouseUrl)
      ;[url.username, url.password] = [user, 'a password']
      return url.toString()
    }
    const failedAs = async (user: string) =>
      (await opened({ table, ...config, connection: { $secret: 'login' } }, { connection: connectionOf(user) })).failed
    const user = unique('reads').replaceAll('-', '_').toLowerCase()
    expect(await failedAs(user)).toBeInstanceOf(ConfigRefused)
    await warehouse.query(`CREATE ROLE ${user} LOGIN PASSWORD 'a password'`)
    expect(await failedAs(user)).toBeInstanceOf(ConfigRefused)
    await warehouse.query(`DROP ROLE ${user}`)
  })
})
