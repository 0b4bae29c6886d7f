/** Jobs that wait for a workshop process: accounts take turns, each with its oldest job first. */

export type Waiting = { accountId: string; start(): void }

export type TurnsByAccount = {
  add(entry: Waiting): void
  remove(entry: Waiting): void
  countOf(accountId: string): number
  /** Starts what may start. An account that was served comes after all others. */
  startAll(mayStart: (accountId: string) => boolean): void
}

/** `start` of an entry removes it. */
export function createTurnsByAccount(): TurnsByAccount {
  /** In the order in which the accounts are served. */
  const byAccount = new Map<string, Waiting[]>()

  function remove(entry: Waiting): void {
    const left = byAccount.get(entry.accountId)?.filter((each) => each !== entry) ?? []
    if (left.length === 0) byAccount.delete(entry.accountId)
    else byAccount.set(entry.accountId, left)
  }

  return {
    remove,
    add(entry) {
      byAccount.set(entry.accountId, [...(byAccount.get(entry.accountId) ?? []), entry])
    },
    countOf: (accountId) => byAccount.get(accountId)?.length ?? 0,
    startAll(mayStart) {
      for (;;) {
        const [accountId, entries] = [...byAccount].find(([id]) => mayStart(id)) ?? []
        if (accountId === undefined) return
        const [first, ...rest] = entries!
        byAccount.delete(accountId)
        if (rest.length > 0) byAccount.set(accountId, rest)
        first!.start()
      }
    },
  }
}
