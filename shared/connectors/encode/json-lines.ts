/** A value as a line of its own. HOT: nothing is made per record. */
import { reserve, type RowBuffer } from './row-buffer.ts'
import type { RowEncoder } from './row-encoder.ts'

const NULL_LINE = new TextEncoder().encode('null\n')

/** Line breaks in a JSON document are white space between its tokens, never a part of them: a blank stands for them. */
export function createJsonLinesEncoder(): RowEncoder {
  return (source, from, to, into: RowBuffer) => {
    if (from < 0) {
      reserve(into, NULL_LINE.length)
      into.bytes.set(NULL_LINE, into.used)
      into.used += NULL_LINE.length
      return undefined
    }
    reserve(into, to - from + 1)
    const { bytes } = into
    let at = into.used
    for (let i = from; i < to; i++) {
      const byte = source[i]!
      bytes[at++] = byte === 0x0a || byte === 0x0d ? 0x20 : byte
    }
    bytes[at++] = 0x0a
    into.used = at
    return undefined
  }
}
