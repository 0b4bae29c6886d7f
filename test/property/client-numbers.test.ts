/** Numbers that go through the TypeScript client: no digit is lost. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ExactNumber, parseAsWritten, parseJson, writeJson } from '../../clients/typescript/src/index.ts'
import { isSameJson, parseExactly } from '../../shared/model/exact-json.ts'

const digits = (most: number) => fc.stringMatching(new RegExp(`^[0-9]{1,${most}}$`))
/** Numbers of JSON in every form, with up to 25 digits on both sides of the point. */
const numbers = fc
  .tuple(
    fc.constantFrom('', '-'),
    digits(25).map((text) => text.replace(/^0+(?=.)/, '')),
    fc.option(digits(25), { nil: undefined }),
    fc.option(fc.tuple(fc.constantFrom('e', 'E', 'e+', 'e-'), fc.integer({ min: 0, max: 400 })), { nil: undefined }),
  )
  .map(([sign, whole, fraction, exponent]) => `${sign}${whole}${fraction === undefined ? '' : `.${fraction}`}${exponent?.join('') ?? ''}`)

describe('numbers of the TypeScript client', () => {
  it('are written by their value, with all of its digits', () => {
    fc.assert(
      fc.property(numbers, (text) => {
        const back = writeJson(parseJson(`{"n":[${text}]}`))
        expect(isSameJson(parseExactly(back), parseExactly(`{"n":[${text}]}`)), `${text} became ${back}`).toBe(true)
      }),
      { numRuns: 2000 },
    )
  })

  it('are written as they were where they are read as written', () => {
    fc.assert(
      fc.property(fc.array(numbers), (texts) => {
        expect(writeJson(parseAsWritten(`[${texts.join(',')}]`))).toBe(`[${texts.join(',')}]`)
      }),
    )
  })

  it('are plain ones wherever JavaScript holds them', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(parseJson(JSON.stringify(value))).toSatisfy((found) => typeof found === 'number' || typeof found === 'bigint')
      }),
    )
  })

  it('can be made of their text, and of nothing else', () => {
    expect(writeJson({ n: new ExactNumber('0.1000000000000000055511151231257827') })).toBe('{"n":0.1000000000000000055511151231257827}')
    for (const text of ['', '1.', '.5', '01', '+1', 'NaN', '1,"x":2', '"1"', ' 1']) expect(() => new ExactNumber(text)).toThrow(TypeError)
  })
})
