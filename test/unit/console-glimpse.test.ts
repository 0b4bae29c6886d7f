/** A value in one line, as tables of the console show it. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { glimpse } from '../../services/console/src/records.ts'

const valueOf = (json: string) => ({ base64: Buffer.from(json).toString('base64'), json: JSON.parse(json) as unknown })

it('is cut where it is long, and never within a number', () => {
  fc.assert(
    fc.property(fc.array(fc.integer(), { minLength: 1, maxLength: 60 }), fc.integer({ min: 2, max: 80 }), (numbers, characters) => {
      const shown = glimpse(valueOf(JSON.stringify(numbers)), characters)
      const isWhole = `[ ${numbers.join(', ')} ]`.length <= characters
      expect(shown.endsWith('…')).toBe(!isWhole)
      const found = (shown.match(/[-\d]+/g) ?? []).map(Number)
      expect(found).toEqual(isWhole ? numbers : numbers.slice(0, found.length))
    }),
  )
})

it('may break between members, and keeps what texts have', () => {
  expect(glimpse(valueOf('{"a":[1,{"b":"x\\n  y,z"}],"c":{},"d":1.50}'))).toBe('{ "a": [ 1, { "b": "x\\n  y,z" } ], "c": {}, "d": 1.50 }')
})
