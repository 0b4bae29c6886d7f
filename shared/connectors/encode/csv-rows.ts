/** JSON objects as delimited fields (RFC 4180). Allocates per record only to decode strings with escapes. */
import type { RowFormat } from '../row-format.ts'
import { ABSENT, ESCAPED, NULL, STRING, createMemberScanner, unescapeText } from '../../model/json-members.ts'
import { reserve, type RowBuffer } from './row-buffer.ts'
import type { RowEncoder } from './row-encoder.ts'
import { LONE_SURROGATE, NOT_AN_OBJECT } from './row-faults.ts'

const QUOTE = 0x22

/** Returns an encoder of JSON objects as CSV rows, each ended by CR LF. Null and absent members become empty fields. */
export function createCsvEncoder({ columns, delimiter }: Extract<RowFormat, { kind: 'csv' }>): RowEncoder {
  const scanner = createMemberScanner(columns, true)
  const apart = delimiter.charCodeAt(0)
  const { starts, ends, sorts } = scanner
  const encoder = new TextEncoder()
  return (source, from, to, into) => {
    if (from < 0 || scanner.scan(source, from, to)) return NOT_AN_OBJECT
    reserve(into, (to - from) * 3 + columns.length * 3 + 2)
    for (let column = 0; column < columns.length; column++) {
      if (column > 0) into.bytes[into.used++] = apart
      const sort = sorts[column]!
      if (sort === ABSENT || sort === NULL) continue
      if (sort === ESCAPED) {
        let unescaped: string
        try {
          unescaped = unescapeText(source, starts[column]!, ends[column]!)
        } catch {
          return NOT_AN_OBJECT
        }
        if (!unescaped.isWellFormed()) return LONE_SURROGATE
        const text = encoder.encode(unescaped)
        putField(text, 0, text.length, apart, into)
        // An empty string is quoted, because it differs from a missing one.
      } else if (sort === STRING && starts[column] === ends[column]) {
        into.bytes[into.used++] = QUOTE
        into.bytes[into.used++] = QUOTE
      } else putField(source, starts[column]!, ends[column]!, apart, into)
    }
    into.bytes[into.used++] = 0x0d
    into.bytes[into.used++] = 0x0a
    return undefined
  }
}

function putField(source: Uint8Array, start: number, end: number, apart: number, into: RowBuffer): void {
  let isPlain = true
  for (let i = start; isPlain && i < end; i++) {
    const byte = source[i]!
    isPlain = byte !== QUOTE && byte !== apart && byte !== 0x0a && byte !== 0x0d
  }
  const { bytes } = into
  if (!isPlain) bytes[into.used++] = QUOTE
  for (let i = start; i < end; i++) {
    const byte = source[i]!
    if (byte === QUOTE) bytes[into.used++] = QUOTE
    bytes[into.used++] = byte
  }
  if (!isPlain) bytes[into.used++] = QUOTE
}
