/** What an account has, counted against its quotas. */
import { QUOTA_NAMES, QuotaChanges, quotasOf, type QuotaName, type Quotas } from '../../../shared/model/quotas.ts'
import { ServiceError } from '../service-error.ts'
import { lockAccount, type AccountRow } from './accounts.ts'
import type { Queryable } from './database.ts'
import { UNFINISHED } from './jobs.ts'

/** Quotas on what an account has; the others are kept where the work is done. */
export type CountedQuota = Exclude<
  QuotaName,
  'smartmodule_versions' | 'dead_letter_bytes' | 'dead_letter_days' | 'pushed_requests_per_second' | 'cpu_seconds_per_hour'
>

/**
 * What the account has of everything that is counted; a job that has not ended is a task. Those of pipelines are found in the definition's
 * text, where only ids and the name precede them: Postgres refuses to read inside of a definition that contains \\u0000.
 */
export async function countUse(db: Queryable, accountId: string): Promise<Record<CountedQuota, number>> {
  const { rows } = await db.raw(
    `WITH own_pipelines AS (SELECT definition FROM pipelines WHERE account_id = :id AND status <> 'deleting'),
      own_streams AS (SELECT partitions FROM streams WHERE account_id = :id AND status <> 'deleting'),
      own_jobs AS (SELECT id FROM jobs WHERE account_id = :id AND status = ANY (:unfinished)),
      own_modules AS (SELECT id FROM smartmodules WHERE coalesce(account_id, '') = :id)
    SELECT (SELECT count(*) FROM own_pipelines) AS pipelines,
      (SELECT coalesce(sum((regexp_match(definition::text, '"tasks": *([0-9]+)'))[1]::int), 0) FROM own_pipelines) + (SELECT count(*) FROM own_jobs) AS tasks,
      (SELECT count(*) FROM own_streams) AS streams,
      (SELECT coalesce(sum(partitions), 0) FROM own_streams) AS partitions,
      (SELECT count(*) FROM own_modules) AS smartmodules,
      (SELECT coalesce(sum(bytes + octet_length(config::text) + coalesce(octet_length(source::text), 0) + coalesce(octet_length(tests::text), 0)), 0) FROM smartmodule_versions WHERE smartmodule_id IN (SELECT id FROM own_modules)) AS smartmodule_bytes,
      (SELECT count(*) FROM secrets WHERE account_id = :id) AS secrets,
      (SELECT count(*) FROM api_keys WHERE account_id = :id AND revoked_at IS NULL) AS keys,
      (SELECT count(*) FROM members WHERE account_id = :id) AS members`,
    { id: accountId, unfinished: UNFINISHED },
  )
  return Object.fromEntries(Object.entries(rows[0]).map(([name, value]) => [name, Number(value)])) as Record<CountedQuota, number>
}

/** The quotas of the account. */
export const quotasOfAccount = ({ type, quotas }: Pick<AccountRow, 'type' | 'quotas'>): Quotas => quotasOf(type, QuotaChanges.parse(quotas))

/** Throws 403 naming the quota that `more` would exceed. */
function assertRoom(name: QuotaName, limit: number, used: number, more: number): void {
  if (used + more <= limit) return
  throw new ServiceError(
    'quota_exceeded',
    `the quota ${name} (${QUOTA_NAMES[name]}) is ${limit}, of which ${used} are used; ${more} more were asked for`,
  )
}

/**
 * Throws 403 naming the quota where the account would have more than it may. Locks the account until the transaction ends, so that requests
 * can't exceed a quota together. `versions`: how many the SmartModule has to which one is added.
 */
export async function assertQuotas(
  trx: Queryable,
  accountId: string,
  more: Partial<Record<CountedQuota, number>>,
  versions?: number,
): Promise<void> {
  // A change that adds nothing, as most of a pipeline's, needs no count and no lock.
  if (versions === undefined && Object.values(more).every((added) => added <= 0)) return
  const account = await lockAccount(trx, accountId)
  if (!account) return
  const quotas = quotasOfAccount(account)
  const used = await countUse(trx, accountId)
  for (const [name, added] of Object.entries(more) as [CountedQuota, number][])
    if (added > 0) assertRoom(name, quotas[name], used[name], added)
  if (versions !== undefined) assertRoom('smartmodule_versions', quotas.smartmodule_versions, versions, 1)
}
