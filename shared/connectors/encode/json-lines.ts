/** Writes each value as one line. HOT: allocates nothing per record. */
import { isSpace } from '../../model/json-text.ts'
import { reserve, type RowBuffer } from './row-buffer.ts'
import type { RowEncoder } from './row-encoder.ts'

const NULL_LINE = new TextEncoder().encode('null\n')
/** End of the line of a record without a value; the members of its key come before it. */
const DELETED = new TextEncoder().encode('"_deleted":true}\n')

/** Writes a JSON document with its line breaks as spaces: in JSON they occur only between tokens. */
function putLine(source: Uint8Array, from: number, to: number, into: RowBuffer): void {
  // One more byte, for the end of the line.
  reserve(into, to - from + 1)
  const { bytes } = into
  let at = into.used
  for (let i = from; i < to; i++) {
    const byte = source[i]!
    bytes[at++] = byte === 0x0a || byte === 0x0d ? 0x20 : byte
  }
  into.used = at
}

function put(bytes: Uint8Array, into: RowBuffer): void {
  reserve(into, bytes.length)
  into.bytes.set(bytes, into.used)
  into.used += bytes.length
}

/** `{"id":1}` becomes `{"id":1,"_deleted":true}`; a key that is not an object becomes `null`. */
function putDeleted(source: Uint8Array, keyFrom: number, keyTo: number, into: RowBuffer): void {
  let last = keyTo - 1
  while (last > keyFrom && isSpace(source[last]!)) last--
  if (keyFrom < 0 || source[keyFrom] !== 0x7b || source[last] !== 0x7d) return put(NULL_LINE, into)
  putLine(source, keyFrom, last, into)
  let before = last - 1
  while (before > keyFrom && isSpace(source[before]!)) before--
  if (before > keyFrom) into.bytes[into.used++] = 0x2c
  put(DELETED, into)
}

/** Returns an encoder of JSON values as lines, each ended by a line feed. It never returns a fault. */
export function createJsonLinesEncoder(): RowEncoder {
  return (source, from, to, into, keyFrom, keyTo) => {
    if (from < 0) putDeleted(source, keyFrom, keyTo, into)
    else {
      putLine(source, from, to, into)
      into.bytes[into.used++] = 0x0a
    }
    return undefined
  }
}
