/** A member whose name has dots, as dps/flatten makes them, is found by built-ins that take dotted paths, before the path itself. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fieldsAfter } from '../../services/control-plane/definitions/fields-behind.ts'
import { openTestChain } from '../harness/chains.ts'

const run = async (name: string, config: Record<string, unknown>, ...records: unknown[]) => {
  const chain = await openTestChain([{ name: `dps/${name}`, config }])
  const { values, failures } = await chain.run(records.map((each) => JSON.stringify(each)))
  expect(failures).toEqual([])
  return values.map((value) => JSON.parse(value!) as unknown)
}

describe('a path with a dot', () => {
  it('means the member of the whole name, where there is one, and else the nested one', async () => {
    const [whole, nested, both] = [{ 'a.b': 1 }, { a: { b: 1 } }, { 'a.b': 1, a: { b: 2 } }]
    const filter = { field: 'a.b', operator: 'eq', value: 1 }
    expect(await run('filter', filter, whole, nested, both, { 'a.b': 2, a: { b: 1 } })).toEqual([whole, nested, both])
    const lists = [{ 'a.b': [1, 2] }, { a: { b: [1, 2] } }]
    expect(await run('explode', { field: 'a.b' }, ...lists)).toEqual([{ 'a.b': 1 }, { 'a.b': 2 }, { a: { b: 1 } }, { a: { b: 2 } }])
    expect(await run('cast', { fields: { 'a.b': 'string' } }, whole, nested, both)).toEqual([
      { 'a.b': '1' },
      { a: { b: '1' } },
      { 'a.b': '1', a: { b: 2 } },
    ])
    expect(await run('lookup', { field: 'a.b', into: 'c', table: { '1': 'x' } }, both)).toEqual([{ ...both, c: 'x' }])
    expect(await run('validate', { field: 'a.b', schema: { const: 1 } }, whole, nested, both)).toHaveLength(3)
  })

  it('reaches an item of a list by its index alone, written as JSON writes numbers', async () => {
    const list = { a: { b: [1, 2] } }
    expect(await run('filter', { field: 'a.b.1', operator: 'eq', value: 2 }, list)).toEqual([list])
    expect(await run('filter', { field: 'a.b.01', operator: 'exists' }, list)).toEqual([])
    expect(await run('filter', { field: 'a.0', operator: 'exists' }, { a: [1] })).toHaveLength(1)
  })

  it('is taken so by dps/map-fields for each of its changes, record by record', async () => {
    const config = { uppercase: ['a.u'], drop: ['a.d'], set: { 'a.s': 1 }, rename: { 'a.r': 'a.n', 'x.y': 'x.z' } }
    const expected = (record: Record<string, unknown>): unknown => {
      const inner = typeof record.a === 'object' ? { ...(record.a as Record<string, unknown>) } : undefined
      const made: Record<string, unknown> = { ...record }
      const at = (name: string): [Record<string, unknown>, string] => (`a.${name}` in record ? [made, `a.${name}`] : [inner ?? {}, name])
      const [u, uName] = at('u')
      if (typeof u[uName] === 'string') u[uName] = u[uName].toUpperCase()
      const [r, rName] = at('r')
      if (rName in r) {
        r[rName === 'r' ? 'n' : 'a.n'] = r[rName]
        delete r[rName]
      }
      const [d, dName] = at('d')
      delete d[dName]
      if ('a.s' in record) made['a.s'] = 1
      else if (inner) inner.s = 1
      if (inner) made.a = inner
      else if (!('a.s' in record)) made.a = { s: 1 }
      return made
    }
    const member = fc.constantFrom('u', 'd', 's', 'r', 'n', 'o')
    const record = fc
      .record(
        { a: fc.dictionary(member, fc.constantFrom('t', 5)), rest: fc.dictionary(member, fc.constantFrom('t', 5)) },
        { requiredKeys: ['rest'] },
      )
      .map(({ a, rest }) => ({ ...Object.fromEntries(Object.entries(rest).map(([name, value]) => [`a.${name}`, value])), ...(a && { a }) }))
    const chain = await openTestChain([{ name: 'dps/map-fields', config }])
    await fc.assert(
      fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 6 }), async (records) => {
        const { values } = await chain.run(records.map((each) => JSON.stringify(each)))
        expect(values.map((value) => JSON.parse(value!) as unknown)).toEqual(records.map(expected))
      }),
      { numRuns: 300 },
    )
  })

  it('takes no memory by changing its meaning from record to record', async () => {
    const chain = await openTestChain([{ name: 'dps/map-fields', config: { rename: { 'a.r': 'a.n' } } }])
    const values = Array.from({ length: 2000 }, (_, n) => (n % 2 === 0 ? '{"a.r":1}' : '{"a":{"r":1}}'))
    await chain.run(values)
    const before = chain.memoryBytes(0)
    for (let turn = 0; turn < 50; turn++) await chain.run(values)
    expect(chain.memoryBytes(0)).toBe(before)
  })

  it('has its type behind dps/explode', async () => {
    const fields = { 'a.b': 'array', a: 'string', c: 'string' }
    const steps = [{ name: 'dps/explode', config: { field: 'a.b' } }]
    expect(await fieldsAfter(fields, steps, async () => [])).toEqual({ 'a.b': 'any', a: 'string', c: 'string' })
  })
})
