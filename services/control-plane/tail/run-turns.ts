/**
 * Whose tails may run records through steps next. A run takes one of the account's workshops, which previews and uploads need too: an
 * account has one run at a time, then rests for many times as long.
 */
import { createRests } from '../concurrency/pacing.ts'

export type RunTurns = {
  /** Does the work if it is the account's turn; undefined if not. */
  take<T>(accountId: string, work: () => Promise<T>): Promise<T | undefined>
}

/** After a run an account rests for this many times as long as it took. */
const REST_FACTOR = 10

export function createRunTurns(): RunTurns {
  const busy = new Set<string>()
  const rests = createRests(REST_FACTOR)
  return {
    async take(accountId, work) {
      if (busy.has(accountId) || rests.left(accountId) > 0) return undefined
      busy.add(accountId)
      const from = performance.now()
      try {
        return await work()
      } finally {
        busy.delete(accountId)
        rests.worked(accountId, performance.now() - from)
      }
    },
  }
}
