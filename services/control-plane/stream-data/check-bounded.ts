/**
 * Checks records by schemas from the registry, whose `pattern` and `anyOf` can take for ever: with a time limit, counted and paced by
 * account.
 */
import { runBounded, ownCpuMs, TookTooLong } from '../concurrency/bounded-work.ts'
import { openLruCache } from '../caches/lru-cache.ts'
import { invalidRequest, ServiceError } from '../service-error.ts'
import { nextTurn, TURN_MS } from '../../../shared/model/turns.ts'

/** A piece of the work, after which others have their turn: its records, and how long they may take. */
const [PIECE_RECORDS, PIECE_MS_MAX] = [8, 500]
/** What a record may take on average before a piece counts as slow. */
const RECORD_MS = 1
/** What an account's slow pieces may take together within a while; then it waits until the while is over. */
const [SLOW_MS_MAX, WHILE_MS] = [2000, 30_000]
const ACCOUNTS_MAX = 1000

const TOO_SLOW = 'take too long to check by the stream’s schema; simplify the schema'

export type BoundedChecks = {
  /** Throws 429 for a while after an account's checks have taken too long. */
  admit(accountId: string): void
  /** Calls `check` for each index until it returns false. Throws 400 when that takes too long. */
  run(accountId: string, count: number, check: (index: number) => boolean): Promise<void>
}

/** `now`: in milliseconds, by a clock that only goes forward. */
export function createBoundedChecks(now = () => performance.now()): BoundedChecks {
  const slow = openLruCache<string, { ms: number; since: number }>(ACCOUNTS_MAX)

  function usedBy(accountId: string): { ms: number; since: number } {
    const known = slow.get(accountId)
    if (known && now() - known.since < WHILE_MS) return known
    const used = { ms: 0, since: now() }
    slow.set(accountId, used)
    return used
  }

  function admit(accountId: string): void {
    const used = usedBy(accountId)
    if (used.ms >= SLOW_MS_MAX)
      throw new ServiceError('rate_limit_exceeded', `the records of the account ${TOO_SLOW}`, {
        headers: { 'Retry-After': String(Math.max(1, Math.ceil((used.since + WHILE_MS - now()) / 1000))) },
      })
  }

  async function run(accountId: string, count: number, check: (index: number) => boolean): Promise<void> {
    const used = usedBy(accountId)
    let until = performance.now() + TURN_MS
    for (let from = 0; from < count; from += PIECE_RECORDS) {
      const end = Math.min(count, from + PIECE_RECORDS)
      const piece = (): boolean => {
        for (let index = from; index < end; index++) if (!check(index)) return false
        return true
      }
      const before = ownCpuMs()
      let goesOn = false
      try {
        goesOn = runBounded(piece, PIECE_MS_MAX)
      } catch (error) {
        if (!(error instanceof TookTooLong)) throw error
        used.ms = SLOW_MS_MAX
      } finally {
        const took = ownCpuMs() - before
        if (took > PIECE_RECORDS * RECORD_MS) used.ms += took
      }
      // Not to be tried again: the same records would take as long.
      if (used.ms >= SLOW_MS_MAX) throw invalidRequest([{ path: '/records', message: TOO_SLOW }])
      if (!goesOn) return
      if (performance.now() < until) continue
      await nextTurn()
      until = performance.now() + TURN_MS
    }
  }
  return { admit, run }
}
