/**
 * Whole records as rows: key, value and headers, each preceded by its length as a big-endian int32 (-1 for null), the headers encoded as in
 * a Kafka record. HOT: allocates nothing per record.
 */
import { reasonOf } from '../../errors/reason-of.ts'
import { atOnce } from '../../model/turns.ts'
import { textOfValue } from '../../codecs/codecs.ts'
import { createBlockBuilder, type RecordBlock } from '../record-block.ts'
import type { RefusedRecord, Rows } from '../sink.ts'
import { reserve, type RowBuffer } from './row-buffer.ts'
import type { RowEncoder } from './row-encoder.ts'

function putLength(length: number, into: RowBuffer): void {
  const { bytes } = into
  bytes[into.used++] = (length >>> 24) & 0xff
  bytes[into.used++] = (length >>> 16) & 0xff
  bytes[into.used++] = (length >>> 8) & 0xff
  bytes[into.used++] = length & 0xff
}

function putPart(source: Uint8Array, from: number, to: number, into: RowBuffer): void {
  if (from < 0) return putLength(-1, into)
  putLength(to - from, into)
  const { bytes } = into
  let at = into.used
  for (let i = from; i < to; i++) bytes[at++] = source[i]!
  into.used = at
}

/** Returns an encoder of whole records. It never returns a fault. */
export function createRecordEncoder(): RowEncoder {
  return (source, from, to, into, keyFrom, keyTo, headersFrom, recordEnd) => {
    reserve(into, 12 + Math.max(0, keyTo - keyFrom) + Math.max(0, to - from) + recordEnd - headersFrom)
    putPart(source, keyFrom, keyTo, into)
    putPart(source, from, to, into)
    putPart(source, headersFrom, recordEnd, into)
    return undefined
  }
}

/** Rows without a conversion between two places where `blockSteps` may pause. */
const STEP_ROWS = 64

/** Records with the time of each, in milliseconds. */
export type TimedBlock = { block: RecordBlock; times: Float64Array }

/**
 * Makes a block of the rows, the values converted by `encode`. A record for which `encode` throws an Error is among `faults` instead.
 * Yields where the work may pause.
 */
export function* blockSteps(
  pieces: readonly Rows[],
  encode?: (json: string) => Uint8Array,
): Generator<void, TimedBlock & { faults: RefusedRecord[] }> {
  const faults: RefusedRecord[] = []
  const builder = createBlockBuilder(pieces.reduce((sum, { bytes }) => sum + bytes.length, 0))
  const times = new Float64Array(pieces.reduce((sum, { count }) => sum + count, 0))
  for (const { bytes, count, offsets, times: own } of pieces) {
    const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let at = 0
    const part = (): Uint8Array | null => {
      const length = view.readInt32BE(at)
      at += 4
      if (length < 0) return null
      at += length
      return bytes.subarray(at - length, at)
    }
    for (let row = 0; row < count; row++) {
      const key = part()
      const value = part()
      const headers = part()
      try {
        builder.add(key, value && encode ? encode(textOfValue(value)) : value, headers)
        times[builder.count - 1] = own[row]!
      } catch (error) {
        const message = reasonOf(error)
        faults.push({ offset: BigInt(offsets[row]!), code: 'does_not_fit_schema', message })
      }
      if (encode || row % STEP_ROWS === STEP_ROWS - 1) yield
    }
  }
  return { block: builder.take(), times, faults }
}

/** The block of `blockSteps`, made without a pause. */
export const blockOf = (pieces: readonly Rows[], encode?: (json: string) => Uint8Array) => atOnce(blockSteps(pieces, encode))
