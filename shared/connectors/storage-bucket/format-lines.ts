/**
 * Lines: JSON documents that pass through unchanged, or text that becomes `{text, object, line}`. Empty lines are not records, nor are
 * blank lines among documents. A byte order mark before the first line is dropped.
 */
import { isUtf8 } from 'node:buffer'
import { REFUSED_VALUE_BYTES, type BlockBuilder } from '../record-block.ts'
import { RECORD_BYTES_MAX } from '../source.ts'
import type { FormatReader } from './format-reader.ts'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const SPACE = 0x20
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

const startsWithMark = (bytes: Buffer, from: number): boolean => BYTE_ORDER_MARK.equals(bytes.subarray(from, from + BYTE_ORDER_MARK.length))

function isBlank(bytes: Buffer, from: number, end: number): boolean {
  for (let at = from; at < end; at++) if (bytes[at]! > SPACE) return false
  return true
}

/** HOT: a line of JSON is copied once, into the block; a line of text goes through `scratch` first. */
export function openLines(object: string, into: BlockBuilder, isText: boolean): FormatReader {
  let rest: Buffer | undefined
  let bytes = 0
  let lines = 0
  /** The current line if it is longer than a record may be: its first bytes, and its length so far. */
  let long: { head: Buffer; bytes: number } | undefined
  const head = Buffer.from('{"text":"')
  const middle = Buffer.from(`","object":${JSON.stringify(object)},"line":`)
  let scratch = Buffer.alloc(64 << 10)

  /** Writes the line into `scratch` after `head`, escaped for a JSON string (RFC 8259 §7); returns where it ends. */
  function escape(line: Buffer): number {
    const room = head.length + line.length * 6 + middle.length + 32
    if (scratch.length < room) scratch = Buffer.alloc(room * 2)
    let at = head.copy(scratch, 0)
    for (let i = 0; i < line.length; i++) {
      const byte = line[i]!
      if (byte === 0x22 || byte === 0x5c) {
        scratch[at++] = 0x5c
        scratch[at++] = byte
      } else if (byte < 0x20) at += scratch.write(`\\u${byte.toString(16).padStart(4, '0')}`, at, 'latin1')
      else scratch[at++] = byte
    }
    return at
  }

  function refuse(line: Buffer): void {
    into.refuse('record_too_large', `line ${lines} of the object ${object} has more than ${RECORD_BYTES_MAX} bytes`, line)
  }

  /** The position moves past a long line only at its end: resumed in its middle, the rest would become a record. */
  function refuseLong(): void {
    lines++
    bytes += long!.bytes
    refuse(long!.head)
    long = undefined
  }

  function addLine(from: Buffer, begin: number, stop: number): void {
    lines++
    const start = lines === 1 && startsWithMark(from, begin) ? begin + BYTE_ORDER_MARK.length : begin
    const end = stop > start && from[stop - 1] === CARRIAGE_RETURN ? stop - 1 : stop
    if (end === start || (!isText && isBlank(from, start, end))) return
    if (end - start > RECORD_BYTES_MAX) return refuse(from.subarray(start, end))
    if (!isText) return into.addValue(from, start, end)
    const line = from.subarray(start, end)
    // Invalid UTF-8 is replaced by U+FFFD: JSON must be UTF-8.
    let at = escape(isUtf8(line) ? line : Buffer.from(line.toString('utf8')))
    at += middle.copy(scratch, at)
    at += scratch.write(`${lines}}`, at, 'latin1')
    into.addValue(scratch, 0, at)
  }

  return {
    canResume: true,
    begin({ b, n }) {
      bytes = b
      lines = n
      return () => ({ b: bytes, n: lines })
    },
    add(chunk) {
      const whole = rest ? Buffer.concat([rest, chunk]) : chunk
      let from = 0
      if (long) {
        const end = whole.indexOf(LINE_FEED)
        from = end < 0 ? whole.length : end + 1
        long.bytes += from
        if (end < 0) return void (rest = undefined)
        refuseLong()
      }
      // The long line's bytes were counted by `refuseLong`.
      const passed = from
      for (let to = whole.indexOf(LINE_FEED, from); to >= 0; to = whole.indexOf(LINE_FEED, from)) {
        addLine(whole, from, to)
        from = to + 1
      }
      bytes += from - passed
      rest = from < whole.length ? whole.subarray(from) : undefined
      if (!rest || rest.length <= RECORD_BYTES_MAX + 1) return
      long = { head: Buffer.from(rest.subarray(0, REFUSED_VALUE_BYTES)), bytes: rest.length }
      rest = undefined
    },
    end() {
      if (long) refuseLong()
      if (!rest) return
      bytes += rest.length
      addLine(rest, 0, rest.length)
      rest = undefined
    },
  }
}
