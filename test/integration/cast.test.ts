/** dps/cast in a pipeline: texts become typed columns, and what can't be cast becomes a dead letter. */
import { describe, expect, it } from 'vitest'
import { eventually, loggedIn, service, unique } from '../harness/client.ts'
import { bucket, columnTypes, connect, lettersOf, openS3, openWarehouse, stream, table, waitForRows } from '../harness/connectors.ts'
import { createStream, write } from '../harness/pipelines.ts'

describe('records of texts', () => {
  it('become rows of typed columns, and the others dead letters that say why', async () => {
    const client = await loggedIn(service().accounts.enterprise)
    const name = unique('cast').replaceAll('-', '_').toLowerCase()
    const from = await createStream(
      client,
      { id: 'string', amount: 'string', paid: 'string', day: 'string', at: 'string', note: 'string' },
      { partitions: 1 },
    )
    const fields = {
      id: 'integer',
      amount: { type: 'decimal', decimal_point: ',', thousands: '.' },
      paid: { type: 'boolean', true: ['ja'], false: ['nein'] },
      day: { type: 'date', format: 'DD.MM.YYYY' },
      at: 'timestamp',
    }
    const id = await connect(client, stream(from.id), [{ name: 'dps/cast', config: { fields } }], table({ table: name }))
    const row = (more: object) => ({
      id: '1',
      amount: '1.234,50',
      paid: 'ja',
      day: '22.11.2026',
      at: '2026-11-22T10:00:00+02:00',
      note: 'n',
      ...more,
    })
    await write(client, from.id, [
      row({}),
      row({ id: '9007199254740993', amount: '', paid: 'NEIN', day: '', at: '' }),
      row({ id: 'three' }),
      row({ id: '4', day: '30.02.2026' }),
    ])
    const warehouse = await openWarehouse()
    await waitForRows(warehouse, name, 2)
    expect(await columnTypes(warehouse, name)).toEqual({
      id: 'bigint',
      amount: 'numeric',
      paid: 'boolean',
      day: 'date',
      at: 'timestamp with time zone',
      note: 'text',
    })
    const { rows } = await warehouse.query(`SELECT id::text, amount::text, paid, day::text, at, note FROM ${name} ORDER BY id`)
    expect(rows).toEqual([
      { id: '1', amount: '1234.50', paid: true, day: '2026-11-22', at: new Date('2026-11-22T08:00:00Z'), note: 'n' },
      { id: '9007199254740993', amount: null, paid: false, day: null, at: null, note: 'n' },
    ])
    const { dead_letters } = await lettersOf(client, id)
    expect(dead_letters.map(({ error }) => error.message).toSorted()).toEqual([
      'the field day is not a date: "30.02.2026"; expected DD.MM.YYYY',
      'the field id is not an integer: "three"',
    ])
    await warehouse.end()
  })

  it('become rows of a table that is made for them, from a CSV file by two built-in steps', async () => {
    const client = await loggedIn(service().accounts.enterprise)
    const name = unique('typed').replaceAll('-', '_').toLowerCase()
    const s3 = openS3()
    await s3.put(`${name}/a.csv`, 'id,amount,day,note\n1,"1.234,50",22.11.2026,\n2,,,x\n3,"9,99",,y\nfour,1,,z\n')
    const casts = {
      id: 'integer',
      amount: { type: 'decimal', decimal_point: ',', thousands: '.' },
      day: { type: 'date', format: 'DD.MM.YYYY' },
    }
    const steps = [
      { name: 'dps/cast', config: { fields: casts } },
      { name: 'dps/cel', config: { filter: 'value.id != 3', set: { is_large: 'has(value.amount) && value.amount != null' } } },
    ]
    const source = bucket({ prefix: `${name}/`, pattern: '*.csv', csv: { columns: ['id', 'amount', 'day', 'note'], empty: 'null' } })
    const id = await connect(client, source, steps, table({ table: name }))
    const warehouse = await openWarehouse()
    await waitForRows(warehouse, name, 2)
    expect(await columnTypes(warehouse, name)).toEqual({ id: 'bigint', amount: 'numeric', day: 'date', note: 'text', is_large: 'boolean' })
    const { rows } = await warehouse.query(`SELECT id::text, amount::text, day::text, note, is_large FROM ${name} ORDER BY id`)
    expect(rows).toEqual([
      { id: '1', amount: '1234.50', day: '2026-11-22', note: null, is_large: true },
      { id: '2', amount: null, day: null, note: 'x', is_large: false },
    ])
    await eventually('the wrong row is a dead letter', async () => (await lettersOf(client, id)).total === 1)
    await warehouse.end()
    s3.close()
  })
})
