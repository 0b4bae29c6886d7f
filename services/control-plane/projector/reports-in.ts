/** The report that a record of `dps.observed` holds. */
import { parseJson } from '../../../shared/kafka/parse-json.ts'
import type { FollowedRecord } from '../../../shared/kafka/follow.ts'
import { ObservedTask } from '../../../shared/model/observed.ts'

/** None for a tombstone, a count of CPU time, and what another version wrote otherwise. */
export function reportsIn({ value }: Pick<FollowedRecord, 'value'>): ObservedTask[] {
  const parsed = ObservedTask.safeParse(value && parseJson(value))
  return parsed.success ? [parsed.data] : []
}
