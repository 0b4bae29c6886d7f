/** Records that come with a request, and how a trace shows what is not deployed. */
import type { ModuleTest } from '../../../../shared/api/smartmodules.ts'
import { frame } from '../../../../shared/model/framing.ts'
import { ABSENT, createMemberScanner, elementSpans, ESCAPED, STRING } from '../../../../shared/model/json-members.ts'
import { ON_ERROR_DEFAULT } from '../../../../shared/model/policies.ts'
import type { SourceRecord } from '../../trace/trace.ts'

/** The name in a trace of a step without a SmartModule. */
export const UNDEPLOYED = { module_id: '', version: '', on_error: ON_ERROR_DEFAULT, changes_keys: false }

/**
 * The values of a body's `records` as they are written, the empty text where a record has none: a SmartModule sees the bytes that it would
 * see in a topic. The body was parsed before.
 */
export function valueTexts(body: string, count: number): string[] {
  const bytes = Buffer.from(body)
  const spans = elementSpans(bytes, 'records', count)
  const scanner = createMemberScanner(['value'], true)
  return Array.from({ length: count }, (_, index) => {
    scanner.scan(bytes, spans[2 * index]!, spans[2 * index + 1]!)
    const sort = scanner.sorts[0]
    // Strings are found between their quotes.
    const quote = sort === STRING || sort === ESCAPED ? 1 : 0
    return sort === ABSENT ? '' : bytes.toString('utf8', scanner.starts[0]! - quote, scanner.ends[0]! + quote)
  })
}

/** Records of a request as a topic would hold them; `texts`: their values as they are written. */
export function givenRecords(records: ModuleTest['records'], texts: readonly string[] = []): SourceRecord[] {
  const now = Date.now()
  return records.map(({ key, value, headers, timestamp }, index) => ({
    partition: 0,
    offset: BigInt(index),
    timestamp: BigInt(timestamp === undefined ? now : Date.parse(timestamp)),
    record: {
      offsetDelta: 0,
      timestampDelta: 0n,
      key: key === null ? null : Buffer.from(key),
      value: value === null || value === undefined ? null : frame(0, texts[index] ?? JSON.stringify(value)),
      headers: Object.entries(headers).map(([name, text]): [string, Buffer] => [name, Buffer.from(text)]),
    },
  }))
}
