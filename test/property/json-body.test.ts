/** How many values a large body may have: counted before it is parsed. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hasLongNumber, hasMoreValues, parseJsonBody } from '../../services/control-plane/middleware/json-body.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { bestOf } from '../harness/times-of.ts'

/** Arrays and objects, and each element and member but their first. */
function countOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inner = Object.values(value)
  return inner.reduce<number>((sum, each) => sum + countOf(each), 1 + Math.max(0, inner.length - 1))
}

/** Texts that look like JSON, with all that needs an escape. */
const odd = fc.array(fc.constantFrom('"', '\\', '[', '{', ',', 'a', '\u0000')).map((parts) => parts.join(''))

describe('values of a large body', () => {
  it('are counted outside of texts', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.array(odd), fc.dictionary(odd, odd)), (value) => {
        const count = countOf(value)
        const json = JSON.stringify(value)
        // Refused for its name.
        fc.pre(!json.includes('"__proto__"'))
        // V8 can misread names that begin with an escape (nodejs/node#63785).
        fc.pre(!/[{,]"\\/.test(json))
        expect(hasMoreValues(json, count)).toBe(false)
        if (count > 0) expect(hasMoreValues(json, count - 1)).toBe(true)
        expect(JSON.stringify(parseJsonBody(json))).toBe(json)
      }),
      { numRuns: 2000 },
    )
  })

  it('are counted to the end of what is not JSON', () => {
    for (const json of ['"', '"\\', '["a', '\\"[', ']']) expect(() => parseJsonBody(json)).toThrow(expect.objectContaining({ status: 400 }))
  })

  it.each([
    ['empty arrays', `{"k":[${'[],'.repeat(5_000_000)}[]]}`],
    ['numbers', `[${'1,'.repeat(7_000_000)}1]`],
    ['members', `{${'"a":1,'.repeat(2_500_000)}"a":1}`],
  ])('are too many where 15 MB are %s, which is known at once', async (_name, json) => {
    const refuse = () => expect(() => parseJsonBody(json)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
    expect(await bestOf(refuse)).toBeLessThan(limitMs(300))
  })

  it('are few beside a large binary, whose text is skipped', async () => {
    const binary = 'A'.repeat(14 << 20)
    const escaped = '\\"\\\\'.repeat(3 << 20)
    const milliseconds = await bestOf(() => {
      expect(hasMoreValues(`{"wasm_binary":"${binary}","name":"a"}`, 2)).toBe(false)
      expect(hasMoreValues(`{"code":"${escaped}"}`, 1)).toBe(false)
    })
    expect(milliseconds).toBeLessThan(limitMs(1500))
  })

  it.each(['{"__proto__":1}', '{"a":[{"\\u005f_proto__":{}}]}', '{"__pr\\u006Fto__":1}'])('have no member named __proto__: %s', (json) =>
    expect(() => parseJsonBody(json)).toThrow(expect.objectContaining({ status: 400 })),
  )
})

describe('a number of sixteen digits', () => {
  const digits = fc.integer({ min: 1, max: 20 }).map((length) => '1234567890123456789012'.slice(0, length))
  it('counts outside of texts alone', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), digits, odd)), (parts) => {
        const json = JSON.stringify(
          parts.map(([isText, number, text]) => (isText ? `${text}${number}${text}` : Number(number.slice(0, 15)))),
        )
        expect(hasLongNumber(json)).toBe(false)
        const long = parts.filter(([isText, number]) => !isText && number.length >= 16).length
        const written = `[${parts.map(([isText, number, text]) => (isText ? JSON.stringify(`${text}${number}${text}`) : number)).join()}]`
        expect(hasLongNumber(written)).toBe(long > 0)
      }),
    )
  })

  it.each([
    ['many texts of digits', `[${Array.from({ length: 50_000 }, () => '"1234567890123456"').join()}]`],
    ['one text of digits, and nothing behind it', `{"name":"${'1'.repeat(512 << 10)}"${' '.repeat(512 << 10)}}`],
  ])('is looked for in proportion to the text: %s', async (_name, json) => {
    expect(await bestOf(() => expect(hasLongNumber(json)).toBe(false))).toBeLessThan(limitMs(100))
  })
})
