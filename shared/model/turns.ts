/** Runs long work in short turns, so that the event loop is never blocked for long. */
import { setImmediate } from 'node:timers/promises'

/** A turn ends after this long. */
export const TURN_MS = 4
/** Steps between two checks of the clock. */
const LOOK_STEPS = 4

let last: Promise<void> = Promise.resolve()

/** Waits for the next turn of the event loop. Only one piece of long work runs per turn, however much is waiting. */
export const nextTurn = (): Promise<void> => (last = last.then(() => setImmediate()))

/** Runs `step` for each index from 0 on, yielding to the event loop in between. Stops early when a step returns false. */
export async function turns(count: number, step: (index: number) => boolean | void): Promise<void> {
  let until = performance.now() + TURN_MS
  for (let index = 0; index < count; index++) {
    if (step(index) === false) return
    if (index % LOOK_STEPS !== LOOK_STEPS - 1 || performance.now() < until) continue
    await nextTurn()
    until = performance.now() + TURN_MS
  }
}

/** The present turn of long work that pauses where it can. The first one is over at once: many works may begin at the same time. */
export type Turn = { isOver(): boolean; next(): Promise<void> }

/** Returns the turn of work that is about to begin. */
export function createTurn(): Turn {
  let until = 0
  return {
    isOver: () => performance.now() >= until,
    async next() {
      await nextTurn()
      until = performance.now() + TURN_MS
    },
  }
}

/** Runs work that may pause wherever it yields. Rejects with the signal's reason when that is aborted during a pause. */
export async function inTurns<T>(work: Generator<void, T>, signal?: AbortSignal, turn = createTurn()): Promise<T> {
  for (let step = work.next(); ; step = work.next()) {
    if (step.done) return step.value
    if (!turn.isOver()) continue
    await turn.next()
    signal?.throwIfAborted()
  }
}

/** Runs the same work without a pause, where nothing else waits for the thread. */
export function atOnce<T>(work: Generator<void, T>): T {
  for (let step = work.next(); ; step = work.next()) if (step.done) return step.value
}
