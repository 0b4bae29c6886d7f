/** What the console takes of numbers and times as they are typed. */
import { expect, it } from 'vitest'
import { parseAsWritten } from '../../clients/typescript/src/core/exact-json.ts'
import { jsonNumber } from '../../services/console/src/format.ts'

it.each([
  ['.5', '0.5'],
  ['-.5', '-0.5'],
  ['.50e-3', '0.50e-3'],
  ['05', '5'],
  ['-007', '-7'],
  ['00.10', '0.10'],
  ['0', '0'],
  ['-0', '-0'],
  ['0.5', '0.5'],
  ['1e3', '1e3'],
  ['5.', '5'],
  ['00012345678901234567891', '12345678901234567891'],
  ['.1000000000000000055511151231257827', '0.1000000000000000055511151231257827'],
])('a number field takes %s as the number %s', (typed, number) => {
  expect(jsonNumber(typed)).toBe(number)
  // What is shown of the value is what was typed, in JSON's form.
  expect(String(parseAsWritten(number))).toBe(number)
})
