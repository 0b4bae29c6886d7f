/** The keys of records, whether these were parsed or are only bytes. */
import { parseExactly } from '../../../shared/model/exact-json.ts'
import { ABSENT, createMemberScanner, ESCAPED, NULL, STRING, unescapeText } from '../../../shared/model/json-members.ts'
import { bytesOf, type PushedRecords, type RawRecords } from '../http/raw-records.ts'

/** A string as it is, anything else as JSON, integers with all their digits. `exactly` parses the value again with these. */
function keyOf(value: unknown, exactly: () => unknown): string | null {
  if (value === undefined || value === null) return null
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) return JSON.stringify(exactly())
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The record's key; null if there is none. */
export function keyIn(raw: RawRecords, at: number, field: string | null): string | null {
  const record = raw.values[at]
  const value = field === null || typeof record !== 'object' || record === null ? undefined : (record as Record<string, unknown>)[field]
  return keyOf(value, () => (parseExactly(bytesOf(raw, at).toString('utf8')) as Record<string, unknown>)[field!])
}

/** The same for records whose bytes are known to be JSON: only the key's own value is parsed. */
export function keyReader({ bytes, spans }: PushedRecords, field: string | null): (at: number) => string | null {
  if (field === null) return () => null
  const scanner = createMemberScanner([field], true)
  return (at) => {
    // A record that is no object has no key.
    if (scanner.scan(bytes, spans[2 * at]!, spans[2 * at + 1]!) !== undefined) return null
    const sort = scanner.sorts[0]!
    const [from, to] = [scanner.starts[0]!, scanner.ends[0]!]
    if (sort === ABSENT || sort === NULL) return null
    if (sort === ESCAPED) return unescapeText(bytes, from, to)
    const text = bytes.toString('utf8', from, to)
    return sort === STRING ? text : keyOf(JSON.parse(text), () => parseExactly(text))
  }
}
