/** Which accounts share a runner: each has its own, or so many have one together, or all have the same. */

/** Returns the group of an account. Accounts are grouped in the order in which they are first seen, and stay in their group. */
export function groupAccounts(isolation: 'account' | 'shared', accountsPerRunner: number): (accountId: string) => string {
  if (isolation === 'shared') return () => 'shared'
  if (accountsPerRunner === 1) return (accountId) => `account/${accountId}`
  const seen = new Map<string, string>()
  return (accountId) => {
    let group = seen.get(accountId)
    if (group === undefined) seen.set(accountId, (group = `accounts/${Math.floor(seen.size / accountsPerRunner)}`))
    return group
  }
}
