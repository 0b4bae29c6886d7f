/**
 * Where a walk through a stream continues: the stream's id, and the next offset of each partition as a varint, so that the cursor of a
 * stream with hundreds of partitions still fits into a URL. Opaque to clients.
 */
import { invalidRequest } from '../service-error.ts'
import { readVarint, readVarlong, varlongSize, writeVarint, writeVarlong, type Cursor } from '../../../shared/kafka/protocol/varint.ts'

/** First of a cursor that says how many partitions it knows. Earlier ones began with the length of the id. */
const COUNTED = 0

export function encodeCursor(streamId: string, offsets: readonly bigint[]): string {
  const id = Buffer.from(streamId)
  const size = offsets.reduce((sum, offset) => sum + varlongSize(offset), 20 + id.length)
  const bytes = Buffer.alloc(size)
  let at = writeVarint(bytes, COUNTED, 0)
  at = writeVarint(bytes, offsets.length, at)
  at = writeVarint(bytes, id.length, at)
  at += id.copy(bytes, at)
  for (const offset of offsets) at = writeVarlong(bytes, offset, at)
  return bytes.subarray(0, at).toString('base64url')
}

/** Partitions that the topic has got since are read from their first record. Throws 400 for anything but a cursor of this stream. */
export function decodeCursor(text: string, streamId: string, partitions: number, path = '/query/cursor'): bigint[] {
  try {
    const bytes = Buffer.from(text, 'base64url')
    const cursor: Cursor = { at: 0 }
    const first = readVarint(bytes, cursor)
    const count = first === COUNTED ? readVarint(bytes, cursor) : partitions
    const length = first === COUNTED ? readVarint(bytes, cursor) : first
    const id = bytes.toString('utf8', cursor.at, (cursor.at += length))
    const isKnown = id === streamId && count > 0 && count <= partitions
    const offsets = Array.from({ length: partitions }, (_, partition) => (isKnown && partition < count ? readVarlong(bytes, cursor) : 0n))
    const isSound = isKnown && cursor.at === bytes.length && bytes.toString('base64url') === text
    if (isSound && offsets.every((offset) => offset >= 0n)) return offsets
  } catch {
    // Reported below.
  }
  throw invalidRequest([{ path, message: 'is not a cursor of this stream' }])
}
