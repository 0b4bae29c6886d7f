/** The arithmetic of cutting pages and of placing tasks. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { rangesOf } from '../../services/control-plane/stream-data/interleave.ts'
import { placeTask } from '../../services/processor/supervisor/placement.ts'
import { chainTask } from '../../shared/model/task.ts'

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

describe('placement', () => {
  it('moves only the tasks of a member that leaves, and gives every member its share', () => {
    const members = ['a', 'b', 'c', 'd']
    for (let i = 0; i < 200; i++) {
      const before = placeTask(members, `pl_${i}`, chainTask(0))!
      const after = placeTask(
        members.filter((member) => member !== 'b'),
        `pl_${i}`,
        chainTask(0),
      )!
      if (before !== 'b') expect(after).toBe(before)
    }
    const shares = Map.groupBy(
      Array.from({ length: 1000 }, (_, i) => placeTask(members, `pl_${i}`, chainTask(0))),
      (member) => member,
    )
    for (const share of shares.values()) expect(share.length).toBeGreaterThan(150)
  })
})
