/** Whether two documents hold the same, compared with Node's own deep equality where both can be asked. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isDeepStrictEqual } from 'node:util'
import { isSameJson, parseExactly } from '../../shared/model/exact-json.ts'
import { hasEscapedName } from '../harness/escaped-names.ts'

const same = (a: string, b: string) => isSameJson(parseExactly(a), parseExactly(b))

describe('two JSON documents', () => {
  it('are the same where JavaScript’s values are, however members are ordered', () => {
    const reversed = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(reversed)
      if (typeof value !== 'object' || value === null) return value
      const members = Object.entries(value).toReversed()
      return Object.fromEntries(members.map(([name, each]) => [name, reversed(each)]))
    }
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }), (a, b) => {
        const [left, right] = [JSON.stringify(a), JSON.stringify(b)]
        fc.pre(!hasEscapedName(left) && !hasEscapedName(right))
        expect(same(left, JSON.stringify(reversed(a)))).toBe(true)
        expect(same(left, right)).toBe(isDeepStrictEqual(JSON.parse(left), JSON.parse(right)))
      }),
      { numRuns: 500 },
    )
  })

  it('have the same numbers where their values are the same, to the last digit', () => {
    for (const [a, b] of [
      ['12.5', '12.50'],
      ['1e3', '1000'],
      ['-0.0', '0'],
      ['125e-1', '12.5'],
      ['1000000000000000000000', '1e21'],
    ] as const)
      expect([a, b, same(a, b)]).toEqual([a, b, true])
    for (const [a, b] of [
      ['9007199254740993', '9007199254740992'],
      ['0.1', '0.1000000000000000055'],
      ['-1', '1'],
      ['1e400', '1e401'],
      ['1', '"1"'],
      ['[]', '{}'],
      ['{"a": null}', '{}'],
    ] as const)
      expect([a, b, same(a, b)]).toEqual([a, b, false])
  })
})
