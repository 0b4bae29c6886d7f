/**
 * Where a walk through a stream continues: the stream's id, and the next offset of each partition as a varint, so that the cursor of a
 * stream with hundreds of partitions still fits into a URL. Opaque to clients.
 */
import { invalidRequest } from '../service-error.ts'
import { readVarint, readVarlong, varlongSize, writeVarint, writeVarlong, type Cursor } from '../../../shared/kafka/protocol/varint.ts'

export function encodeCursor(streamId: string, offsets: readonly bigint[]): string {
  const id = Buffer.from(streamId)
  const size = offsets.reduce((sum, offset) => sum + varlongSize(offset), 10 + id.length)
  const bytes = Buffer.alloc(size)
  let at = writeVarint(bytes, id.length, 0)
  at += id.copy(bytes, at)
  for (const offset of offsets) at = writeVarlong(bytes, offset, at)
  return bytes.subarray(0, at).toString('base64url')
}

/** Throws 400 for anything but a cursor of this stream. */
export function decodeCursor(text: string, streamId: string, partitions: number): bigint[] {
  try {
    const bytes = Buffer.from(text, 'base64url')
    const cursor: Cursor = { at: 0 }
    const length = readVarint(bytes, cursor)
    const id = bytes.toString('utf8', cursor.at, (cursor.at += length))
    const offsets = Array.from({ length: partitions }, () => readVarlong(bytes, cursor))
    const isSound = id === streamId && cursor.at === bytes.length && bytes.toString('base64url') === text
    if (isSound && offsets.every((offset) => offset >= 0n)) return offsets
  } catch {
    // Reported below.
  }
  throw invalidRequest([{ path: '/query/cursor', message: 'is not a cursor of this stream' }])
}
