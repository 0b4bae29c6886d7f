/**
 * The types that the control plane infers behind dps/map-fields, against what the SmartModule makes of records with the types before it.
 */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { mappedFields } from '../../services/control-plane/definitions/mapped-fields.ts'
import { openTestChain } from '../harness/chains.ts'

const NAMES = ['a', 'b', 'c', 'a.b', 'a.c']
const name = fc.constantFrom(...NAMES)
const VALUES: Record<string, fc.Arbitrary<unknown>> = {
  string: fc.constantFrom('', ' x ', 'Ab'),
  integer: fc.integer(),
  number: fc.constantFrom(0.5, -1.5),
  boolean: fc.boolean(),
  datetime: fc.constant('2026-11-22T10:11:12Z'),
  object: fc.dictionary(fc.constantFrom('b', 'c'), fc.integer(), { maxKeys: 2 }),
  any: fc.constantFrom(1, 'x', true, null, {}, { b: 1 }, [1]),
}
const isOf: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === 'string',
  integer: Number.isSafeInteger,
  number: (value) => typeof value === 'number',
  boolean: (value) => typeof value === 'boolean',
  datetime: (value) => value === '2026-11-22T10:11:12Z',
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  any: () => true,
}
const bare = (type: string) => type.replace('?', '')

const types = fc.constantFrom(...Object.keys(VALUES), ...Object.keys(VALUES).map((type) => `${type}?`))
const records = fc.dictionary(name, types, { minKeys: 1 }).chain((fields) =>
  fc.tuple(
    fc.constant(fields),
    fc.array(
      fc
        .tuple(
          ...Object.values(fields).map((type) =>
            type.endsWith('?') ? fc.oneof(VALUES[bare(type)]!, fc.constantFrom(null, undefined)) : VALUES[type]!,
          ),
        )
        .map((values) => Object.fromEntries(Object.keys(fields).map((key, index) => [key, values[index]]))),
      { minLength: 1, maxLength: 4 },
    ),
  ),
)
const names = fc.uniqueArray(name, { maxLength: 2 })
const config = fc.record(
  {
    rename: fc
      .oneof(
        fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('a', 'b', 'c', 'd'), { maxKeys: 3 }),
        fc.dictionary(fc.constantFrom('a.b', 'a.c'), fc.constantFrom('a.b', 'a.c', 'a.d'), { maxKeys: 2 }),
      )
      .filter((names) => new Set(Object.values(names)).size === Object.keys(names).length),
    drop: names,
    set: fc.dictionary(fc.oneof(name, fc.constantFrom('a.d', 'e.f')), fc.constantFrom<unknown>(1, 0.5, 'x', false, null, {}, [1]), {
      maxKeys: 2,
    }),
    uppercase: names,
    lowercase: names,
    trim: names,
  },
  { requiredKeys: [] },
)

it('each member that it makes has the type that is told, and there are no others', async () => {
  await fc.assert(
    fc.asyncProperty(records, config, async ([fields, given], asked) => {
      const after = mappedFields(fields, asked)
      const chain = await openTestChain([{ name: 'dps/map-fields', config: asked }])
      const { values, failures } = await chain.run(given.map((each) => JSON.stringify(each)))
      expect(failures).toEqual([])
      for (const text of values) {
        const value = JSON.parse(text!) as Record<string, unknown>
        expect(Object.keys(value).filter((key) => !Object.hasOwn(after, key))).toEqual([])
        const wrong = Object.entries(after).filter(([key, type]) => {
          if (bare(type) === 'any') return false
          if (!Object.hasOwn(value, key) || value[key] === null) return !type.endsWith('?')
          return !isOf[bare(type)]!(value[key])
        })
        expect(wrong, text!).toEqual([])
      }
    }),
    { numRuns: 300 },
  )
})
