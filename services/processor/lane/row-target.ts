/** Encodes a chain's rows in the format of its sink. HOT: no allocations per record. */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { createRowBuffer, dropRows, endRow, keepRows, type RowBuffer } from '../../../shared/connectors/encode/row-buffer.ts'
import { createRowEncoder, type RowEncoder } from '../../../shared/connectors/encode/row-encoder.ts'
import { createRecordEncoder } from '../../../shared/connectors/encode/whole-records.ts'
import { openCodec, textOfValue } from '../../../shared/codecs/codecs.ts'
import type { LaneChain } from './messages.ts'
import type { RowTarget } from '../../../shared/smartmodule/host/rows.ts'

/** Bytes that a batch of one record takes besides its key, value and headers: the batch header and the record's lengths. */
const AROUND_BYTES = 61 + 40

/** A sink stream with non-JSON values gets whole records with encoded values; this path does allocate per record. */
function encoderOf({ rows, sinkCodec, sinkRecordBytesMax }: LaneChain): RowEncoder | undefined {
  if (rows) return createRowEncoder(rows)
  if (!sinkCodec) return undefined
  const codec = openCodec(sinkCodec.format, sinkCodec.schema)
  const put = createRecordEncoder()
  return (source, from, to, into, keyFrom, keyTo, headersFrom, recordEnd, offset, timeMs) => {
    let value: Buffer | undefined
    try {
      if (from >= 0) value = codec.fromJson(textOfValue(source.subarray(from, to)))
    } catch (error) {
      return { code: `not_${sinkCodec.format}`, message: reasonOf(error) }
    }
    // Puts key, value and headers side by side again, as the encoder of whole records expects.
    const key = source.subarray(Math.max(0, keyFrom), Math.max(0, keyTo))
    const headers = source.subarray(headersFrom, recordEnd)
    const record = Buffer.concat([key, value ?? Buffer.alloc(0), headers])
    if (record.length + AROUND_BYTES > sinkRecordBytesMax)
      return { code: 'record_too_large', message: `the record is larger than the sink's limit of ${sinkRecordBytesMax} bytes` }
    const valueFrom = key.length
    const headersAt = valueFrom + (value?.length ?? 0)
    return put(
      record,
      value ? valueFrom : -1,
      value ? headersAt : -1,
      into,
      keyFrom < 0 ? -1 : 0,
      keyFrom < 0 ? -1 : key.length,
      headersAt,
      record.length,
      offset,
      timeMs,
    )
  }
}

/** Undefined for a chain whose sink takes batches as they are. */
export function openRowTarget(spec: LaneChain): { rows: RowTarget; buffer: RowBuffer } | undefined {
  const encode = encoderOf(spec)
  if (!encode) return undefined
  const buffer = createRowBuffer()
  return {
    buffer,
    rows: {
      isForTopic: !spec.rows,
      add(source, from, to, offset, timeMs, keyFrom, keyTo, headersFrom, end) {
        const before = buffer.used
        const fault = encode(source, from, to, buffer, keyFrom, keyTo, headersFrom, end, offset, timeMs)
        if (fault) buffer.used = before
        else endRow(buffer, offset, timeMs)
        return fault
      },
      keep: () => keepRows(buffer),
      drop: () => dropRows(buffer),
    },
  }
}
