/** Work on one thing, at most so much at once within this process; more waits for its turn. */

type Line = { running: number; waiting: (() => void)[] }

/** `whenLate` makes the error for work that has waited for longer than `waitMaxMs`, or that comes when `waitingMax` wait already. */
export function createSomeAtATime(max: number, waitMaxMs: number, whenLate: () => Error, waitingMax = Number.POSITIVE_INFINITY) {
  const lines = new Map<string, Line>()

  /** Resolves when there is room. */
  function turn(line: Line): Promise<void> {
    if (line.waiting.length >= waitingMax) return Promise.reject(whenLate())
    return new Promise((resolve, reject) => {
      const start = () => {
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        line.waiting.splice(line.waiting.indexOf(start), 1)
        reject(whenLate())
      }, waitMaxMs)
      line.waiting.push(start)
    })
  }

  return {
    async run<T>(key: string, work: () => Promise<T>): Promise<T> {
      const line = lines.get(key) ?? { running: 0, waiting: [] }
      lines.set(key, line)
      if (line.running < max) line.running++
      else await turn(line)
      try {
        return await work()
      } finally {
        // The next one has the place of this one.
        const next = line.waiting.shift()
        if (next) next()
        else if (--line.running === 0) lines.delete(key)
      }
    },
  }
}
