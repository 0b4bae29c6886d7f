/**
 * Whose tails may run records through steps next. A run takes a workshop of the account, which previews and uploads need too: an account has
 * one run at a time, and then for many times as long none.
 */
export type RunTurns = {
  /** Does the work if it is the account's turn; undefined if not. */
  take<T>(accountId: string, work: () => Promise<T>): Promise<T | undefined>
}

const PACE = 10

export function createRunTurns(): RunTurns {
  /** By account, when its next turn is. */
  const nextAt = new Map<string, number>()
  return {
    async take(accountId, work) {
      const from = performance.now()
      if ((nextAt.get(accountId) ?? 0) > from) return undefined
      for (const [id, at] of nextAt) if (at <= from) nextAt.delete(id)
      nextAt.set(accountId, Infinity)
      try {
        return await work()
      } finally {
        const to = performance.now()
        nextAt.set(accountId, to + (to - from) * PACE)
      }
    },
  }
}
