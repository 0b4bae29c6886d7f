/** CPU seconds that the processors report for each account, by clock hour. */
import type { CpuUse } from '../../../shared/model/observed.ts'
import type { Queryable } from './database.ts'

/** Stores what one process of a processor has counted in one hour; a lower count is an older report. */
export async function saveCpuUse(db: Queryable, { account_id, processor_id, hour, cpu_seconds }: CpuUse): Promise<void> {
  await db('cpu_use')
    .insert({ account_id, processor_id, hour, cpu_seconds })
    .onConflict(['account_id', 'hour', 'processor_id'])
    .merge({ cpu_seconds: db.raw('greatest(cpu_use.cpu_seconds, excluded.cpu_seconds)') })
}

/** The account's CPU seconds in the hour, on all processors. */
export async function cpuSecondsOf(db: Queryable, accountId: string, hour: string): Promise<number> {
  const row = await db('cpu_use').where({ account_id: accountId, hour }).sum({ sum: 'cpu_seconds' }).first()
  return Math.round(Number(row?.sum ?? 0))
}

/** CPU seconds of the hour by account. */
export async function listCpuUse(db: Queryable, hour: string): Promise<{ account_id: string; cpu_seconds: number }[]> {
  const { rows } = await db.raw('SELECT account_id, sum(cpu_seconds) AS cpu_seconds FROM cpu_use WHERE hour = ? GROUP BY account_id', [
    hour,
  ])
  return rows
}

/** Forgets hours before this one. */
export async function deleteOldCpuUse(db: Queryable, hour: string): Promise<void> {
  await db('cpu_use').where('hour', '<', hour).delete()
}
