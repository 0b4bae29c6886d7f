/** The first of many things in an order. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createFirstInOrder } from '../../shared/connectors/storage-bucket/first-in-order.ts'

it('are those that sorting all of them puts first, whatever the order in which they come', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer()), fc.integer({ min: 1, max: 10 }), (numbers, max) => {
      const first = createFirstInOrder<number>(max, (a, b) => a - b)
      for (const number of numbers) first.add(number)
      expect(first.take()).toEqual({ items: numbers.toSorted((a, b) => a - b).slice(0, max), isAll: numbers.length <= max })
    }),
  )
})
