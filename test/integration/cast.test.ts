/** dps/cast in a pipeline: texts become typed columns, and what can't be cast becomes a dead letter. */
import { describe, expect, it } from 'vitest'
import { loggedIn, service, unique } from '../harness/client.ts'
import { columnTypes, connect, lettersOf, openWarehouse, stream, table, waitForRows } from '../harness/connectors.ts'
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
      'the field day is not a date: "30.02.2026"',
      'the field id is not an integer: "three"',
    ])
    await warehouse.end()
  })
})
