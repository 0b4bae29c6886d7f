/** A step whose other version handles a share of the keys: which records each handles, their order after it, and who is blamed. */
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { isOfCanary } from '../../shared/smartmodule/canary-share.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { openTestChain, type TestStep } from '../harness/chains.ts'

const FRAME = `import { Record, Path, Kind, numberOf, emitJson } from 'dps'
const n = new Path('n')
function numberAt(record: Record): i32 { const slice = record.find(n); return numberOf(slice.start, slice.end) as i32 }
`
/** Each output says whose it is; the number says how many there are, and what fails or traps. */
const says = (who: string) => `${FRAME}export function arrayMap(record: Record): void {
  const value = numberAt(record)
  if (value == 7) return record.fail('seven')
  for (let i = 0; i < value % 3; i++) emitJson('{"n":' + value.toString() + ',"by":"${who}"}')
}`
const TRAPS = `${FRAME}export function map(record: Record): void { if (numberAt(record) > 900) unreachable() }`
const FAILS = `${FRAME}export function map(record: Record): void { if (numberAt(record) > 900) record.fail('large') }`
const KEEPS = `${FRAME}export function filterMap(record: Record): bool { return true }`

const modules: Record<string, WebAssembly.Module> = {}
beforeAll(async () => {
  const sources = { old: says('old'), new: says('new'), traps: TRAPS, fails: FAILS, keeps: KEEPS }
  for (const [name, source] of Object.entries(sources)) modules[name] = await WebAssembly.compile(await compileSmartModule(source))
})

const stepOf = (canary: TestStep['canary'], name = 'old'): TestStep => ({ name, config: {}, ...(canary ? { canary } : {}) })
const key = fc.option(
  fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
  { freq: 5 },
)
const numbersUpTo = (count: number) => Array.from({ length: count }, (_, n) => JSON.stringify({ n }))

describe('a canary with a share', () => {
  it('handles the records of its keys, and all come out in their order', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ n: fc.integer({ min: 0, max: 9 }), key }), { minLength: 1, maxLength: 60 }),
        fc.constantFrom(0.001, 0.2, 0.5, 0.9, 0.999),
        fc.boolean(),
        async (records, share, isSecond) => {
          // Behind another step, its input is what that one made: a record may be several by then.
          const before: TestStep[] = isSecond ? [{ name: 'old', config: {} }] : []
          const chain = await openTestChain([...before, stepOf({ name: 'new', share, maxFailing: 1 })], modules)
          const values = records.map(({ n }) => JSON.stringify({ n }))
          const { values: out, failures } = await chain.run(values, undefined, (index) => records[index]!.key)
          const by = (index: number) => (isOfCanary(records[index]!.key, BigInt(index), share) ? 'new' : 'old')
          expect(out.map((value) => JSON.parse(value!))).toEqual(
            records.flatMap(({ n }, index) =>
              n === 7 ? [] : Array.from({ length: isSecond ? (n % 3) ** 2 : n % 3 }, () => ({ n, by: by(index) })),
            ),
          )
          for (const { delta, step, isCanarys } of failures) expect(isCanarys ?? false).toBe(step === before.length && by(delta) === 'new')
          expect(failures.map(({ delta }) => delta).sort((a, b) => a - b)).toEqual(
            records.flatMap(({ n }, index) => (n === 7 ? [index] : [])),
          )
        },
      ),
      { numRuns: 150 },
    )
  })

  it('gets about its share of the keys, in every partition', () => {
    for (const share of [0.01, 0.1, 0.5])
      for (const partitions of [1, 8, 64]) {
        const keys = Array.from({ length: 20_000 * Math.min(8, partitions) }, (_, n) => Buffer.from(`customer-${n}`))
        const found = keys.filter((each) => isOfCanary(each, 0n, share)).length / keys.length
        expect(Math.abs(found - share)).toBeLessThan(share * 0.15 + 0.001)
      }
  })

  it.each(['traps', 'fails'])('that %s loses its records to the running version, which is not blamed', async (name) => {
    const chain = await openTestChain([stepOf({ name, share: 0.5, maxFailing: 0 }, 'keeps')], modules)
    const values = numbersUpTo(1000)
    const keyAt = (index: number) => Buffer.from(`k${index}`)
    for (let round = 0; round < 2; round++) {
      const { values: out, failures, lost } = await chain.run(values, undefined, keyAt)
      expect([out, failures, lost]).toEqual([values, [], [0]])
    }
  })

  it('that traps is taken off, however much it may fail', async () => {
    const chain = await openTestChain([stepOf({ name: 'traps', share: 0.5, maxFailing: 1 }, 'keeps')], modules)
    const { values, failures } = await chain.run(numbersUpTo(1000), undefined, (index) => Buffer.from(`k${index}`))
    expect([values, failures]).toEqual([numbersUpTo(1000), []])
  })

  it('may fail the share that it was given', async () => {
    const chain = await openTestChain([stepOf({ name: 'fails', share: 0.5, maxFailing: 0.5 }, 'keeps')], modules)
    const keyAt = (index: number) => Buffer.from(`k${index}`)
    for (let round = 0; round < 2; round++) {
      const { failures } = await chain.run(numbersUpTo(1000), undefined, keyAt)
      expect(failures.length).toBeGreaterThan(30)
      expect(failures.every(({ delta, isCanarys }) => isCanarys === true && isOfCanary(keyAt(delta), 0n, 0.5))).toBe(true)
    }
  })
})
