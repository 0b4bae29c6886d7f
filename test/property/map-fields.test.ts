/** The order in which dps/map-fields changes a record, against the same steps in plain JavaScript: rename, then drop, then set. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { openTestChain } from '../harness/chains.ts'

type Config = { rename?: Record<string, string>; drop?: string[]; set?: Record<string, unknown>; uppercase?: string[] }
type Tree = Record<string, unknown>
const run = async (config: Config, ...records: string[]) => {
  const { values, failures } = await (await openTestChain([{ name: 'dps/map-fields', config }])).run(records)
  expect(failures).toEqual([])
  return values
}

describe('what is set in an object', () => {
  it.each<[config: Config, record: string, made: string]>([
    [{ rename: { a: 'b' }, set: { 'b.c': 1 } }, '{"a":{"x":1}}', '{"b":{"x":1,"c":1}}'],
    [{ rename: { a: 'b' }, set: { 'b.c': 1 } }, '{"a":{"x":1},"b":{"y":2}}', '{"b":{"x":1,"c":1}}'],
    [{ rename: { a: 'b' }, set: { 'b.c': 1 } }, '{"b":{"y":2}}', '{"b":{"y":2,"c":1}}'],
    [{ rename: { a: 'b' }, set: { 'b.c': 1 } }, '{"a":5}', '{"b":5}'],
    [{ rename: { a: 'b' }, set: { 'a.c': 1 } }, '{"a":{"x":1}}', '{"b":{"x":1},"a":{"c":1}}'],
    [{ rename: { a: 'b' }, set: { a: 1 } }, '{"a":{"x":1},"b":2}', '{"b":{"x":1},"a":1}'],
    [{ rename: { a: 'b', b: 'a' }, set: { 'a.c': 1 } }, '{"a":{"x":1},"b":{"y":2}}', '{"b":{"x":1},"a":{"y":2,"c":1}}'],
    [{ rename: { 'a.b': 'a.z' }, set: { 'a.z.c': 1 } }, '{"a":{"b":{"x":1}}}', '{"a":{"z":{"x":1,"c":1}}}'],
    [{ rename: { a: 'q', 'a.b': 'a.z' }, set: { 'q.z.c': 1 } }, '{"a":{"b":{}}}', '{"q":{"z":{"c":1}}}'],
    [{ drop: ['a'], set: { 'a.c': 1 } }, '{"z":1}', '{"z":1,"a":{"c":1}}'],
    [{ drop: ['a'], set: { 'a.c': 1 } }, '{"a":{"x":1},"z":1}', '{"z":1,"a":{"c":1}}'],
    [{ drop: ['a.b'], set: { 'a.b.c': 1 } }, '{"a":{"b":{"x":1}}}', '{"a":{"b":{"c":1}}}'],
    [{ drop: ['a'], rename: { b: 'a' }, set: { 'a.c': 1 } }, '{"a":{"x":1},"b":{"y":2}}', '{"a":{"y":2,"c":1}}'],
    [{ rename: { a: 'b' }, set: { 'b.c': 1 } }, '{"\\u0061":{"x":1}}', '{"b":{"x":1,"c":1}}'],
    [{ set: { 'a.c': 1 } }, '{"\\u0061":{"x":1}}', '{"\\u0061":{"x":1,"c":1}}'],
    // A member of the whole name, also one that is renamed to it, is what a dotted path means.
    [{ rename: { 'a.b': 'a.c' }, set: { 'a.c': 1 } }, '{"a.b":0,"a":{}}', '{"a":{},"a.c":1}'],
    [{ rename: { 'a.b': 'a.c' }, set: { 'a.c': 1 } }, '{"a":{"b":0}}', '{"a":{"c":1}}'],
    [{ rename: { 'a.b': 'a.c' }, set: { 'a.b': 1 } }, '{"a.b":0}', '{"a.c":0,"a.b":1}'],
  ])('is there after %j of %s', async (config, record, made) => {
    // Behind another record, of which nothing may be left.
    expect(await run(config, '{"a":{"b":{"c":0}},"b":{}}', record)).toEqual([expect.anything(), made])
  })
})

/** The same over parsed JSON, for records without dotted names. */
function mapped(record: Tree, { rename = {}, drop = [], set = {}, uppercase = [] }: Config): Tree {
  const isObject = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value)
  const moved = (object: Tree, before: string): Tree => {
    const newName = (name: string) => rename[before + name]?.slice(before.length)
    const replaced = new Set(Object.keys(object).map(newName))
    const made: Tree = {}
    for (const [name, value] of Object.entries(object)) {
      const path = before + name
      const to = newName(name)
      if (drop.includes(path) || (to === undefined && replaced.has(name))) continue
      const cased = uppercase.includes(path) && typeof value === 'string' ? value.toUpperCase() : value
      made[to ?? name] = isObject(cased) ? moved(cased, `${path}.`) : cased
    }
    return made
  }
  const made = moved(record, '')
  for (const [path, value] of Object.entries(set)) {
    const names = path.split('.')
    let at: unknown = made
    for (const name of names.slice(0, -1)) if (isObject(at)) at = at[name] ??= Object.hasOwn(at, name) ? null : {}
    if (isObject(at)) at[names.at(-1)!] = value
  }
  return made
}

it('is the documented one', async () => {
  const name = fc.constantFrom('a', 'b', 'c')
  const leaf = fc.constantFrom<unknown>(1, 'x', null, [1], {})
  const level = (below: fc.Arbitrary<unknown>) => fc.dictionary(name, fc.oneof(leaf, below), { maxKeys: 3 })
  const record = level(level(level(leaf)))
  const path = fc.oneof(
    name,
    fc.tuple(name, name).map((each) => each.join('.')),
    fc.tuple(name, name, name).map((each) => each.join('.')),
  )
  const rename = fc
    .dictionary(path, fc.constantFrom('a', 'b', 'c', 'd'), { maxKeys: 3 })
    .map((names) => Object.fromEntries(Object.entries(names).map(([from, to]) => [from, from.replace(/\w$/, to)])))
    .filter((names) => new Set(Object.values(names)).size === Object.keys(names).length)
  // A field and what is in it are not set in one step.
  const set = fc
    .dictionary(
      fc.oneof(
        path,
        path.map((each) => `${each}.d`),
      ),
      fc.constantFrom<unknown>(5, 'set', { s: 1 }),
      { maxKeys: 3 },
    )
    .filter((each) => !Object.keys(each).some((one) => Object.keys(each).some((other) => other.startsWith(`${one}.`))))
  const paths = fc.uniqueArray(path, { maxLength: 2 })
  const config = fc.record({ rename, set, drop: paths, uppercase: paths }, { requiredKeys: [] })
  await fc.assert(
    fc.asyncProperty(fc.array(record, { minLength: 1, maxLength: 4 }), config, async (records, asked) => {
      const values = await run(asked, ...records.map((each) => JSON.stringify(each)))
      expect(values.map((each) => JSON.parse(each!) as unknown)).toEqual(records.map((each) => mapped(each, asked)))
      // Nothing is there twice: what is read is as long as what was written.
      for (const each of values) expect(JSON.stringify(JSON.parse(each!))).toHaveLength(each!.length)
    }),
    { numRuns: 300 },
  )
})
