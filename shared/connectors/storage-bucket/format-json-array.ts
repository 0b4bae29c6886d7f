/**
 * One JSON array whose elements are the records, or documents one after another. Elements pass through unchanged. An array that is not
 * closed, or has something after it, is malformed: missing records must not go unnoticed.
 */
import { isSpace } from '../../model/json-text.ts'
import type { BlockBuilder } from '../record-block.ts'
import { RECORD_BYTES_MAX } from '../source.ts'
import { ObjectMalformed, type FormatReader } from './format-reader.ts'

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/**
 * Walks the bytes, tracking the depth and whether it is in a string. It can also start inside an array: the bytes between two elements
 * (blanks, a comma, the brackets of the array itself) hold nothing that it needs.
 */
export function openJsonArray(object: string, into: BlockBuilder): FormatReader {
  let rest: Buffer | undefined
  let bytes = 0
  let records = 0
  /** Nesting depth in the current element; 0 between elements. */
  let depth = 0
  let isString = false
  let isEscaped = false
  let isScalar = false
  /** The whole array is between `array` and `closed`. Unknown for a position that an earlier version has written. */
  let state: 'start' | 'documents' | 'array' | 'closed' | 'unknown' = 'start'
  /** Where the current element starts, and how far the bytes were walked: indexes into `rest` followed by the next chunk. */
  let start = -1
  let walked = 0

  /** A byte between two elements that begins none: true where it belongs there. */
  function isBetween(byte: number): boolean {
    if (isSpace(byte) || (state === 'start' && BYTE_ORDER_MARK.includes(byte))) return true
    if (state === 'closed') throw new ObjectMalformed(`something follows the array of the object ${object}`)
    if (state === 'start' && byte === 0x5b) {
      state = 'array'
      return true
    }
    if (byte === 0x5d) {
      if (state !== 'array' && state !== 'unknown') throw new ObjectMalformed(`the object ${object} closes an array that was not opened`)
      state = 'closed'
      return true
    }
    if (byte === 0x2c) return true
    if (state === 'start') state = 'documents'
    return false
  }

  function close(whole: Buffer, end: number): void {
    if (end - start > RECORD_BYTES_MAX)
      into.refuse(
        'record_too_large',
        `element ${records + 1} of the object ${object} has ${end - start} bytes; a record may have at most ${RECORD_BYTES_MAX}`,
        whole.subarray(start, end),
      )
    else into.addValue(whole, start, end)
    records++
    start = -1
    isScalar = false
  }

  function walk(whole: Buffer): number {
    let done = 0
    for (let i = walked; i < whole.length; i++) {
      const byte = whole[i]!
      if (isString) {
        if (isEscaped) isEscaped = false
        else if (byte === 0x5c) isEscaped = true
        else if (byte === 0x22) {
          isString = false
          if (depth === 0) {
            close(whole, i + 1)
            done = i + 1
          }
        }
        continue
      }
      if (isScalar) {
        if (!isSpace(byte) && byte !== 0x2c && byte !== 0x5d) continue
        close(whole, i)
        done = i
      }
      if (depth === 0) {
        if (isBetween(byte)) {
          done = i + 1
          continue
        }
        start = i
        if (byte === 0x22) isString = true
        else if (byte === 0x7b || byte === 0x5b) depth = 1
        else isScalar = true
      } else if (byte === 0x22) isString = true
      else if (byte === 0x7b || byte === 0x5b) depth++
      else if ((byte === 0x7d || byte === 0x5d) && --depth === 0) {
        close(whole, i + 1)
        done = i + 1
      }
    }
    return done
  }

  return {
    canResume: true,
    begin({ b, n, a }) {
      bytes = b
      records = n
      if (b > 0) state = a ?? 'unknown'
      return () => ({ b: bytes, n: records, ...(state === 'unknown' || state === 'start' ? {} : { a: state }) })
    },
    add(chunk) {
      const whole = rest ? Buffer.concat([rest, chunk]) : chunk
      const done = walk(whole)
      bytes += done
      rest = whole.subarray(done)
      walked = rest.length
      if (start >= 0) start -= done
      if (rest.length > RECORD_BYTES_MAX)
        throw new ObjectMalformed(`element ${records + 1} of the object ${object} has more than ${RECORD_BYTES_MAX} bytes`)
    },
    end() {
      // What there is of an element is not passed on: the object is reported as a whole.
      if (state === 'array') throw new ObjectMalformed(`the array of the object ${object} is not closed: the object is truncated`)
      if (!rest) return
      bytes += rest.length
      // A truncated element passes through unchanged: the step or sink that parses it reports it.
      if (start >= 0) close(rest, rest.length)
    },
  }
}
