/** A value in one line, as tables of the console show it. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { glimpse } from '../../services/console/src/records.ts'

const valueOf = (json: string) => ({ base64: Buffer.from(json).toString('base64'), json: JSON.parse(json) as unknown })

it('is cut where it is long, and never within a number', () => {
  fc.assert(
    fc.property(fc.array(fc.integer(), { minLength: 1, maxLength: 60 }), fc.integer({ min: 2, max: 80 }), (numbers, characters) => {
      const json = JSON.stringify(numbers)
      const shown = glimpse(valueOf(json), characters)
      const isWhole = json.length <= characters
      expect(shown.endsWith('…')).toBe(!isWhole)
      const found = shown.slice(1, -1).split(',').filter(Boolean).map(Number)
      expect(found).toEqual(isWhole ? numbers : numbers.slice(0, found.length))
    }),
  )
})
