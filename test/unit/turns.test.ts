/** Long work in turns: much of it at once holds the event loop no longer than one of them does. */
import { expect, it } from 'vitest'
import { turns } from '../../services/control-plane/turns.ts'

const busy = (ms: number): void => {
  for (const from = performance.now(); performance.now() - from < ms;);
}

/** The longest time between two turns of the event loop while `work` goes on, in milliseconds. */
async function longestHold(work: () => Promise<unknown>): Promise<number> {
  let [longest, before, isOver] = [0, performance.now(), false]
  const beat = (): void => {
    longest = Math.max(longest, performance.now() - before)
    before = performance.now()
    if (!isOver) setImmediate(beat)
  }
  setImmediate(beat)
  await work()
  isOver = true
  beat()
  return longest
}

it('lets one of many works go on in each turn of the event loop', async () => {
  // Their first turns are over when they are all begun.
  const works = Array.from({ length: 50 }, () => turns(40, () => busy(1)))
  expect(await longestHold(() => Promise.all(works))).toBeLessThan(100)
})

it('stops when a step returns false', async () => {
  let steps = 0
  await turns(Infinity, () => ++steps < 1000)
  expect(steps).toBe(1000)
})
