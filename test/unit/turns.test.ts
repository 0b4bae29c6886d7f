/** Long work in turns: much of it at once holds the event loop no longer than one of them does. */
import { expect, it } from 'vitest'
import { turns } from '../../services/control-plane/turns.ts'

const busy = (ms: number): void => {
  for (const from = performance.now(); performance.now() - from < ms;);
}

it('lets one of many works go on in each turn of the event loop', async () => {
  let steps = 0
  const step = () => {
    busy(1)
    steps++
  }
  // Their first turns are over when they are all begun.
  const works = Array.from({ length: 50 }, () => turns(40, step))
  let [seen, most] = [steps, 0]
  const look = () => {
    most = Math.max(most, steps - seen)
    seen = steps
  }
  const timer = setInterval(look, 1)
  await Promise.all(works)
  clearInterval(timer)
  look()
  expect(most).toBeLessThan(steps / 8)
})

it('stops when a step returns false', async () => {
  let steps = 0
  await turns(Infinity, () => ++steps < 1000)
  expect(steps).toBe(1000)
})
