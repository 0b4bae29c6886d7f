/** Every built-in SmartModule: its examples, its schema, and that its build is the same each time. */
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { BUILT_IN_NAMES, BUILT_INS } from '../../shared/smartmodule/catalogue/catalogue.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { filesBeside } from '../../shared/smartmodule/compile-cache.ts'
import { configFaults } from '../../services/control-plane/workshop/schema-faults.ts'
import { openTestChain } from '../harness/chains.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { bestOf } from '../harness/times-of.ts'

const CATALOGUE = join(import.meta.dirname, '..', '..', 'shared', 'smartmodule', 'catalogue')
type Example = { title: string; config: Record<string, unknown>; records: unknown[]; out: unknown[]; failures?: string[] }

describe('the catalogue', () => {
  it('lists every folder', () => {
    const folders = readdirSync(CATALOGUE, { withFileTypes: true }).filter((each) => each.isDirectory())
    expect(folders.map(({ name }) => name).toSorted()).toEqual([...BUILT_IN_NAMES].toSorted())
  })

  it('builds the same binary each time', async () => {
    const file = join(CATALOGUE, 'explode', 'module.ts')
    const build = async () =>
      createHash('sha256')
        .update(await compileSmartModule(readFileSync(file, 'utf8'), await filesBeside(file)))
        .digest('hex')
    expect(await build()).toBe(await build())
  })
})

describe.each(BUILT_IN_NAMES)('dps/%s', (name) => {
  const examples = JSON.parse(readFileSync(join(CATALOGUE, name, 'examples.json'), 'utf8')) as Example[]
  it.each(examples.map((each) => [each.title, each] as const))('%s', async (_, { config, records, out, failures = [] }) => {
    const { parameters } = BUILT_INS.find((each) => each.name === `dps/${name}`)!
    expect(configFaults(parameters, config)).toEqual([])
    const result = await (await openTestChain([{ name: `dps/${name}`, config }])).run(records.map((each) => JSON.stringify(each)))
    expect(result.values.map((value) => JSON.parse(value!) as unknown)).toEqual(out)
    expect(result.failures.map(({ message }) => message)).toEqual(failures)
  })
})

describe('what a record carries beside its value', () => {
  it('is its new time, in milliseconds', async () => {
    const iso = await openTestChain([{ name: 'dps/timestamp', config: { field: 'at' } }])
    const { records } = await iso.run(['{"at":"2026-11-22T10:00:00.1239+02:00"}', '{"at":"2026-11-22"}'])
    expect(records.map(({ timestampDelta }) => 1000n + timestampDelta)).toEqual([
      BigInt(Date.parse('2026-11-22T08:00:00.123Z')),
      BigInt(Date.parse('2026-11-22T00:00:00Z')),
    ])
    const spaces = (await iso.run(['{"at":" 2026-11-22\\u00a0"}', '{"at":"\\u00a0"}', '{"at":"2026-11-22"}'])).records
    expect(spaces.map(({ timestampDelta }) => 1000n + timestampDelta)).toEqual([
      BigInt(Date.parse('2026-11-22')),
      BigInt(Date.parse('2026-11-22')),
    ])
    const blank = await openTestChain([{ name: 'dps/timestamp', config: { field: 'at', format: ' YYYY-MM-DD \t' } }])
    const dated = (await blank.run(['{"at":"2026-11-22 "}', '{"at":"2026-11-22"}'])).records
    expect(dated.map(({ timestampDelta }) => 1000n + timestampDelta)).toEqual([
      BigInt(Date.parse('2026-11-22')),
      BigInt(Date.parse('2026-11-22')),
    ])
    const kept = await openTestChain([{ name: 'dps/timestamp', config: { field: 'at', format: 'unix', on_failure: 'keep' } }])
    expect((await kept.run(['{"at":"no"}', '{"at":1700000000}'])).records.map(({ timestampDelta }) => timestampDelta)).toEqual([
      0n,
      1_700_000_000_000n - 1000n,
    ])
  })

  it('is its new key; headers stay', async () => {
    const chain = await openTestChain([{ name: 'dps/route-by', config: { fields: ['a', 'b.c'], on_missing: 'keep' } }])
    const { records, values } = await chain.run(['{"a":"x\\n","b":{"c":1.50}}', '{"a":"x"}'])
    expect(records.map(({ key }) => key?.toString())).toEqual(['x\n|1.50', 'k1'])
    expect(records.map(({ headers }) => headers.map(([name, value]) => [name, [...value!]]))).toEqual([[['h', [0]]], [['h', [1]]]])
    expect(values).toEqual(['{"a":"x\\n","b":{"c":1.50}}', '{"a":"x"}'])
  })

  it('are headers that a SmartModule sets', async () => {
    const source = `import { Record, Path } from 'dps'
const n = new Path('n')
export function map(record: Record): void {
  const slice = record.find(n)
  record.setHeader('n', slice.start, slice.end - slice.start)
  record.setHeader('h', slice.start, slice.end - slice.start)
  record.setHeader('n', slice.start, 1)
}`
    const module = await WebAssembly.compile(await compileSmartModule(source))
    const { records, values } = await (await openTestChain([{ name: 'own', config: {} }], { own: module })).run(['{"n":12}', '{"n":345}'])
    const shown = records.map(({ headers }) => headers.map(([name, value]) => [name, value!.toString()]))
    expect(shown).toEqual([
      [
        ['h', '12'],
        ['n', '1'],
      ],
      [
        ['h', '345'],
        ['n', '3'],
      ],
    ])
    expect(values).toEqual(['{"n":12}', '{"n":345}'])
  })
})

describe('texts and names', () => {
  const made = async (name: string, config: object, value: string) => {
    const { values, failures } = await (await openTestChain([{ name: `dps/${name}`, config: { ...config } }])).run([value])
    return failures[0]?.message ?? values[0]
  }
  it('may be escaped, and never make a member twice', async () => {
    const chain = await openTestChain([{ name: 'dps/timestamp', config: { field: 'at', format: 'DD/MM/YYYY' } }])
    const { records } = await chain.run(['{"at":"22\\/11\\/2026"}'])
    expect(records.map(({ timestampDelta }) => 1000n + timestampDelta)).toEqual([BigInt(Date.parse('2026-11-22T00:00:00Z'))])
    expect(await made('flatten', {}, '{"a.b":1,"a":{"b":2}}')).toBe('two members have the same name: "a.b"')
    expect(await made('flatten', {}, '{"a.b":1,"\\u0061":{"b":2}}')).toBe('two members have the same name: "\\u0061.b"')
    expect(await made('parse', { field: 't', format: 'key_value' }, '{"t":"a=1 a=2"}')).toBe('the field t has a name twice: "a"')
    expect(await made('parse', { field: 't', format: 'key_value' }, '{"t":"a=b\\u0000c=d"}')).toBe('{"t":{"a":"b\\u0000c=d"}}')
    // Beyond a few members by a table of their names.
    const many = (last: string) => `{${Array.from({ length: 40 }, (_, n) => `"é${n}":0,`).join('')}${last}}`
    expect(await made('flatten', {}, many('"a":1,"\\u0061":2'))).toBe('two members have the same name: "\\u0061"')
    expect(await made('flatten', {}, many('"\\u00e97":{"b":1}'))).toBe(many('"\\u00e97.b":1'))
    expect(await made('flatten', {}, many('"\\u00e97":2'))).toBe('two members have the same name: "\\u00e97"')
    expect(await made('explode', { field: 'l' }, '[1]')).toBe('the value is not a JSON object')
  })
})

it.each([
  ['route-by', { fields: ['a'] }, null],
  ['timestamp', { field: 'a' }, 'soon'],
  ['validate', { field: 'a', schema: { type: 'string' } }, 5],
  ['text-classifier', { field: 'a', output_field: 'b' }, 5],
  ['lookup', { field: 'a', into: 'b', table: { x: 1 }, on_missing: 'fail' }, 'y'],
])('dps/%s tells a field that is not there from one that it can’t use', async (name, config, unusable) => {
  const chain = await openTestChain([{ name: `dps/${name}`, config: { ...config } }])
  const { failures } = await chain.run(['{"b":1}', JSON.stringify({ a: unusable })])
  expect(failures).toMatchObject([
    { delta: 0, code: 'field_missing', message: 'the field a is missing' },
    { delta: 1, code: 'record_failed', message: expect.stringContaining('the field a') },
  ])
})

it('a comparison without its value is one fault', async () => {
  const chain = openTestChain([{ name: 'dps/filter', config: { field: 'a', operator: 'gt' } }])
  await expect(chain).rejects.toThrow(/^config\.value is required for gt$/)
})

it('50,000 members are looked through for twins in a moment, record after record', async () => {
  const names = Array.from({ length: 50_000 }, (_, n) => `n${n}`)
  const [flat, twins] = ['', ',"n7":0'].map((last) => `{${names.map((each) => `"${each}":0`).join(',')}${last}}`)
  const pairs = names.map((each) => `${each}=0`).join(' ')
  const flatten = await openTestChain([{ name: 'dps/flatten', config: {} }])
  const parse = await openTestChain([{ name: 'dps/parse', config: { field: 't', format: 'key_value' } }])
  expect(await bestOf(async () => expect((await flatten.run([flat!])).values).toEqual([flat]))).toBeLessThan(limitMs(400))
  expect(await bestOf(() => parse.run([JSON.stringify({ t: pairs })]))).toBeLessThan(limitMs(400))
  expect((await flatten.run([twins!])).failures.map(({ message }) => message)).toEqual(['two members have the same name: "n7"'])
  expect((await flatten.run(['{"a":1}', flat!])).values).toEqual(['{"a":1}', flat])
  const before = flatten.memoryBytes(0)
  for (let turn = 0; turn < 5; turn++) await flatten.run([flat!, twins!])
  expect(flatten.memoryBytes(0)).toBe(before)
})

describe('dps/parse', () => {
  const made = async (config: object, t: string) => {
    const { values, failures } = await (
      await openTestChain([{ name: 'dps/parse', config: { field: 't', ...config } }])
    ).run([JSON.stringify({ t })])
    return failures[0]?.message ?? (JSON.parse(values[0]!) as unknown)
  }

  it('keeps each character between the quotes of pairs', async () => {
    const pairs = (t: string) => made({ format: 'key_value' }, t)
    expect(await pairs(String.raw`msg="line1\nline2" path="C:\Users"`)).toEqual({ t: { msg: 'line1\nline2', path: String.raw`C:\Users` } })
    expect(await pairs(String.raw`a="x\ty\rz" b="\"\\" c="\é\0\\n" d=\n`)).toEqual({
      t: { a: 'x\ty\rz', b: '"\\', c: String.raw`\é\0\n`, d: String.raw`\n` },
    })
    const open = String.raw`a="x\"`
    expect(await pairs(open)).toBe(`the field t is not a list of pairs: ${JSON.stringify(open)}`)
    expect(await made({ format: 'csv', columns: ['a'] }, String.raw`"x\n"`)).toEqual({ t: { a: String.raw`x\n` } })
  })

  it('takes one line of CSV: a line break without quotes begins another one', async () => {
    const csv = (t: string) => made({ format: 'csv', columns: ['a', 'b'] }, t)
    expect(await csv('1,2\r\n')).toEqual({ t: { a: '1', b: '2' } })
    expect(await csv('"1\n2",3')).toEqual({ t: { a: '1\n2', b: '3' } })
    for (const t of ['1,2\n\n', '1,2\n3', '1\n2,3', '1,2\r3'])
      expect(await csv(t)).toBe(`the field t is not a line of 2 values: ${JSON.stringify(t)}`)
    expect(await made({ format: 'key_value' }, 'a=1\n2 b=3')).toEqual({ t: { a: '1\n2', b: '3' } })
  })

  it('takes JSON that the record has room for, one level deeper than it is alone', async () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
    const keep = { format: 'json', on_failure: 'keep' }
    expect(JSON.stringify(await made({ format: 'json' }, nested(127)))).toBe(`{"t":${nested(127)}}`)
    for (const depth of [128, 129]) {
      expect(await made({ format: 'json' }, nested(depth))).toBe(`the field t is not JSON: "${'['.repeat(59)}…`)
      expect(await made(keep, nested(depth))).toEqual({ t: nested(depth) })
      expect(await made({ ...keep, into: 'u' }, nested(depth))).toEqual({ t: nested(depth) })
    }
    // The steps behind it see the record as it was, and so do the next records.
    const chain = await openTestChain([
      { name: 'dps/parse', config: { field: 't', ...keep } },
      { name: 'dps/map-fields', config: { set: { n: 1 } } },
    ])
    const { values } = await chain.run([JSON.stringify({ t: nested(128) }), '{"t":"[1]"}', '{"t":"["}'])
    expect(values).toEqual([`{"t":"${nested(128)}","n":1}`, '{"t":[1],"n":1}', '{"t":"[","n":1}'])
  })
})

describe('explode, flatten and parse', () => {
  const json = fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' }).map((value) => JSON.parse(JSON.stringify(value)) as unknown)
  it('do what JavaScript does over parsed JSON', async () => {
    const [explode, flatten, parse] = await Promise.all([
      openTestChain([{ name: 'dps/explode', config: { field: 'l' } }]),
      openTestChain([{ name: 'dps/flatten', config: { separator: '\u0001' } }]),
      openTestChain([{ name: 'dps/parse', config: { field: 't', format: 'json' } }]),
    ])
    const flat = (value: Record<string, unknown>, before = ''): [string, unknown][] =>
      Object.entries(value).flatMap(([name, each]) =>
        each !== null && typeof each === 'object' && !Array.isArray(each) && Object.keys(each).length > 0
          ? flat(each as Record<string, unknown>, `${before}${name}\u0001`)
          : [[before + name, each] as [string, unknown]],
      )
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(fc.string({ unit: 'grapheme', maxLength: 5 }), json),
        fc.array(json, { maxLength: 5 }),
        async (rest, list) => {
          const record = { ...rest, l: list, t: JSON.stringify(rest) }
          const parsed = ({ values }: { values: (string | null)[] }) => values.map((value) => JSON.parse(value!) as unknown)
          expect(parsed(await explode.run([JSON.stringify(record, null, 1)]))).toEqual(list.map((l) => ({ ...record, l })))
          expect(parsed(await flatten.run([JSON.stringify(record, null, 1)]))).toEqual([Object.fromEntries(flat(record))])
          expect(parsed(await parse.run([JSON.stringify(record)]))).toEqual([{ ...record, t: rest }])
        },
      ),
      { numRuns: 300 },
    )
  })

  it('sample keeps its share, of places and of values', async () => {
    const kept = async (config: object) =>
      (
        await (
          await openTestChain([{ name: 'dps/sample', config: { share: 0.25, ...config } }])
        ).run(Array.from({ length: 8000 }, (_, n) => JSON.stringify({ n: n % 100 })))
      ).values
    expect(Math.abs((await kept({})).length - 2000)).toBeLessThan(200)
    const byValue = await kept({ by: 'n' })
    const values = new Set(byValue)
    expect(byValue.length).toBe(values.size * 80)
    expect(values.size).toBeGreaterThan(8)
    expect(await kept({ by: 'n' })).toEqual(byValue)
    // A text is the same one however it is written.
    const byText = await openTestChain([{ name: 'dps/sample', config: { share: 0.5, by: 't' } }])
    for (const [plain, escaped] of [
      ['abc', '\\u0061bc'],
      ['a/b', 'a\\/b'],
      ['k2', '\\u006b2'],
      ['é', '\\u00e9'],
    ]) {
      const { values } = await byText.run([`{"t":"${plain}"}`, `{"t":"${escaped}"}`])
      expect([0, 2]).toContain(values.length)
    }
  })
})
