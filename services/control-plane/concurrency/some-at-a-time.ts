/** Work on one thing, at most so much at once within this process; more waits for its turn. */

type Line = { running: number; waiting: (() => void)[]; timer?: NodeJS.Timeout }

export type LineRules = {
  /** Milliseconds until the next work may begin beside the `running` one: 0 is now, Infinity is when some of that has ended. */
  msUntilNext(key: string, running: number, hasWaited: boolean): number
  waitMaxMs: number
  /** Makes the error for work that has waited for longer, would have to, or comes when `waitingMax` wait already. */
  whenLate(key: string): Error
  waitingMax: number
}

/** Each key has a line of its own, in which work waits. */
export function createLines({ msUntilNext, waitMaxMs, whenLate, waitingMax }: LineRules) {
  const lines = new Map<string, Line>()

  /** Lets those in begin that may. */
  function admit(key: string, line: Line): void {
    clearTimeout(line.timer)
    while (line.waiting.length > 0) {
      const ms = msUntilNext(key, line.running, true)
      if (ms > 0) {
        if (ms < Number.POSITIVE_INFINITY) line.timer = setTimeout(() => admit(key, line), Math.ceil(ms))
        return
      }
      line.running++
      line.waiting.shift()!()
    }
    if (line.running === 0) lines.delete(key)
  }

  /** Resolves when the work may begin. */
  function turn(key: string, line: Line): Promise<void> {
    const ms = msUntilNext(key, line.running, true)
    if (line.waiting.length >= waitingMax || (ms > waitMaxMs && ms < Number.POSITIVE_INFINITY)) return Promise.reject(whenLate(key))
    return new Promise((resolve, reject) => {
      const start = () => {
        clearTimeout(late)
        resolve()
      }
      const late = setTimeout(() => {
        line.waiting.splice(line.waiting.indexOf(start), 1)
        reject(whenLate(key))
      }, waitMaxMs)
      line.waiting.push(start)
      admit(key, line)
    })
  }

  return {
    async run<T>(key: string, work: () => Promise<T>): Promise<T> {
      const line = lines.get(key) ?? { running: 0, waiting: [] }
      lines.set(key, line)
      if (line.waiting.length === 0 && msUntilNext(key, line.running, false) === 0) line.running++
      else
        await turn(key, line).catch((error: unknown) => {
          admit(key, line)
          throw error
        })
      try {
        return await work()
      } finally {
        line.running--
        admit(key, line)
      }
    },
  }
}

export const createSomeAtATime = (max: number, waitMaxMs: number, whenLate: () => Error, waitingMax = Number.POSITIVE_INFINITY) =>
  createLines({ msUntilNext: (_key, running) => (running < max ? 0 : Number.POSITIVE_INFINITY), waitMaxMs, whenLate, waitingMax })
