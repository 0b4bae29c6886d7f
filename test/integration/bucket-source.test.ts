/** Objects that are corrupt, partly malformed, or change the same rows: good rows arrive, bad ones are named, the newest object wins. */
import { gzipSync, zstdCompressSync } from 'node:zlib'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { bucket, connect, lettersOf, openS3, openWarehouse, table, waitForRows } from '../harness/connectors.ts'
import { waitForStatus } from '../harness/pipelines.ts'

let client: Client
let warehouse: pg.Client
let s3: ReturnType<typeof openS3>
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  warehouse = await openWarehouse()
  s3 = openS3()
})
afterAll(async () => {
  s3.close()
  await warehouse.end()
})

const nameOf = (kind: string) => unique(kind).replaceAll('-', '_').toLowerCase()
const statusOf = async (id: string) =>
  (await client.call<{ status: string; status_reason: string | null }>('GET', `/v1/pipelines/${id}/status`)).body

describe('eight objects that change the same rows', () => {
  it.each([
    ['in the order of their names', (day: number) => day, 0],
    // Times of objects have whole seconds; those of one second are read in the order of their names.
    ['against the order of their names', (day: number) => 7 - day, 1100],
  ])('leave the values of the newest one, uploaded %s', async (_, numberOf, pauseMs) => {
    const prefix = `${unique('days')}/`
    const name = nameOf('newest')
    await warehouse.query(`CREATE TABLE ${name} (id text PRIMARY KEY, day text, n text)`)
    for (let day = 0; day < 8; day++) {
      const rows = Array.from({ length: 300 }, (_, id) => `${id},day-${day},${day * 1000 + id}`)
      await s3.put(`${prefix}day-0${numberOf(day)}.csv`, ['id,day,n', ...rows].join('\n'))
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    }
    const id = await connect(client, bucket({ prefix, poll_interval_ms: 200 }), [], table({ table: name, mode: 'upsert', key: ['id'] }))
    await eventually(`the last day is in ${name}`, async () => {
      const { rows } = await warehouse.query(`SELECT count(*)::int AS n FROM ${name} WHERE day = 'day-7'`)
      return rows[0].n === 300
    })
    await new Promise((resolve) => setTimeout(resolve, 500))
    const { rows } = await warehouse.query(`SELECT day, count(*)::int AS n FROM ${name} GROUP BY day`)
    expect(rows).toEqual([{ day: 'day-7', n: 300 }])
    await client.call('DELETE', `/v1/pipelines/${id}`)
  })
})

describe('objects that can’t be read', () => {
  it('are each named in a dead letter, and do not stop the others', async () => {
    const prefix = `${unique('corrupt')}/`
    const name = nameOf('corrupt')
    const rows = (from: number, count: number) => Array.from({ length: count }, (_, n) => `${from + n},text ${from + n}`)
    const whole = gzipSync(['id,text', ...rows(1000, 5000)].join('\n'))
    const broken = Buffer.from(whole)
    broken.fill(0x5a, 12)
    await s3.put(`${prefix}a.csv.gz`, broken)
    await s3.put(`${prefix}b.csv.gz`, whole.subarray(0, 20))
    await s3.put(`${prefix}c.csv.zst`, zstdCompressSync('id,text\n9,x\n').subarray(0, -3))
    await s3.put(`${prefix}d.csv.gz`, Buffer.from('no gzip at all'))
    await s3.put(`${prefix}e.csv`, ['id,text', '1,one', ' , "sp" ,t', '2,two', '3,"open', '4,four'].join('\n'))
    // Concatenated frames, as parallel compressors and `cat` make them.
    await s3.put(`${prefix}f.csv.zst`, Buffer.concat([zstdCompressSync('id,text\n10,ten\n'), zstdCompressSync('11,eleven\n12,twelve\n')]))
    await warehouse.query(`CREATE TABLE ${name} (id text PRIMARY KEY, text text)`)
    const id = await connect(client, bucket({ prefix, poll_interval_ms: 200 }), [], table({ table: name, mode: 'upsert', key: ['id'] }), {
      failure_threshold: 1,
    })
    await eventually('the good rows are there', async () => {
      const { rows: found } = await warehouse.query(`SELECT id FROM ${name} WHERE id ~ '^[0-9]{1,2}$' ORDER BY id::int`)
      return JSON.stringify(found.map((row) => row.id)) === JSON.stringify(['1', '2', '4', '10', '11', '12'])
    })
    await eventually('every fault has a dead letter', async () => (await lettersOf(client, id)).total === 6)
    const { dead_letters } = await lettersOf(client, id)
    const messages = dead_letters.map(({ error }) => `${error.code}: ${error.message}`).sort()
    expect(messages[0]).toMatch(/malformed_row: row 2 of the object .*e\.csv/)
    expect(messages[1]).toMatch(/malformed_row: row 4 of the object .*e\.csv: a quote is opened/)
    for (const [index, object] of ['a.csv.gz', 'b.csv.gz', 'c.csv.zst', 'd.csv.gz'].entries())
      expect(messages[2 + index]).toMatch(new RegExp(`object_unreadable: the object .*${object} is corrupt`))
    await waitForStatus(client, id, 'running')
    // The failures that are counted equal the dead letters.
    await eventually('they are counted', async () => {
      const accounting = await client.call('GET', `/v1/pipelines/${id}/accounting`)
      return JSON.stringify(accounting.body).includes('"dead_lettered":6')
    })

    // Once replaced by a good object, it is read.
    await s3.put(`${prefix}d.csv.gz`, Buffer.concat([gzipSync('id,text\n20,twenty\n'), gzipSync('21,one more\n')]))
    await eventually(
      'both members of the replaced object are read',
      async () => (await warehouse.query(`SELECT FROM ${name} WHERE id IN ('20', '21')`)).rowCount === 2,
    )
    await client.call('DELETE', `/v1/pipelines/${id}`)
  })

  it('fail the pipeline when on_object_error is fail, with a reason that names the object', async () => {
    const prefix = `${unique('corrupt')}/`
    const name = nameOf('corrupt')
    await s3.put(`${prefix}bad.csv.gz`, Buffer.from('no gzip at all'))
    await warehouse.query(`CREATE TABLE ${name} (id text)`)
    const id = await connect(client, bucket({ prefix, poll_interval_ms: 200, on_object_error: 'fail' }), [], table({ table: name }))
    await eventually('the pipeline has failed', async () => (await statusOf(id)).status === 'failed')
    expect((await statusOf(id)).status_reason).toContain(`${prefix}bad.csv.gz is corrupt`)
    await client.call('DELETE', `/v1/pipelines/${id}`)
  })
})

describe('records that are too large for a topic', () => {
  it('become dead letters, and later records go on', async () => {
    const from = nameOf('large')
    const to = nameOf('large_to')
    await warehouse.query(`CREATE TABLE ${from} (n int PRIMARY KEY, text text)`)
    await warehouse.query(
      `INSERT INTO ${from} SELECT n, CASE WHEN n = 5 THEN repeat('x', 9000000) ELSE 'small' END FROM generate_series(1, 10) n`,
    )
    await warehouse.query(`CREATE TABLE ${to} (n int, text text)`)
    const id = await connect(client, table({ table: from, mode: 'query', cursor: 'n', poll_interval_ms: 200 }), [], table({ table: to }), {
      failure_threshold: 1,
    })
    await waitForRows(warehouse, to, 9)
    await eventually('the large record has a dead letter', async () => (await lettersOf(client, id)).total === 1)
    expect((await lettersOf(client, id)).dead_letters[0]!.error).toMatchObject({ code: 'record_too_large' })
    await client.call('DELETE', `/v1/pipelines/${id}`)
  })
})
