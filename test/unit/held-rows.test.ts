/** Rows that gather for a sink while the runner's byte budget gets crowded. */
import { describe, expect, it } from 'vitest'
import { openByteBudget, type ByteBudget } from '../../services/processor/task/byte-budget.ts'
import type { PartitionOutcome } from '../../services/processor/lane/messages.ts'
import { createHeldRows } from '../../services/processor/task/round/held-rows.ts'

const KIB = 1 << 10
const MIB = 1 << 20
const boundaries = { bytesMax: 64 * MIB, recordsMax: 1_000_000, intervalMs: 3_600_000 }

const outcomeOf = (partition: number, bytes: number): PartitionOutcome => ({
  partition,
  nextOffset: 1n,
  records: 1,
  sink: [],
  rows: [
    { bytes: new Uint8Array(bytes), count: 1, ends: new Uint32Array([bytes]), offsets: new Float64Array(1), times: new Float64Array(1) },
  ],
  deadLetters: [],
  deadLetterOffsets: [],
  counts: new Float64Array(1),
})

/** A task that holds so many bytes of each partition. */
function heldBy(budget: ByteBudget, sizes: number[]) {
  const held = createHeldRows({ sink: { boundaries }, planned: new Map(), budget })
  held.add(sizes.map((bytes, partition) => outcomeOf(partition, bytes)))
  return held
}
const partitionsOf = (parts: [number, unknown][]): number[] => parts.map(([partition]) => partition)

describe('rows that crowd the byte budget', () => {
  it('are written from 1 MiB of a partition on', () => {
    const held = heldBy(openByteBudget(8 * MIB), [MIB, 3 * MIB, 900 * KIB])
    expect(held.isDue()).toBe(true)
    expect(partitionsOf(held.parts(false))).toEqual([0, 1])
  })

  it('of many partitions with less are written, the largest first, until there is room', () => {
    const sizes = Array.from({ length: 40 }, (_, index) => (index + 1) * 10 * KIB)
    const held = heldBy(openByteBudget(12 * MIB), sizes)
    const written: number[] = []
    while (held.isDue()) {
      const [[partition]] = held.parts(false) as [[number, unknown]]
      written.push(partition)
      held.release(partition)
    }
    // 8,200 KiB were held, and half of the budget is 6,144.
    expect(written).toEqual([39, 38, 37, 36, 35, 34])
    expect(held.parts(false)).toEqual([])
  })

  it('are not those of a task that holds little', () => {
    const budget = openByteBudget(8 * MIB)
    const [much, little] = [heldBy(budget, [2 * MIB, 3 * MIB]), heldBy(budget, [300 * KIB, 500 * KIB])]
    expect(much.isDue()).toBe(true)
    expect(little.isDue()).toBe(false)
  })
})
