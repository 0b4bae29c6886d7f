/** A chain's rows, encoded as its sink wants them. HOT: nothing is made per record. */
import { createRowBuffer, dropRows, endRow, keepRows, type RowBuffer } from '../../../shared/connectors/encode/row-buffer.ts'
import { createRowEncoder } from '../../../shared/connectors/encode/row-encoder.ts'
import type { RowFormat } from '../../../shared/connectors/row-format.ts'
import type { RowTarget } from '../../../shared/smartmodule/host/rows.ts'

export function openRowTarget(format: RowFormat): { rows: RowTarget; buffer: RowBuffer } {
  const buffer = createRowBuffer()
  const encode = createRowEncoder(format)
  return {
    buffer,
    rows: {
      add(source, from, to, offset, keyFrom, keyTo, headersFrom, end) {
        const before = buffer.used
        const fault = encode(source, from, to, buffer, keyFrom, keyTo, headersFrom, end)
        if (fault) buffer.used = before
        else endRow(buffer, offset)
        return fault
      },
      keep: () => keepRows(buffer),
      drop: () => dropRows(buffer),
    },
  }
}
