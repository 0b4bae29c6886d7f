/** The caller's own account: its quotas and what it uses of them. */
import { getAccountContract } from '../../../shared/api/account.ts'
import { REQUESTS_PER_MINUTE } from '../../../shared/model/limits.ts'
import { QUOTA_NAMES, type QuotaName } from '../../../shared/model/quotas.ts'
import { findAccount } from '../store/accounts.ts'
import { hourOf } from '../../../shared/model/times.ts'
import { cpuSecondsOf } from '../store/cpu-use.ts'
import { countDeadLetterBytes } from '../store/dead-letter-upkeep.ts'
import { countUse, quotasOfAccount } from '../store/quotas.ts'
import { notFound } from '../service-error.ts'
import { operation } from './operation.ts'

export const getAccountOperation = operation(getAccountContract, async ({ db }, { accountId }) => {
  const account = await findAccount(db, accountId)
  if (!account) throw notFound('the account')
  const limits = quotasOfAccount(account)
  const used: Partial<Record<QuotaName, number>> = {
    ...(await countUse(db, accountId)),
    dead_letter_bytes: await countDeadLetterBytes(db, accountId),
    cpu_seconds_per_hour: await cpuSecondsOf(db, accountId, hourOf(Date.now())),
  }
  const { id, name, type, created_at } = account
  const names = Object.keys(QUOTA_NAMES) as QuotaName[]
  const quotas = Object.fromEntries(names.map((each) => [each, { limit: limits[each], used: used[each] ?? null }])) as Record<
    QuotaName,
    { limit: number; used: number | null }
  >
  return { status: 200, body: { id, name, type, created_at, requests_per_minute: REQUESTS_PER_MINUTE[type], quotas } }
})
