/** Steps that keep a section whole, between others: what they pass on, and what is counted of it, is the same as of any other step. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { openTestChain } from '../harness/chains.ts'
import { filterOverN } from '../harness/modules.ts'

const SOURCES = {
  keep: filterOverN('return value >= 0'),
  even: filterOverN('return value % 2 == 0'),
  fails: filterOverN("if (value % 7 == 3) record.fail('three')\n  return true"),
  twice: `import { Record, emit } from 'dps'
export function arrayMap(record: Record): void {
  emit(record.start, record.end)
  emit(record.start, record.end)
}`,
  // Not meant to be done, but an author can: the record is kept, and its bytes are others.
  writes: filterOverN('const digits = record.find(path)\n  if (value % 10 == 8) store<u8>(digits.end - 1, 48)\n  return true'),
}
/** Built-ins say that they never write to a record's bytes, so that the host does not look whether they have. */
const BUILT_INS = {
  builtInKeep: { name: 'dps/filter', config: { field: 'n', operator: 'gte', value: 0 } },
  builtInEven: { name: 'dps/filter', config: { expression: 'value.n % 2 == 0' } },
}
type Name = keyof typeof SOURCES | keyof typeof BUILT_INS
const stepOf = (name: Name) => (name in BUILT_INS ? BUILT_INS[name as keyof typeof BUILT_INS] : { name, config: {} })
type Item = { delta: number; n: number }

const distinct = (items: Item[]): number => new Set(items.map(({ delta }) => delta)).size

/** What a step makes of the records, and counts. */
function expectedOf(name: Name, items: Item[]) {
  const failed = name === 'fails' ? items.filter(({ n }) => n % 7 === 3) : []
  const left = items.filter((item) => !failed.includes(item))
  const out = {
    keep: () => left,
    builtInKeep: () => left,
    builtInEven: () => left.filter(({ n }) => n % 2 === 0),
    fails: () => left,
    even: () => left.filter(({ n }) => n % 2 === 0),
    twice: () => left.flatMap((item) => [item, item]),
    writes: () => left.map(({ delta, n }) => ({ delta, n: n % 10 === 8 ? n - 8 : n })),
  }[name]()
  const counts = { in: distinct(items), out: distinct(out), failed: distinct(failed), emitted: out.length }
  return { out, failed, counts: { ...counts, filtered: counts.in - counts.out - counts.failed } }
}

it('a chain of any steps passes on and counts what each of them made of the records', async () => {
  const modules = Object.fromEntries(
    await Promise.all(
      Object.entries(SOURCES).map(async ([name, source]) => [name, await WebAssembly.compile(await compileSmartModule(source))] as const),
    ),
  )
  const each = fc.constantFrom<Name>('keep', 'keep', 'builtInKeep', 'builtInKeep', 'builtInEven', 'even', 'fails', 'twice', 'writes')
  const names = fc.array(each, { minLength: 1, maxLength: 5 })
  const values = fc.array(fc.nat(100), { minLength: 1, maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(names, fc.array(values, { minLength: 1, maxLength: 3 }), async (chosen, batches) => {
      const chain = await openTestChain(chosen.map(stepOf), modules)
      for (const numbers of batches) {
        const found = await chain.run(numbers.map((n) => JSON.stringify({ n })))
        let items = numbers.map((n, delta): Item => ({ delta, n }))
        const failures = new Set<number>()
        for (const [step, name] of chosen.entries()) {
          const { out, failed, counts } = expectedOf(name, items)
          expect([step, found.counters[step]]).toEqual([step, expect.objectContaining(counts)])
          for (const { delta } of failed) failures.add(delta)
          items = out
        }
        expect(found.values.map((value) => JSON.parse(value!).n)).toEqual(items.map(({ n }) => n))
        expect(found.failures.map(({ delta }) => delta).toSorted((a, b) => a - b)).toEqual([...failures].toSorted((a, b) => a - b))
      }
      chain.close()
    }),
    { numRuns: 150 },
  )
})

it('a batch larger than a call may be is run in slices, none of its records lost or out of order', async () => {
  const chain = await openTestChain([BUILT_INS.builtInKeep, BUILT_INS.builtInKeep])
  const pad = 'p'.repeat(300)
  const values = Array.from({ length: 3000 }, (_, n) => JSON.stringify({ n, pad: n === 1500 ? pad.repeat(1500) : pad }))
  expect((await chain.run(values)).values).toEqual(values)
  chain.close()
})
