/**
 * How much memory the bodies of pushes take, whose senders are not known before their last byte: of one account, and of all. Where there is
 * no room, the oldest body that has not come whole makes it, because one that is sent on purpose never does.
 */
import { tooManyAtOnce } from '../service-error.ts'

const ACCOUNT_BYTES_MAX = 64 << 20
export const BYTES_MAX = 256 << 20

/** One body. */
export type Reservation = {
  /** Throws ServiceError `rate_limit_exceeded` where neither there is room nor another body can make some. */
  take(bytes: number): void
  /** The body is there: it keeps its room until it is handled. */
  whole(): void
  /** Rejects when another one needs the room. */
  readonly ended: Promise<never>
}

type Open = { accountId: string; bytes: number; isWhole: boolean; end(error: Error): void }

export function createBodyRoom({ accountMax = ACCOUNT_BYTES_MAX, max = BYTES_MAX } = {}) {
  /** Oldest first. */
  const open = new Set<Open>()
  const byAccount = new Map<string, number>()
  let total = 0

  function change(one: Open, bytes: number): void {
    one.bytes += bytes
    total += bytes
    const sum = (byAccount.get(one.accountId) ?? 0) + bytes
    if (sum > 0) byAccount.set(one.accountId, sum)
    else byAccount.delete(one.accountId)
  }

  function close(one: Open): void {
    if (open.delete(one)) change(one, -one.bytes)
  }

  /** The account whose bodies are too many; undefined where there is room. */
  function tooLarge(accountId: string): string | undefined {
    if ((byAccount.get(accountId) ?? 0) > accountMax) return accountId
    return total > max ? [...byAccount].reduce((most, each) => (each[1] > most[1] ? each : most))[0] : undefined
  }

  return {
    /** Does the work with a reservation for a body; its room is free again when the work has ended. */
    async during<T>(accountId: string, work: (reservation: Reservation) => Promise<T>): Promise<T> {
      const ended = Promise.withResolvers<never>()
      // It may end while nothing waits for it.
      ended.promise.catch(() => {})
      const own: Open = { accountId, bytes: 0, isWhole: false, end: ended.reject }
      open.add(own)
      const take = (bytes: number): void => {
        change(own, bytes)
        for (let whose = tooLarge(accountId); whose !== undefined && open.has(own); whose = tooLarge(accountId)) {
          const victim = [...open].find((each) => each.accountId === whose && !each.isWhole && each.bytes > 0) ?? own
          close(victim)
          victim.end(tooManyAtOnce('the account has too many large bodies'))
        }
        if (!open.has(own)) throw tooManyAtOnce('the account has too many large bodies')
      }
      const whole = (): void => {
        own.isWhole = true
      }
      try {
        return await work({ take, whole, ended: ended.promise })
      } finally {
        close(own)
      }
    },
    bytes: () => total,
  }
}
