/** What a large body may have, counted before it is parsed; and its numbers. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { withDigits } from '../../services/control-plane/http/exact-numbers.ts'
import { assertBounded, excessOf, parseJsonBody } from '../../services/control-plane/http/json-body.ts'
import { doubleOf, isRawJSON, parseAsWritten } from '../../shared/model/exact-json.ts'
import { hasEscapedName } from '../harness/escaped-names.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { bestOf } from '../harness/times-of.ts'

/** Arrays and objects, and each element and member but their first. */
function countOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inner = Object.values(value)
  return inner.reduce<number>((sum, each) => sum + countOf(each), 1 + Math.max(0, inner.length - 1))
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Object.values(value).reduce<number>((most, each) => Math.max(most, depthOf(each)), 0)
}

const ANY = { values: Infinity, nesting: Infinity, escapes: Infinity }
const hasMoreValues = (json: string, values: number) => excessOf(json, { ...ANY, values }) === 'values'

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
        expect(hasMoreValues(json, count)).toBe(false)
        if (count > 0) expect(hasMoreValues(json, count - 1)).toBe(true)
        const nesting = depthOf(value)
        expect(excessOf(json, { ...ANY, nesting })).toBe(undefined)
        if (nesting > 0) expect(excessOf(json, { ...ANY, nesting: nesting - 1 })).toBe('nesting')
        const escapes = json.split(/\\[^]/).length - 1
        expect(excessOf(json, { ...ANY, escapes })).toBe(undefined)
        if (escapes > 0) expect(excessOf(json, { ...ANY, escapes: escapes - 1 })).toBe('escapes')
        if (!hasEscapedName(json)) expect(JSON.stringify(parseJsonBody(json))).toBe(json)
      }),
      { numRuns: 2000 },
    )
  })

  it('are counted to the end of what is not JSON', () => {
    for (const json of ['"', '"\\', '["a', '\\"[', ']']) expect(() => parseJsonBody(json)).toThrow(expect.objectContaining({ status: 400 }))
  })

  it.each([
    ['{"a": 1,\n "b" 2}', '', "the body is not valid JSON: expected ':' after property name at line 2, column 6"],
    ['{"a": 1', '', "the body is not valid JSON: expected ',' or '}' after property value at line 1, column 8"],
    // V8 quotes the text, and says no place.
    ['nope', '', "the body is not valid JSON: unexpected token 'o'"],
    ['', '', 'the body is not valid JSON: unexpected end of JSON input'],
    ['{"a/b": [{"__proto__": 1}]}', '/a~1b/0', 'must not have a member named __proto__'],
    ['{"\\u005f_proto__": 1}', '', 'must not have a member named __proto__'],
  ])('of %j it is said what is wrong, and where', (json, path, message) => {
    expect(() => parseJsonBody(json)).toThrow(expect.objectContaining({ status: 400, details: [{ path, message }] }))
  })

  it.each([
    ['empty arrays', `{"k":[${'[],'.repeat(5_000_000)}[]]}`],
    ['numbers', `[${'1,'.repeat(7_000_000)}1]`],
    ['members', `{${'"a":1,'.repeat(2_500_000)}"a":1}`],
    ['escapes', `["${'\\"'.repeat(7_500_000)}"]`],
    ['levels', '['.repeat(15_000_000)],
  ])('are too many where 15 MB are %s, which is known at once', async (_name, json) => {
    const refuse = () => expect(() => assertBounded(json)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
    expect(await bestOf(refuse)).toBeLessThan(limitMs(300))
  })

  it('are few beside a large binary, whose text is skipped', async () => {
    const binary = 'A'.repeat(14 << 20)
    const escaped = '\\"\\\\'.repeat(500_000)
    const milliseconds = await bestOf(() => {
      expect(hasMoreValues(`{"wasm_binary":"${binary}","name":"a"}`, 2)).toBe(false)
      expect(hasMoreValues(`{"code":"${escaped}"}`, 1)).toBe(false)
    })
    expect(milliseconds).toBeLessThan(limitMs(150))
  })

  it.each(['{"__proto__":1}', '{"a":[{"\\u005f_proto__":{}}]}', '{"__pr\\u006Fto__":1}'])('have no member named __proto__: %s', (json) =>
    expect(() => parseJsonBody(json)).toThrow(expect.objectContaining({ status: 400 })),
  )
})

/** The body as another parser makes it of the text: every number as it is written. */
function asBefore(value: unknown, isExact: boolean, path = ''): unknown {
  if (isRawJSON(value)) {
    const number = doubleOf(value)
    if (isExact || number !== undefined) return isExact ? value : number
    throw new Error(path)
  }
  if (Array.isArray(value)) return value.map((each, index) => asBefore(each, isExact, `${path}/${index}`))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      asBefore(each, isExact || (path === '' && name === 'exact'), `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`),
    ]),
  )
}

describe('numbers of a body', () => {
  const number = fc.constantFrom('0', '-0', '7', '-12', '1.0', '1.50', '0.1', '1e3', '2E-7', '1e400', '123456789012345', '9007199254740993')
  const long = fc.constantFrom('12345678901234567890', '-9007199254740993', '9007199254740992', '1e21', '100000000000000000000000')
  const name = fc.oneof(fc.constantFrom('exact', 'a', 'b/c', '~', 'é', '1e5', '12345678901234567'), odd)
  const text = odd.map((each) => JSON.stringify(`${each}12345678901234567 1.0,{`))
  const { document } = fc.letrec<{ document: string; object: string }>((tie) => ({
    document: fc.oneof(
      { maxDepth: 4 },
      number,
      long,
      text,
      tie('object'),
      fc.array(tie('document')).map((all) => `[${all.join(' , ')}]`),
    ),
    object: fc
      .uniqueArray(fc.tuple(name, tie('document')), { selector: ([own]) => own, maxLength: 5 })
      .map((all) => `{${all.map(([own, value]) => `${JSON.stringify(own)} : ${value}`).join()}}`),
  }))

  it('keep their digits or are refused as a parser says that keeps all of them', () => {
    fc.assert(
      fc.property(document, (json) => {
        fc.pre(!json.includes('__proto__') && !hasEscapedName(json))
        let [expected, path]: [unknown, string | undefined] = [undefined, undefined]
        try {
          expected = asBefore(parseAsWritten(json), false)
        } catch (error) {
          path = (error as Error).message
        }
        const read = () => withDigits(json, JSON.parse(json), ['/exact'])
        if (path === undefined) expect(JSON.stringify(read())).toBe(JSON.stringify(expected))
        else expect(read).toThrow(expect.objectContaining({ details: expect.arrayContaining([expect.objectContaining({ path })]) }))
      }),
      { numRuns: 2000 },
    )
  })

  it('of members that are given twice are those of the last one', () => {
    const read = (json: string) => JSON.stringify(withDigits(json, JSON.parse(json), ['/a']))
    expect(read('{"a":1.0,"a":2}')).toBe('{"a":2}')
    expect(read('{"a":[1.0],"a":{"b":2.0}}')).toBe('{"a":{"b":2.0}}')
    expect(read('{"a":{"b":1.0},"a":null}')).toBe('{"a":null}')
    expect(read('{"a":1.0,"a":2.0}')).toBe('{"a":2.0}')
  })

  it.each([
    ['many texts of digits', `[${Array.from({ length: 50_000 }, () => '"1234567890123456"').join()}]`],
    ['one text of digits, and nothing behind it', `{"name":"${'1'.repeat(512 << 10)}"${' '.repeat(512 << 10)}}`],
  ])('are looked for in proportion to the text: %s', async (_name, json) => {
    const body: unknown = JSON.parse(json)
    expect(await bestOf(() => expect(withDigits(json, body)).toBe(body))).toBeLessThan(limitMs(100))
  })
})
