/** What the console takes of numbers and times as they are typed, and how it shows texts. */
import { expect, it } from 'vitest'
import { parseAsWritten } from '../../clients/typescript/src/core/exact-json.ts'
import { jsonNumber, plain, timeOf, typedTime } from '../../services/console/src/format.ts'

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

it('a time is typed in UTC where times are shown so, and otherwise as the clock here has it', () => {
  expect(typedTime('2026-07-01T12:30:05.250Z', true)).toBe('2026-07-01T12:30:05')
  expect(timeOf('2026-07-01T12:30', true)).toBe('2026-07-01T12:30:00.000Z')
  const before = process.env.TZ
  try {
    process.env.TZ = 'Asia/Kolkata'
    expect(typedTime('2026-07-01T20:30:05Z', false)).toBe('2026-07-02T02:00:05')
    expect(timeOf('2026-07-02T02:00:05', false)).toBe('2026-07-01T20:30:05.000Z')
  } finally {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
  }
  // An address may say anything.
  expect([typedTime('soon', false), typedTime(undefined, true), timeOf('', true)]).toEqual(['', '', ''])
})

it.each([
  ['"who":"\u202Eevil\u202C"}', String.raw`"who":"\u202eevil\u202c"}`],
  ['\u2066\u200F\u061C', String.raw`\u2066\u200f\u061c`],
  ['a\u0000\u009F\u200B\uFEFF', String.raw`a\u0000\u009f\u200b\ufeff`],
  ['two\r\n\tlines, שלום, مرحبا, 👩‍👩‍👧 and 🍕', 'two\r\n\tlines, שלום, مرحبا, 👩‍👩‍👧 and 🍕'],
])('shows what turns or hides text as an escape: %j', (text, shown) => {
  expect(plain(text)).toBe(shown)
})
