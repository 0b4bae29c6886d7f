/** Records that come with a request, and how a trace shows what is not deployed. */
import type { ModuleTest } from '../../../../shared/api/smartmodules.ts'
import { frame } from '../../../../shared/model/framing.ts'
import { ON_ERROR_DEFAULT } from '../../../../shared/model/policies.ts'
import type { SourceRecord } from '../../trace/trace.ts'

/** What a trace names a step by that has no SmartModule. */
export const UNDEPLOYED = { module_id: '', version: '', on_error: ON_ERROR_DEFAULT, changes_keys: false }

/** Records of a request as a topic would hold them. */
export function givenRecords(records: ModuleTest['records']): SourceRecord[] {
  const now = Date.now()
  return records.map(({ key, value, headers, timestamp }, index) => ({
    partition: 0,
    offset: BigInt(index),
    timestamp: BigInt(timestamp === undefined ? now : Date.parse(timestamp)),
    record: {
      offsetDelta: 0,
      timestampDelta: 0n,
      key: key === null ? null : Buffer.from(key),
      value: value === null || value === undefined ? null : frame(0, JSON.stringify(value)),
      headers: Object.entries(headers).map(([name, text]): [string, Buffer] => [name, Buffer.from(text)]),
    },
  }))
}
