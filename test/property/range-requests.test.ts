/** How a range is cut: into the same requests whatever became of single records, each record in one of them. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cutRange, halve, type Request } from '../../shared/connectors/range-requests.ts'

/** Offsets of rows, in order: of each record one row or several. */
const rowsOfRange = fc
  .uniqueArray(fc.tuple(fc.nat(500), fc.constantFrom(1, 1, 1, 2, 5)), { selector: ([offset]) => offset, maxLength: 80 })
  .map((records) => records.toSorted(([a], [b]) => a - b))
const offsetsOf = (records: [number, number][]) => records.flatMap(([offset, count]) => Array.from({ length: count }, () => offset))
const borders = (requests: Request[]) => requests.map(({ first }) => first)
const within = (offsets: number[], { first, last }: Request) => offsets.filter((offset) => offset >= first && offset <= last)

describe('the requests of a range', () => {
  it('hold each record once and whole, at most as many as asked', () => {
    fc.assert(
      fc.property(rowsOfRange, fc.integer({ min: 1, max: 10 }), (records, size) => {
        const offsets = offsetsOf(records)
        const requests = cutRange(offsets, [], size)
        expect(requests.flatMap((request) => within(offsets, request))).toEqual(offsets)
        for (const request of requests) {
          const own = within(offsets, request)
          if (new Set(own).size > 1) expect(own.length).toBeLessThanOrEqual(size)
        }
      }),
    )
  })

  it('have the same borders once some records are dead letters', () => {
    fc.assert(
      fc.property(rowsOfRange, fc.integer({ min: 1, max: 10 }), fc.func(fc.boolean()), (records, size, isRefused) => {
        const single = records.map(([offset]): [number, number] => [offset, 1])
        const refused = single.map(([offset]) => offset).filter((offset) => isRefused(offset))
        const rest = offsetsOf(single).filter((offset) => !refused.includes(offset))
        expect(borders(cutRange(rest, refused, size))).toEqual(borders(cutRange(offsetsOf(single), [], size)))
      }),
    )
  })

  it('are halved until each record is alone, and none is lost', () => {
    fc.assert(
      fc.property(
        rowsOfRange.filter(({ length }) => length > 0),
        (records) => {
          const offsets = offsetsOf(records)
          const [whole] = cutRange(offsets, [], 1000)
          const leaves = (request: Request): number[][] => {
            const own = within(offsets, request)
            return own[0] === own.at(-1) ? [own] : halve(request, own).flatMap(leaves)
          }
          const found = leaves(whole!)
          expect(found.flat()).toEqual(offsets)
          expect(found.map((own) => new Set(own).size)).toEqual(found.map(() => 1))
        },
      ),
    )
  })
})
