/** Which fields a config names: what a plain search for each field finds, at the cost of one look at each place. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { mentionedFields } from '../../services/control-plane/definitions/mentions.ts'
import { timesOf } from '../harness/times-of.ts'
import { limitMs } from '../harness/machine-speed.ts'

const escaped = (name: string): string => name.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
const isNamed = (text: string, field: string): boolean =>
  new RegExp(String.raw`(?:^|\bvalue\s*\.\s*\??|\bvalue\s*\[\s*["'])${escaped(field)}(?![\w])`).test(text)

const FIELDS = ['a', 'ab', 'abc', 'value', 'a-b', 'a-', 'a.b', 'x y', '$id', 'é', '_a1']
const parts = fc.constantFrom(...FIELDS, 'value', '.', '?', '[', '"', "'", ' ', '\n', '-', '(', '+', '1')
const text = fc.array(parts, { maxLength: 12 }).map((each) => each.join(''))

it('finds what a search for each field finds', async () => {
  await fc.assert(
    fc.asyncProperty(text, fc.uniqueArray(fc.constantFrom(...FIELDS)), async (config, fields) => {
      expect(await mentionedFields(config, fields)).toEqual(fields.filter((field) => isNamed(config, field)))
    }),
    { numRuns: 3000 },
  )
})

it('looks at all texts and member names of a config', async () => {
  const config = { a: [1, null, { deep: ['b.c', { filter: 'value.d > 1' }] }], other: 'xe' }
  expect(await mentionedFields(config, ['a', 'b', 'c', 'd', 'e'])).toEqual(['a', 'b', 'd'])
})

const FIELDS_1000 = Array.from({ length: 1000 }, (_, index) => `field${index}`)

it.each([
  ['white space after value', `value${' '.repeat(15)}`.repeat(44_000)],
  ['places without a field', 'value.'.repeat(150_000)],
  ['nothing but white space', `value${' '.repeat(900_000)}`],
  ['an open bracket', `value [${' '.repeat(900_000)}`],
  ['a long array', Array.from({ length: 225_000 }, () => 'v')],
  ['a long array of nothing', Array.from({ length: 500_000 }, () => [])],
])('takes little time for 1,000 fields and %s', async (_name, text) => {
  const { held, all } = await timesOf(() => mentionedFields({ k: text }, FIELDS_1000))
  expect(all).toBeLessThan(limitMs(2500))
  expect(held).toBeLessThan(limitMs(1000))
})
