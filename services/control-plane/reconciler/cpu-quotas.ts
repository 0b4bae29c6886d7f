/** Who has used more CPU time in this clock hour than the quota allows gets what other accounts leave over, until the hour ends. */
import { findAccount, listOverCpu, setOverCpuHour } from '../store/accounts.ts'
import { deleteOldCpuUse, hourOf, listCpuUse } from '../store/cpu-use.ts'
import { quotasOfAccount } from '../store/quotas.ts'
import type { Deps } from '../deps.ts'

/** Compares what was reported with the quotas, and tells the processors of accounts for which that changed. */
export async function applyCpuQuotas({ db, notifyPublisher }: Pick<Deps, 'db' | 'notifyPublisher'>, now: Date): Promise<void> {
  const hour = hourOf(now)
  for (const account of await listOverCpu(db)) if (account.over_cpu_hour !== hour) await setOverCpuHour(db, account.id, null)
  for (const { account_id, cpu_seconds } of await listCpuUse(db, hour)) {
    const account = await findAccount(db, account_id)
    if (!account || account.over_cpu_hour === hour || cpu_seconds <= quotasOfAccount(account).cpu_seconds_per_hour) continue
    await setOverCpuHour(db, account_id, hour)
  }
  await deleteOldCpuUse(db, hourOf(new Date(now.getTime() - KEPT_MS)))
  notifyPublisher()
}

const KEPT_MS = 24 * 3_600_000
