/**
 * Adds metadata of a record to its row: offset, partition and time, and for a table change its operation and commit time. These members
 * come after those of the value. A value that is not an object becomes the member `value`.
 */
import { CHANGE_HEADERS } from '../../model/change-headers.ts'
import { unitsOf } from '../../model/times.ts'
import type { RowMetadata } from '../row-format.ts'
import { createJsonLinesEncoder } from './json-lines.ts'
import { reserve, type RowBuffer } from './row-buffer.ts'
import type { RowEncoder } from './row-encoder.ts'

/** The member of each kind of metadata, with its type as in a stream's schema. */
export const METADATA_FIELDS: Record<RowMetadata, { name: string; type: string }> = {
  offset: { name: '_offset', type: 'integer' },
  partition: { name: '_partition', type: 'integer' },
  timestamp: { name: '_timestamp', type: 'datetime?' },
  op: { name: '_op', type: 'string?' },
  commit_time: { name: '_commit_time', type: 'datetime?' },
}

const text = new TextDecoder()
const encoder = new TextEncoder()
/** End of the year 9999, the last time that is written: a producer may set any 64-bit number. */
const LAST_MS = 253_402_300_799_999

/** The value of the header `name`. The record's headers, their count first, begin at `from`. */
function headerOf(source: Uint8Array, from: number, name: string): string | undefined {
  let at = from
  const varint = (): number => {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = source[at++]!
      value |= (byte & 0x7f) << shift
      if ((byte & 0x80) === 0) return (value >>> 1) ^ -(value & 1)
    }
  }
  let found: string | undefined
  for (let left = varint(); left > 0; left--) {
    const keyBytes = varint()
    const isWanted = keyBytes === name.length && text.decode(source.subarray(at, at + keyBytes)) === name
    at += keyBytes
    const valueBytes = varint()
    if (isWanted && valueBytes >= 0) found = text.decode(source.subarray(at, at + valueBytes))
    if (valueBytes > 0) at += valueBytes
  }
  return found
}

const quotedOrNull = (value: string | undefined): string => (value === undefined ? 'null' : JSON.stringify(value))

function memberOf(
  kind: RowMetadata,
  partition: number,
  offset: number | bigint,
  timeMs: number,
  source: Uint8Array,
  headersFrom: number,
): string {
  if (kind === 'offset') return String(offset)
  if (kind === 'partition') return String(partition)
  if (kind === 'timestamp') return timeMs >= 0 && timeMs <= LAST_MS ? `"${new Date(timeMs).toISOString()}"` : 'null'
  if (kind === 'op') return quotedOrNull(headerOf(source, headersFrom, CHANGE_HEADERS.op))
  const commitTime = headerOf(source, headersFrom, CHANGE_HEADERS.commitTime)
  // Any producer may write a header of that name, so it must hold a valid time.
  return quotedOrNull(unitsOf(commitTime, 6) === undefined ? undefined : commitTime)
}

const NULL = encoder.encode('null')

/** Returns an encoder of JSON lines that adds a member for each kind of metadata, in the order given. */
export function createMetadataEncoder(metadata: readonly RowMetadata[]): RowEncoder {
  const encodeLine = createJsonLinesEncoder()

  function put(bytes: Uint8Array, into: RowBuffer): void {
    reserve(into, bytes.length)
    into.bytes.set(bytes, into.used)
    into.used += bytes.length
  }

  return (source, from, to, into, keyFrom, keyTo, headersFrom, recordEnd, offset, timeMs) => {
    const start = into.used
    const { partition: at, offset: place } = into.originOf?.(offset) ?? { partition: into.partition, offset }
    const fault = encodeLine(source, from, to, into, keyFrom, keyTo, headersFrom, recordEnd, offset, timeMs)
    if (fault) return fault
    const members = metadata
      .map((kind) => `"${METADATA_FIELDS[kind].name}":${memberOf(kind, at, place, timeMs, source, headersFrom)}`)
      .join(',')
    const isBlank = (at: number): boolean => into.bytes[at] === 0x20 || into.bytes[at] === 0x09 || into.bytes[at] === 0x0a
    let first = start
    while (first < into.used && isBlank(first)) first++
    let last = into.used - 1
    while (last > first && isBlank(last)) last--
    if (into.bytes[first] === 0x7b && into.bytes[last] === 0x7d) {
      let before = last - 1
      while (isBlank(before)) before--
      into.used = last
      put(encoder.encode(`${before > first ? ',' : ''}${members}}\n`), into)
    } else {
      const value = first > last ? NULL : into.bytes.slice(first, last + 1)
      into.used = start
      put(encoder.encode('{"value":'), into)
      put(value, into)
      put(encoder.encode(`,${members}}\n`), into)
    }
    return undefined
  }
}
