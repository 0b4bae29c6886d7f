/** Where the lineage draws its nodes. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { connectedWith, layersOf } from '../../services/console/src/layers.ts'

const node = fc.integer({ min: 0, max: 12 }).map((n) => `n${n}`)
const edges = fc.array(fc.record({ from: node, to: node }), { maxLength: 25 })
const nodesOf = (of: { from: string; to: string }[]) => [...new Set(of.flatMap(({ from, to }) => [from, to]))]

it('every node has a place of its own, also in circles', () => {
  fc.assert(
    fc.property(edges, (given) => {
      const nodes = nodesOf(given)
      const places = layersOf(nodes, given)
      expect(places.size).toBe(nodes.length)
      expect(new Set([...places.values()].map(({ column, row }) => `${column}/${row}`)).size).toBe(nodes.length)
    }),
  )
})

it('without circles everything flows to the right', () => {
  fc.assert(
    fc.property(edges, (given) => {
      // From a smaller number to a larger one: no circle.
      const forward = given.filter(({ from, to }) => Number(from.slice(1)) < Number(to.slice(1)))
      const places = layersOf(nodesOf(forward), forward)
      for (const { from, to } of forward) expect(places.get(from)!.column).toBeLessThan(places.get(to)!.column)
    }),
  )
})

it('what is connected is found in both directions', () => {
  const given = [
    { from: 'a', to: 'b' },
    { from: 'c', to: 'b' },
    { from: 'c', to: 'd' },
    { from: 'x', to: 'y' },
  ]
  expect([...connectedWith(['a'], given)].toSorted()).toEqual(['a', 'b', 'c', 'd'])
  expect([...connectedWith([], given)]).toEqual([])
})
