/** The arithmetic of cutting pages. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { rangesOf } from '../../services/control-plane/stream-data/interleave.ts'

const counts = fc.array(fc.nat(40), { minLength: 1, maxLength: 6 })

describe('pages of a stream', () => {
  it('together hold every record of every partition exactly once, in order', () => {
    fc.assert(
      fc.property(counts, fc.integer({ min: 1, max: 17 }), (sizes, limit) => {
        const total = sizes.reduce((sum, size) => sum + size, 0)
        const next = sizes.map(() => 0)
        for (let from = 0; from < total; from += limit) {
          const ranges = rangesOf(sizes, from, from + limit)
          expect(ranges.reduce((sum, range) => sum + range.to - range.from, 0)).toBe(Math.min(limit, total - from))
          for (const range of ranges) {
            expect(range.from).toBe(next[range.partition])
            next[range.partition] = range.to
          }
        }
        expect(next).toEqual(sizes)
      }),
    )
  })

  it('are empty after the end of the stream', () => {
    expect(rangesOf([3, 2], 5, 10).every(({ from, to }) => from === to)).toBe(true)
  })
})
