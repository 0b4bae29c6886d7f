/** Runs long work in short turns, so that the event loop is never blocked for long. */
import { setImmediate } from 'node:timers/promises'

const TURN_MS = 4
/** Steps between two checks of the clock. */
const LOOK_STEPS = 32

/** Runs `step` for each index from 0 on, yielding to the event loop in between. Stops early when a step returns false. */
export async function turns(count: number, step: (index: number) => boolean | void): Promise<void> {
  let until = performance.now() + TURN_MS
  for (let index = 0; index < count; index++) {
    if (step(index) === false) return
    if (index % LOOK_STEPS !== LOOK_STEPS - 1 || performance.now() < until) continue
    await setImmediate()
    until = performance.now() + TURN_MS
  }
}
