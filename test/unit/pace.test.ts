/** How large rounds are, and how soon they follow each other: both adapt to the broker, within bounds. */
import { describe, expect, it } from 'vitest'
import { openByteBudget } from '../../services/processor/task/byte-budget.ts'
import { createCommitPace } from '../../services/processor/transaction/commit-pace.ts'
import { createRoundSize } from '../../services/processor/task/round/round-size.ts'

describe('a round', () => {
  it('shrinks after slow transactions and grows again after quick ones, within bounds', () => {
    const size = createRoundSize(32 << 20)
    size.took(14_000)
    size.took(5000)
    expect(size.bytesMax()).toBe(8 << 20)
    size.took(2000)
    expect(size.bytesMax()).toBe(8 << 20)
    for (let round = 0; round < 5; round++) size.took(100)
    expect(size.bytesMax()).toBe(32 << 20)
    for (let round = 0; round < 50; round++) size.took(15_000)
    expect(size.bytesMax()).toBe(256 << 10)
  })

  it('waits longer after the one before when the broker delays it, and less when it does not, within bounds', () => {
    let nowMs = 0
    const pace = createCommitPace(() => nowMs)
    expect(pace.waitMs(1)).toBe(Number.NEGATIVE_INFINITY)
    pace.ended(1, 2)
    const first = pace.waitMs(1)
    for (let round = 0; round < 3; round++) pace.ended(1, 25)
    expect(pace.waitMs(1)).toBeGreaterThan(first)
    for (let round = 0; round < 100; round++) pace.ended(1, 25)
    const longest = pace.waitMs(1)
    pace.ended(1, 25)
    expect(pace.waitMs(1)).toBe(longest)
    for (let round = 0; round < 1000; round++) pace.ended(1, 2)
    expect(pace.waitMs(1)).toBe(first)
    nowMs = first
    expect(pace.waitMs(1)).toBe(0)
  })

  it('follows a large one at once, and learns nothing from it', () => {
    const pace = createCommitPace(() => 0)
    pace.ended(1, 2)
    const first = pace.waitMs(1)
    pace.ended(1 << 20, 25)
    expect([pace.waitMs(1 << 20), pace.waitMs(1)]).toEqual([0, first])
  })
})

describe('the budget of bytes', () => {
  it('counts bytes that are fetched, made and held, and says when held rows crowd it', () => {
    const budget = openByteBudget(100)
    budget.use(30)
    budget.hold(40)
    expect([budget.take(100), budget.isCrowded()]).toEqual([30, false])
    budget.hold(20)
    expect([budget.take(10), budget.isCrowded()]).toEqual([0, true])
    budget.hold(-60)
    budget.give(60)
    expect([budget.take(1000), budget.isCrowded()]).toEqual([100, false])
  })
})
