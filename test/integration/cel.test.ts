/** dps/cel in pipelines: a file of texts becomes typed rows by two built-in steps, and a faulty expression is refused with its place. */
import { describe, expect, it } from 'vitest'
import { loggedIn, service, unique } from '../harness/client.ts'
import { columnTypes, connect, lettersOf, openWarehouse, stream, table, waitForRows } from '../harness/connectors.ts'
import { createStream, write } from '../harness/pipelines.ts'

describe('expressions', () => {
  it('filter and compute typed columns behind dps/cast', async () => {
    const client = await loggedIn(service().accounts.enterprise)
    const name = unique('cel').replaceAll('-', '_').toLowerCase()
    const from = await createStream(client, { id: 'string', price: 'string', n: 'string', day: 'string' }, { partitions: 1 })
    const cast = { id: 'integer', price: { type: 'decimal', decimal_point: ',' }, n: 'integer', day: 'date' }
    const set = {
      total: 'double(value.price) * value.n',
      large: 'value.price * value.n >= 100.0',
      label: 'value.id % 2 == 0 ? "even" : null',
      seen: 'timestamp',
      year: 'timestamp(value.day + "T00:00:00Z").getFullYear()',
    }
    const steps = [
      { name: 'dps/cast', config: { fields: cast } },
      { name: 'dps/cel', config: { filter: 'value.price != null && value.n > 0', set } },
    ]
    const id = await connect(client, stream(from.id), steps, table({ table: name }))
    await write(client, from.id, [
      { id: '1', price: '10,50', n: '10', day: '2026-11-22' },
      { id: '2', price: '', n: '1', day: '2026-11-22' },
      { id: '4', price: '1,25', n: '3', day: '2025-01-01' },
      { id: '5', price: '1,25', n: '3', day: '' },
    ])
    const warehouse = await openWarehouse()
    await waitForRows(warehouse, name, 2)
    expect(await columnTypes(warehouse, name)).toEqual({
      id: 'bigint',
      price: 'numeric',
      n: 'bigint',
      day: 'date',
      total: 'double precision',
      large: 'boolean',
      label: 'text',
      seen: 'timestamp with time zone',
      year: 'bigint',
    })
    const { rows } = await warehouse.query(`SELECT id::int, total, large, label, year::int FROM ${name} ORDER BY id`)
    expect(rows).toEqual([
      { id: 1, total: 105, large: true, label: null, year: 2026 },
      { id: 4, total: 3.75, large: false, label: 'even', year: 2025 },
    ])
    const { dead_letters } = await lettersOf(client, id)
    expect(dead_letters.map(({ error }) => error.message)).toEqual(['set.year: 1:21: no such overload: _+_(null_type, string)'])
    await warehouse.end()
  })

  it('are refused with line and column, and nothing is made', async () => {
    const client = await loggedIn(service().accounts.enterprise)
    const [from, to] = [await createStream(client, { id: 'string' }), await createStream(client, { id: 'string' })]
    const ask = (name: string, config: object) =>
      client.call<{ error: { code: string; details: { path: string; message: string }[] } }>('POST', '/v1/pipelines', {
        name: unique('cel'),
        source: stream(from.id),
        processors: [{ module_id: name, config }],
        sink: stream(to.id),
      })
    const { status, body } = await ask('dps/cel', { filter: 'value.id ==\n == "a"' })
    expect(status).toBe(400)
    expect(body.error.details).toEqual([{ path: '/processors/0/config/filter', message: '2:2: unexpected ==' }])
    expect((await ask('dps/filter', { expression: 'valu.id == "a"' })).body.error.details).toEqual([
      { path: '/processors/0/config/expression', message: '1:1: valu is not known here' },
    ])
    const several = await client.call<{ error: { details: { path: string }[] } }>('POST', '/v1/pipelines', {
      name: unique('cel'),
      source: stream(from.id),
      processors: [
        { module_id: 'dps/cel', config: { filter: 'value.id >' } },
        { module_id: 'nothing', config: {} },
        { module_id: 'dps/redact', config: { feilds: {} } },
        { module_id: 'dps/cel', config: { set: { a: 'valu.b' } } },
        { module_id: 'dps/cel', config: { filter: 'true' } },
      ],
      sink: stream(to.id),
    })
    // Of every step what is wrong with it, whatever is wrong with the others.
    expect(several.body.error.details.map(({ path }) => path).toSorted()).toEqual([
      '/processors/0/config/filter',
      '/processors/1/module_id',
      '/processors/2/config/feilds',
      '/processors/3/config/set/a',
    ])
    expect((await ask('dps/filter', { operator: 'eq', value: 1 })).status).toBe(400)
    expect((await ask('dps/cel', {})).status).toBe(400)
  })
})
