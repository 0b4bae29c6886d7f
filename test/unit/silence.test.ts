/** When a process has been silent for too long: not while it has no processor. */
import { expect, it } from 'vitest'
import { createSilence } from '../../shared/processes/silence.ts'

/** In which second the silence is over, of a process that waits for a processor for this part of each second. */
function overAfter(limit: number, waits: number): number {
  const silence = createSilence(1)
  for (let second = 1; second <= 1000; second++) if (silence.isOver(limit, second * waits)) return second
  return Infinity
}

it.each([
  ['that could run all the time', 0, 11],
  ['that could run half of the time', 0.5, 21],
  ['that never could', 1, 101],
])('a process %s has been silent for too long', (_which, waits, seconds) => expect(overAfter(10, waits)).toBe(seconds))

it('what it waited before it was last heard is no excuse', () => {
  const silence = createSilence(1)
  expect(silence.isOver(1, 50)).toBe(false)
  silence.heard()
  expect([silence.isOver(1, 50), silence.isOver(1, 50)]).toEqual([false, true])
})

it('a long wait counts once it has ended', () => {
  const silence = createSilence(1)
  expect([silence.isOver(2, 0), silence.isOver(2, 0), silence.isOver(2, 3), silence.isOver(2, 3)]).toEqual([false, false, false, false])
})

it('a second in which it waited for many counts as one', () => {
  const silence = createSilence(1)
  expect([silence.isOver(1, 30), silence.isOver(1, 30), silence.isOver(1, 30)]).toEqual([false, false, true])
})
