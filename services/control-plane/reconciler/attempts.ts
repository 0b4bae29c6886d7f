/**
 * Which unfinished resources the reconciler tries, and when: one that fails is tried again after growing pauses, accounts take turns, least
 * recently tried first, and a pass has a time limit. So no account's undeletable pipelines hold up the others.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import type { Deps } from '../deps.ts'

const BACKOFF_MIN_MS = 5000
const BACKOFF_MAX_MS = 300_000
/** Removing what an honest server holds takes less. */
const ASIDE_MS = 1000

/** A row of something that is being created or deleted. */
type Unfinished = { id: string; account_id: string }

export type Attempts = {
  /** Ids of what has failed and is not due yet. */
  waiting(): string[]
  /** `attempt` for each row, accounts in turn, until `budgetMs` are over; at least the first. The others come first in the next pass. */
  each<T extends Unfinished>(rows: readonly T[], budgetMs: number, attempt: (row: T) => Promise<void>): Promise<void>
  /**
   * Like `attempt`, for work that may wait for an account's server: it is waited for only a moment, and while it goes on, nothing else of
   * its account is begun.
   */
  attemptAside(what: string, row: Unfinished, work: () => Promise<void>): Promise<void>
  /** Does the work, and remembers whether it failed. */
  attempt(what: string, row: Unfinished, work: () => Promise<void>): Promise<void>
}

/** `now`: in milliseconds, by a clock that only goes forward. */
export function createAttempts({ log }: Pick<Deps, 'log'>, now = () => performance.now(), asideMs = ASIDE_MS): Attempts {
  const failures = new Map<string, { count: number; dueAt: number }>()
  /** By account, when something of it was tried last. */
  const triedAt = new Map<string, number>()
  /** Accounts of which something is being done aside. */
  const aside = new Set<string>()

  async function attempt(...[what, { id, account_id }, work]: Parameters<Attempts['attempt']>): Promise<void> {
    try {
      await work()
      failures.delete(id)
      log.info({ id }, `reconciler: done: ${what}`)
    } catch (error) {
      const count = (failures.get(id)?.count ?? 0) + 1
      failures.set(id, { count, dueAt: now() + Math.min(BACKOFF_MIN_MS * 2 ** Math.min(count - 1, 10), BACKOFF_MAX_MS) })
      log.warn({ id, reason: reasonOf(error) }, `reconciler: could not ${what} yet, will try again`)
    } finally {
      triedAt.set(account_id, now())
    }
  }

  return {
    waiting() {
      // What has not been tried for this long since it was due is gone, or was done by another control plane.
      for (const [id, { dueAt }] of failures) if (now() - dueAt > 2 * BACKOFF_MAX_MS) failures.delete(id)
      for (const [account, at] of triedAt) if (now() - at > 2 * BACKOFF_MAX_MS) triedAt.delete(account)
      return [...failures].flatMap(([id, { dueAt }]) => (dueAt > now() ? [id] : []))
    },
    async each(rows, budgetMs, attempt) {
      const until = now() + budgetMs
      const left = [...rows]
      while (left.length > 0) {
        const turnOf = ({ account_id }: Unfinished) => triedAt.get(account_id) ?? Number.NEGATIVE_INFINITY
        const next = left.reduce((first, row) => (turnOf(row) < turnOf(first) ? row : first))
        left.splice(left.indexOf(next), 1)
        await attempt(next)
        if (now() > until) return
      }
    },
    async attemptAside(what, row, work) {
      const { account_id } = row
      if (aside.has(account_id)) return
      aside.add(account_id)
      const done = attempt(what, row, work).finally(() => aside.delete(account_id))
      await Promise.race([done, sleep(asideMs, undefined, { ref: false })])
    },
    attempt,
  }
}
