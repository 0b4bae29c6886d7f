/** Records that come with a request: a SmartModule sees their bytes. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { valueTexts } from '../../services/control-plane/routes/smartmodules/given-records.ts'
import { parseAsWritten } from '../../shared/model/exact-json.ts'

const space = fc.constantFrom('', ' ', '\n', '\t  ')
/** JSON texts, printed with spaces that say nothing. */
const value = fc
  .tuple(fc.json({ noUnicodeString: false }), fc.constantFrom(0, 1, 3))
  .map(([text, indent]) => JSON.stringify(JSON.parse(text), null, indent))
const written = fc.constantFrom('5.0', '1e2', '-0.0', '{"a":1,"a":2}', '{"2":1,"1":2}', '"\\u0041"', '{ }', '[1 , 2]', 'true')

it('values are found as they are written, wherever they are', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.oneof(value, written), space, space), { minLength: 1, maxLength: 5 }), space, (values, between) => {
      const records = values.map(([text, before, after]) => `{"key":"value"${between},"value"${before}:${after}${text}${before}}`)
      const body = `{"processors":[{"value":1}],${between}"records"${between}:[${records.join(`${between},`)}]}`
      expect(valueTexts(body, values.length)).toEqual(values.map(([text]) => text))
    }),
  )
  expect(valueTexts('{"records":[{"key":null}]}', 1)).toEqual([''])
})

it('numbers that are parsed to be printed again stay as they are written', () => {
  const text = '{"a":5.0,"b":1e2,"c":-0.0,"d":[1.10,12345678901234567890,7,-7,0.5,1E400]}'
  expect(JSON.stringify(parseAsWritten(text))).toBe(text)
})
