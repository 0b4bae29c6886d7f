/** What a record of `dps.observed` holds: a report, or a count of CPU time. */
import { parseJson } from '../../../shared/kafka/parse-json.ts'
import type { FollowedRecord } from '../../../shared/kafka/follow.ts'
import { CpuUse, isCpuUseKey, ObservedTask } from '../../../shared/model/observed.ts'

/** None for a tombstone, a count of CPU time, and what another version wrote otherwise. */
export function reportsIn({ value }: Pick<FollowedRecord, 'value'>): ObservedTask[] {
  const parsed = ObservedTask.safeParse(value && parseJson(value))
  return parsed.success ? [parsed.data] : []
}

/** None for a tombstone and for reports. */
export function cpuUseIn({ key, value }: Pick<FollowedRecord, 'key' | 'value'>): CpuUse[] {
  if (value === null || !isCpuUseKey(key)) return []
  const parsed = CpuUse.safeParse(parseJson(value))
  return parsed.success ? [parsed.data] : []
}
