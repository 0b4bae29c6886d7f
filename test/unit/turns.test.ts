/** Long work in turns: much of it at once holds the event loop no longer than one of them does. */
import { expect, it } from 'vitest'
import { atOnce, inTurns, turns } from '../../shared/model/turns.ts'

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

/** Work of so many steps of a tenth of a millisecond. */
function* counting(seen: number[], steps = 300): Generator<void, number> {
  for (let n = 0; n < steps; n++) {
    busy(0.1)
    seen.push(n)
    yield
  }
  return seen.length
}

it('pauses work wherever it may, and gives what it gives at once', async () => {
  let looks = 0
  const timer = setInterval(() => looks++, 1)
  expect(await inTurns(counting([]))).toBe(atOnce(counting([])))
  clearInterval(timer)
  expect(looks).toBeGreaterThan(2)
})

it('begins many works together with one step of each', async () => {
  const seen: number[] = []
  const works = Array.from({ length: 50 }, () => inTurns(counting(seen, 10)))
  expect(seen).toEqual(Array.from({ length: 50 }, () => 0))
  await Promise.all(works)
})

it('goes no further once the signal is aborted', async () => {
  const stop = new AbortController()
  const seen: number[] = []
  const work = inTurns(counting(seen), stop.signal)
  stop.abort(new Error('stopped'))
  await expect(work).rejects.toThrow('stopped')
  expect(seen).toEqual([0])
})
