/** What is taken for JSON without making values of it, against JSON.parse. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { elementSpans } from '../../shared/model/json-members.ts'
import { jsonDepth } from '../../shared/model/json-text.ts'
import { isJson } from '../harness/is-json.ts'

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

const written = fc
  .tuple(fc.json({ maxDepth: 5 }), fc.constantFrom(undefined, 1, '\t'))
  .map(([text, space]) => JSON.stringify(JSON.parse(text), null, space))
/** Texts that are nearly JSON. */
const broken = fc
  .tuple(
    written,
    fc.nat(),
    fc.nat(3),
    fc.constantFrom('', '"', '\\', ',', '[', ']', '{', '}', ':', '0', '-', '.', 'e', '1', 'u', ' ', '\n', '\u0001', 'é', 'true', '"a":'),
  )
  .map(([text, at, gone, put]) => {
    const from = at % (text.length + 1)
    return text.slice(0, from) + put + text.slice(from + gone)
  })

describe('jsonDepth', () => {
  it('takes what JSON.parse takes, and says how deep it nests', () => {
    fc.assert(
      fc.property(fc.oneof(written, broken, fc.string()), (text) => {
        fc.pre(text.isWellFormed())
        const depth = jsonDepth(Buffer.from(text))
        expect(depth >= 0).toBe(isJson(text))
        if (depth >= 0 && !text.includes('"__proto__"')) expect(depth).toBeGreaterThanOrEqual(depthOf(JSON.parse(text)))
      }),
      { numRuns: 5000 },
    )
  })

  it.each([
    '-',
    '01',
    '1.',
    '.5',
    '1e',
    '1e+',
    '-0',
    '-0.0e-0',
    '1E5',
    '"\\u12g4"',
    '"\\u12',
    '"\\x"',
    '"\\',
    '"',
    '',
    ' ',
    '[',
    '{',
    '[1,]',
    '{"a":1,}',
    '{,}',
    '[,]',
    '[}',
    '{"a"]',
    'tru',
    'truely',
    'nul',
    'null ',
    '\ufeff1',
    '1 2',
    '"\t"',
    '"\\/\\b"',
    '\u00a01',
  ])('agrees about %j', (text) => expect(jsonDepth(Buffer.from(text)) >= 0).toBe(isJson(text)))

  it('finds the elements of an array, and nests as deep as the text does', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.constantFrom(0, 2), (values, space) => {
        const bytes = Buffer.from(JSON.stringify(values, null, space))
        const elements: number[] = []
        expect(jsonDepth(bytes, 0, bytes.length, elements)).toBe(depthOf(JSON.parse(bytes.toString())))
        expect(elements).toEqual([...elementSpans(bytes, undefined, values.length)])
      }),
    )
    expect(jsonDepth(Buffer.from('['.repeat(100_000) + ']'.repeat(100_000)))).toBe(100_000)
  })
})
