/**
 * Few requests of one account at once of those that read much for one answer: connections to the database and memory are there for all
 * accounts.
 */
import { ServiceError } from '../service-error.ts'

const AT_ONCE_MAX = 4
const WAIT_MAX_MS = 10_000
const WAITING_MAX = 64

export type FewAtOnce = {
  /** Does the work as soon as few others of the account are done. Throws ServiceError `rate_limit_exceeded` when too many wait, or for too long. */
  during<T>(accountId: string, work: () => Promise<T>): Promise<T>
}

type Line = { busy: number; waiting: Set<() => void> }

export function createFewAtOnce({ atOnce = AT_ONCE_MAX, waitMs = WAIT_MAX_MS, waitingMax = WAITING_MAX } = {}): FewAtOnce {
  const lines = new Map<string, Line>()

  function turn(line: Line): Promise<boolean> {
    if (line.waiting.size >= waitingMax) return Promise.resolve(false)
    return new Promise((resolve) => {
      const start = (): void => {
        clearTimeout(timer)
        resolve(true)
      }
      const timer = setTimeout(() => {
        line.waiting.delete(start)
        resolve(false)
      }, waitMs)
      line.waiting.add(start)
    })
  }

  function leave(accountId: string, line: Line): void {
    const [next] = line.waiting
    if (next) {
      // It takes this one's place: a request that comes meanwhile is behind it.
      line.waiting.delete(next)
      next()
    } else if (--line.busy === 0) lines.delete(accountId)
  }

  return {
    async during(accountId, work) {
      const line = lines.get(accountId) ?? { busy: 0, waiting: new Set() }
      lines.set(accountId, line)
      if (line.busy < atOnce) line.busy++
      else if (!(await turn(line)))
        throw new ServiceError('rate_limit_exceeded', 'the account has too many such requests at once, try again in a second', {
          headers: { 'Retry-After': '1' },
        })
      try {
        return await work()
      } finally {
        leave(accountId, line)
      }
    },
  }
}
