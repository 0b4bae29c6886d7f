/** A record of which too much would be made fails with a sentence: it costs no instance, and so never the version its good name. */
import { describe, expect, it } from 'vitest'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { openTestChain, type TestStep } from '../harness/chains.ts'

const TOO_LARGE = 'what is made of the record is larger than 16 times the record and 1 MiB'
const text = (length: number) => 'x'.repeat(length)
const integers = (count: number) => Array.from({ length: count }, (_, n) => n)
const BYTES_MAX = 8 << 20

const run = async (steps: TestStep[], records: unknown[], modules = {}) => {
  const chain = await openTestChain(steps, modules, BYTES_MAX)
  const { values, failures, lost } = await chain.run(records.map((each) => JSON.stringify(each)))
  return { count: values.length, failures: failures.map(({ message }) => message), lost }
}

describe('too much of one record', () => {
  const small = { items: [1, 2], t: 'a' }
  it.each<[string, TestStep, unknown]>([
    ['many items', { name: 'dps/explode', config: { field: 'items' } }, { items: integers(10_000), t: text(400) }],
    ['many items of much', { name: 'dps/explode', config: { field: 'items' } }, { items: integers(100_000), t: text(10_000) }],
    [
      'values of an expression',
      { name: 'dps/cel', config: { emit: 'value.items.map(i, value)' } },
      { items: integers(3000), t: text(9000) },
    ],
    [
      'a list of an expression',
      { name: 'dps/cel', config: { set: { x: 'value.items.map(i, value)' } } },
      { items: integers(3000), t: text(20_000) },
    ],
    [
      'names of an expression',
      { name: 'dps/cel', config: { set: { x: 'value.items.map(i, {value.t: i})' } } },
      { items: integers(3000), t: text(20_000) },
    ],
    [
      'a long text of an expression',
      { name: 'dps/cel', config: { set: { t: 'value.items.map(i, value.t).join()' } } },
      { items: integers(25), t: text(400_000) },
    ],
    [
      'long names',
      { name: 'dps/flatten', config: {} },
      { [text(300_000)]: Object.fromEntries(integers(300).map((n) => [n, n])), items: [] },
    ],
    ['a large value set', { name: 'dps/map-fields', config: { set: { x: text(2_000_000) } } }, { a: 1 }],
    ['a large value looked up', { name: 'dps/lookup', config: { field: 't', into: 'x', table: { b: text(2_000_000) } } }, { t: 'b' }],
  ])('%s', async (_, step, record) => {
    const { count, failures, lost } = await run([step], [record])
    expect(failures).toEqual([expect.stringContaining(TOO_LARGE)])
    expect([count, lost]).toEqual([0, [0]])
    // What these two set is too large for any record; of the others a small one passes.
    const beside = step.name === 'dps/map-fields' || step.name === 'dps/lookup' ? [] : [small]
    expect((await run([step], [...beside, record, ...beside])).failures).toHaveLength(1)
  })

  it('is counted over all that came of it in the steps before', async () => {
    const explode = (field: string): TestStep => ({ name: 'dps/explode', config: { field } })
    const record = { a: integers(40), b: integers(40), t: text(3000) }
    const alone = await run([explode('a'), explode('b')], [record])
    expect(alone).toEqual({ count: 0, failures: [TOO_LARGE], lost: [0, 0] })
    // Records that are not too large alone are not too large together.
    const fitting = { a: integers(18), b: integers(18), t: text(3000) }
    expect(
      await run(
        [explode('a'), explode('b')],
        integers(6).map(() => fitting),
      ),
    ).toEqual({ count: 6 * 18 * 18, failures: [], lost: [0, 0] })
  })

  it('is the failure of an account’s SmartModule too, whichever way it writes', async () => {
    const sources = {
      map: `import { Record, Segment } from 'dps'
const t = new Segment('t')
export function map(record: Record): void { record.setText(t, 'ab'.repeat(1000000)) }`,
      emits: `import { Record, emitJson } from 'dps'
export function arrayMap(record: Record): void { for (let i = 0; i < 2000; i++) emitJson('{"t":"' + 'x'.repeat(1000) + '"}') }`,
    }
    for (const code of Object.values(sources)) {
      const module = await WebAssembly.compile(await compileSmartModule(code))
      expect(await run([{ name: 'own', config: {} }], [{ a: 1 }], { own: module })).toEqual({ count: 0, failures: [TOO_LARGE], lost: [0] })
    }
  })
})

describe('one large record', () => {
  it('passes the steps that leave its size', async () => {
    const steps: [TestStep, unknown][] = [
      [{ name: 'dps/parse', config: { field: 't', format: 'csv', columns: ['a'] } }, { t: text(3_500_000) }],
      [{ name: 'dps/parse', config: { field: 't', format: 'json' } }, { t: JSON.stringify({ a: text(3_500_000) }) }],
      [{ name: 'dps/map-fields', config: { uppercase: ['t'] } }, { t: text(3_500_000) }],
      [{ name: 'dps/map-fields', config: { uppercase: ['t'] } }, { t: 'ä'.repeat(1_700_000) }],
      [{ name: 'dps/cel', config: { set: { u: "value.t + '!'" } } }, { t: text(1_500_000) }],
      [
        { name: 'dps/cast', config: { fields: { t: 'string', n: 'integer' } } },
        { t: text(3_500_000), n: '5' },
      ],
      [
        { name: 'dps/redact', config: { detect: ['email', 'card', 'iban'], key: text(16), found: 'hash' } },
        { t: 'a@b.example '.repeat(100_000) },
      ],
      [{ name: 'dps/flatten', config: {} }, { a: { t: text(3_500_000) } }],
      [{ name: 'dps/validate', config: { schema: { type: 'object' } } }, { t: text(3_500_000) }],
    ]
    for (const [step, record] of steps)
      expect([step.name, await run([step], [record])]).toEqual([step.name, { count: 1, failures: [], lost: [0] }])
  })
})
