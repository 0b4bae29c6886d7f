/** Encoders that turn one record into a row of a format of `row-format.ts`. */
import { isSpace } from '../../model/json-text.ts'
import type { RowFormat } from '../row-format.ts'
import { createCopyEncoder } from './copy-rows.ts'
import { createCsvEncoder } from './csv-rows.ts'
import { createRecordEncoder } from './whole-records.ts'
import { createJsonLinesEncoder } from './json-lines.ts'
import { createMetadataEncoder } from './row-metadata.ts'
import { NOT_AN_OBJECT, type RowFault } from './row-faults.ts'
import type { RowBuffer } from './row-buffer.ts'

/**
 * Appends the value at `[from, to)` of `source` to `into` without ending the row. Returns the fault of a record that makes no row; some of
 * its bytes may have been written. `from` is -1 for a null value, `keyFrom` -1 for no key. `offset` and `timeMs` are the record's.
 */
export type RowEncoder = (
  source: Uint8Array,
  from: number,
  to: number,
  into: RowBuffer,
  keyFrom: number,
  keyTo: number,
  headersFrom: number,
  recordEnd: number,
  offset: number,
  timeMs: number,
) => RowFault | undefined

/** Returns the encoder for a row format. */
export function createRowEncoder(format: RowFormat): RowEncoder {
  if (format.kind === 'copy') return createCopyEncoder(format)
  if (format.kind === 'records') return createRecordEncoder()
  if (format.kind === 'csv') return createCsvEncoder(format)
  const encode = format.metadata ? createMetadataEncoder(format.metadata) : createJsonLinesEncoder()
  return format.onlyObjects ? onlyObjects(encode) : encode
}

function onlyObjects(encode: RowEncoder): RowEncoder {
  return (source, from, to, ...rest) => {
    let at = from
    while (at >= 0 && at < to && isSpace(source[at])) at++
    return from < 0 || at >= to || source[at] !== 0x7b ? NOT_AN_OBJECT : encode(source, from, to, ...rest)
  }
}
