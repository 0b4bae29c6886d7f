/**
 * How much of the main thread's time an account may take. All accounts share that one thread: long work is done in short turns, and an
 * account whose requests took long waits for several times as long before its next one begins. Only turns of several milliseconds count,
 * so that ordinary requests neither wait nor are measured for more than a microsecond.
 */
import { ownCpuMs } from './bounded-work.ts'
import { ServiceError } from '../service-error.ts'
import { createOneAtATime } from './one-at-a-time.ts'
import { createLines } from './some-at-a-time.ts'
import { nextTurn, TURN_MS } from '../../../shared/model/turns.ts'

/** Steps, and bytes in them, between two looks at the clock. */
const LOOK_STEPS = 32
const LOOK_BYTES = 64 << 10

/** After work, an account rests for this many times as long as the work took. */
const REST_FACTOR = 4
const AT_ONCE_MAX = 8
const WAITING_MAX = 32
const WAIT_MAX_MS = 5000

/** When accounts may work again that worked before. */
export type Rests = {
  /** How many milliseconds the account still rests; 0 where it does not. */
  left(accountId: string): number
  /** The account has worked for so long. */
  worked(accountId: string, ms: number): void
}

/** `times`: how many times as long as its work an account rests. */
export function createRests(times: number): Rests {
  const until = new Map<string, number>()
  const left = (accountId: string): number => Math.max(0, (until.get(accountId) ?? 0) - performance.now())
  return {
    left,
    worked(accountId, ms) {
      const now = performance.now()
      for (const [id, at] of until) if (at <= now) until.delete(id)
      until.set(accountId, Math.max(now, until.get(accountId) ?? 0) + ms * times)
    },
  }
}

/** Long work of one request. */
export type Pace = {
  /** `step` returns how many bytes it has looked at, which say how long it took before the clock does; false ends the work. */
  turns(count: number, step: (index: number) => number | false): Promise<void>
  /** Work that holds much memory between its turns: an account does one piece of it at a time. */
  alone<T>(work: () => Promise<T>): Promise<T>
}

/**
 * Runs steps in turns; those of several works, also of short ones, share a turn until it was long. `onTurn` gets how long such a turn took,
 * of the thread's own time.
 */
function createTurns(onTurn: (ms: number) => void): Pace['turns'] {
  let [ms, cpuMs] = [0, 0]
  return async (count, step) => {
    for (let index = 0; index < count;) {
      if (ms >= TURN_MS) {
        await nextTurn()
        ms = 0
      }
      const [from, cpuFrom] = [performance.now() - ms, ownCpuMs()]
      let [steps, bytes] = [0, 0]
      try {
        while (index < count) {
          const looked = step(index++)
          if (looked === false) return
          bytes += looked
          if (++steps < LOOK_STEPS && bytes < LOOK_BYTES) continue
          if (performance.now() - from >= TURN_MS) break
          ;[steps, bytes] = [0, 0]
        }
      } finally {
        // A step that fails took its time too.
        ms = performance.now() - from
        cpuMs += ownCpuMs() - cpuFrom
        if (ms >= TURN_MS) {
          onTurn(cpuMs)
          cpuMs = 0
        }
      }
    }
  }
}

const unpacedAlone = createOneAtATime()
/** Short turns for work that is no account's, or too little to be counted. */
export const UNPACED: Pace = { turns: createTurns(() => {}), alone: (work) => unpacedAlone.run('', work) }

export type Pacer = {
  /**
   * Does the work once the account has rested from its earlier long work. Throws ServiceError `rate_limit_exceeded` when that takes too
   * long or too many wait. The pace ends with the work's promise: what goes on in the background fails at its next turn.
   */
  during<T>(accountId: string, work: (pace: Pace) => Promise<T>): Promise<T>
}

export function createPacer({ times = REST_FACTOR, atOnce = AT_ONCE_MAX, waitingMax = WAITING_MAX, waitMs = WAIT_MAX_MS } = {}): Pacer {
  const rests = createRests(times)
  const alone = createOneAtATime()

  function tooMuch(accountId: string): ServiceError {
    const seconds = Math.max(1, Math.ceil(rests.left(accountId) / 1000))
    return new ServiceError('rate_limit_exceeded', `the account’s large requests keep the service busy, try again in ${seconds} s`, {
      headers: { 'Retry-After': String(seconds) },
    })
  }

  const lines = createLines({
    // What has waited goes one by one, because the one before it may turn out to be long again.
    msUntilNext: (accountId, running, hasWaited) =>
      rests.left(accountId) || (running < (hasWaited ? 1 : atOnce) ? 0 : Number.POSITIVE_INFINITY),
    waitMaxMs: waitMs,
    whenLate: tooMuch,
    waitingMax,
  })

  return {
    during: (accountId, work) =>
      lines.run(accountId, async () => {
        let isOver = false
        const turns = createTurns((ms) => rests.worked(accountId, ms))
        const pace: Pace = {
          turns: (count, step) =>
            turns(count, (index) => {
              if (isOver) throw new Error('the request was answered before its work had ended')
              return step(index)
            }),
          alone: (piece) => alone.run(accountId, piece),
        }
        try {
          return await work(pace)
        } finally {
          isOver = true
        }
      }),
  }
}
