/** An account beyond its quota of CPU time gets only what others leave, until the clock hour ends. */
import { listOverCpu, lockAccount, setOverCpuHour } from '../store/accounts.ts'
import { hourOf } from '../../../shared/model/times.ts'
import { deleteOldCpuUse, listCpuUse } from '../store/cpu-use.ts'
import { quotasOfAccount } from '../store/quotas.ts'
import type { Deps } from '../deps.ts'

const KEPT_MS = 24 * 3_600_000

/** Compares what was reported with the quotas, and tells the processors of accounts for which that changed. */
export async function applyCpuQuotas({ db, notifyPublisher }: Pick<Deps, 'db' | 'notifyPublisher'>, nowMs: number): Promise<void> {
  const hour = hourOf(nowMs)
  const used = new Map((await listCpuUse(db, hour)).map(({ account_id, cpu_seconds }) => [account_id, cpu_seconds]))
  const before = new Set((await listOverCpu(db)).map(({ id }) => id))
  for (const id of new Set([...before, ...used.keys()])) {
    await db.transaction(async (trx) => {
      const account = await lockAccount(trx, id)
      if (!account) return
      const isOver = (used.get(id) ?? 0) > quotasOfAccount(account).cpu_seconds_per_hour
      const overHour = isOver ? hour : null
      if (account.over_cpu_hour !== overHour) await setOverCpuHour(trx, id, overHour)
    })
  }
  await deleteOldCpuUse(db, hourOf(nowMs - KEPT_MS))
  notifyPublisher()
}
