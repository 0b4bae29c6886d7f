/** Lets an account run only a few expensive reads at a time: memory and connections to the database are shared by all accounts. */
import { tooManyAtOnce } from '../service-error.ts'
import { createSomeAtATime } from './some-at-a-time.ts'

const AT_ONCE_MAX = 4
const WAIT_MAX_MS = 10_000
const WAITING_MAX = 64

export type FewAtOnce = {
  /**
   * Waits until few others of the account are being done. Throws ServiceError `rate_limit_exceeded` when too many wait, or for too long.
   */
  during<T>(accountId: string, work: () => Promise<T>): Promise<T>
}

export function createFewAtOnce({ atOnce = AT_ONCE_MAX, waitMs = WAIT_MAX_MS, waitingMax = WAITING_MAX } = {}): FewAtOnce {
  const tooMany = () => tooManyAtOnce('the account has too many such requests')
  return { during: createSomeAtATime(atOnce, waitMs, tooMany, waitingMax).run }
}
