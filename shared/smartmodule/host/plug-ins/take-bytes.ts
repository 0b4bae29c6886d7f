/** Reads what a plug-in wrote, which may claim any length. */
import type { Cursor } from '../../../kafka/protocol/varint.ts'

/** The bytes at the cursor, which moves past them. Throws RangeError for a length that is negative or runs past the end. */
export function takeBytes(bytes: Buffer, cursor: Cursor, length: number): Buffer {
  if (length < 0 || length > bytes.length - cursor.at) throw new RangeError('a length is negative or runs past the end')
  const taken = bytes.subarray(cursor.at, cursor.at + length)
  cursor.at += length
  return taken
}
