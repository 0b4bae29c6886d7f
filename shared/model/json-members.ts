/**
 * Finds the members of one JSON object (RFC 8259) in bytes without allocating: the location and sort of each wanted member's value. It
 * validates what it has to walk over. The rest (the inside of nested values, the digits of a number) is left to the consumer of the bytes
 * to validate.
 * HOT: allocates nothing per record.
 */
import { isSpace } from './json-text.ts'

/** Sort of a value: the object has no such member. */
export const ABSENT = 0
/** Sort of a value: null. */
export const NULL = 1
/** Sort of a value: a number, true or false. */
export const LITERAL = 2
/** Sort of a value: a string without escapes; it is located between its quotes. */
export const STRING = 3
/** Sort of a value: a string with escapes; it is located between its quotes. */
export const ESCAPED = 4
/** Sort of a value: an object or an array. */
export const NESTED = 5

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Locates the wanted members of one document after the other. */
export type MemberScanner = {
  /** Start of each value in the scanned bytes, by index of the wanted name; valid unless its sort is ABSENT. */
  starts: Int32Array
  ends: Int32Array
  sorts: Uint8Array
  /** Scans one document. Returns undefined or its fault; after `unknown_member`, `unknown` returns the name of that member. */
  scan(source: Uint8Array, from: number, to: number): ScanFault | undefined
  unknown(): string
}

/** Why a document could not be scanned. */
export type ScanFault = 'not_a_json_object' | 'unknown_member'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/**
 * Index of the closing quote of the string whose first character is at `at`, bitwise negated if the string has escapes; `NONE` if it does
 * not end.
 */
function closingQuote(source: Uint8Array, at: number, to: number): number {
  let isEscaped = false
  for (let i = at; i < to; i++) {
    const byte = source[i]!
    if (byte === QUOTE) return isEscaped ? ~i : i
    if (byte === BACKSLASH) {
      isEscaped = true
      i++
    } else if (byte < 0x20) return NONE
  }
  return NONE
}
const NONE = -0x80000000

/** Index after the object or array that starts at `at`; -1 if it does not end. */
function nestedEnd(source: Uint8Array, at: number, to: number): number {
  let depth = 0
  for (let i = at; i < to; i++) {
    const byte = source[i]!
    if (byte === QUOTE) {
      const quote = closingQuote(source, i + 1, to)
      if (quote === NONE) return -1
      i = quote < 0 ? ~quote : quote
    } else if (byte === 0x7b || byte === 0x5b) depth++
    else if ((byte === 0x7d || byte === 0x5d) && --depth === 0) return i + 1
  }
  return -1
}

/** Index after the number, `true`, `false` or `null` at `at`; -1 if there is none. */
function literalEnd(source: Uint8Array, at: number, to: number): number {
  let i = at
  for (; i < to; i++) {
    const byte = source[i]!
    if (byte === 0x2c || byte === 0x7d || isSpace(byte)) break
  }
  const length = i - at
  const first = source[at]!
  if (first === 0x2d || (first >= 0x30 && first <= 0x39)) {
    for (let each = at; each < i; each++) {
      const byte = source[each]!
      const isDigit = byte >= 0x30 && byte <= 0x39
      if (!isDigit && byte !== 0x2e && byte !== 0x2d && byte !== 0x2b && byte !== 0x65 && byte !== 0x45) return -1
    }
    return i
  }
  return isWord(source, at, length, TRUE) || isWord(source, at, length, FALSE) || isWord(source, at, length, NULL_WORD) ? i : -1
}

const TRUE = encoder.encode('true')
const FALSE = encoder.encode('false')
const NULL_WORD = encoder.encode('null')

function isWord(source: Uint8Array, at: number, length: number, word: Uint8Array): boolean {
  if (length !== word.length) return false
  for (let i = 0; i < length; i++) if (source[at + i] !== word[i]) return false
  return true
}

/** Returns a scanner for the members `names`. `ignoresUnknown`: skips other members. If a member occurs twice, the last one counts. */
export function createMemberScanner(names: readonly string[], ignoresUnknown: boolean): MemberScanner {
  const wanted = names.map((name) => encoder.encode(name))
  const starts = new Int32Array(names.length)
  const ends = new Int32Array(names.length)
  const sorts = new Uint8Array(names.length)
  const byLength = Map.groupBy(wanted.keys(), (index) => wanted[index]!.length)
  let next = 0
  let unknownFrom = 0
  let unknownTo = 0
  let last: Uint8Array = new Uint8Array()

  /** Members usually come in the same order, so the one after the last is tried first. */
  function find(source: Uint8Array, from: number, length: number): number {
    if (next < wanted.length && isWord(source, from, length, wanted[next]!)) return next++
    const candidates = byLength.get(length)
    if (candidates === undefined) return -1
    for (let i = 0; i < candidates.length; i++) {
      const index = candidates[i]!
      if (isWord(source, from, length, wanted[index]!)) {
        next = index + 1
        return index
      }
    }
    return -1
  }

  /** A name with escapes is rare enough to be decoded. */
  function findEscaped(source: Uint8Array, from: number, to: number): number {
    try {
      return names.indexOf(unescapeText(source, from, to))
    } catch {
      return -1
    }
  }

  return {
    starts,
    ends,
    sorts,
    unknown: () => decoder.decode(last.subarray(unknownFrom, unknownTo)),
    scan(source, from, to) {
      sorts.fill(ABSENT)
      next = 0
      let i = from
      while (i < to && isSpace(source[i]!)) i++
      if (source[i] !== 0x7b || i >= to) return 'not_a_json_object'
      i++
      for (let isFirst = true; ; isFirst = false) {
        while (i < to && isSpace(source[i]!)) i++
        if (isFirst && i < to && source[i] === 0x7d) break
        if (i >= to || source[i] !== QUOTE) return 'not_a_json_object'
        const name = i + 1
        const quote = closingQuote(source, name, to)
        if (quote === NONE) return 'not_a_json_object'
        const nameEnd = quote < 0 ? ~quote : quote
        const index = quote < 0 ? findEscaped(source, name, nameEnd) : find(source, name, nameEnd - name)
        if (index < 0 && !ignoresUnknown) {
          last = source
          unknownFrom = name
          unknownTo = nameEnd
          return 'unknown_member'
        }
        i = nameEnd + 1
        while (i < to && isSpace(source[i]!)) i++
        if (i >= to || source[i] !== 0x3a) return 'not_a_json_object'
        i++
        while (i < to && isSpace(source[i]!)) i++
        if (i >= to) return 'not_a_json_object'
        const byte = source[i]!
        let start = i
        let end: number
        let sort: number
        if (byte === QUOTE) {
          start = i + 1
          const closing = closingQuote(source, start, to)
          if (closing === NONE) return 'not_a_json_object'
          end = closing < 0 ? ~closing : closing
          sort = closing < 0 ? ESCAPED : STRING
          i = end + 1
        } else if (byte === 0x7b || byte === 0x5b) {
          end = nestedEnd(source, i, to)
          if (end < 0) return 'not_a_json_object'
          sort = NESTED
          i = end
        } else {
          end = literalEnd(source, i, to)
          if (end < 0) return 'not_a_json_object'
          sort = byte === 0x6e ? NULL : LITERAL
          i = end
        }
        if (index >= 0) {
          starts[index] = start
          ends[index] = end
          sorts[index] = sort
        }
        while (i < to && isSpace(source[i]!)) i++
        if (i >= to) return 'not_a_json_object'
        if (source[i] === 0x2c) i++
        else if (source[i] === 0x7d) break
        else return 'not_a_json_object'
      }
      for (i++; i < to; i++) if (!isSpace(source[i]!)) return 'not_a_json_object'
      return undefined
    },
  }
}

/**
 * Returns start and end of each of the `count` elements of an array, which is the document itself or its member `member`. The document must
 * be valid JSON with such an array. Throws RangeError when it has none.
 */
export function elementSpans(source: Uint8Array, member: string | undefined, count: number): Int32Array {
  let from = 0
  if (member !== undefined) {
    const scanner = createMemberScanner([member], true)
    if (scanner.scan(source, 0, source.length) !== undefined || scanner.sorts[0] !== NESTED) throw new RangeError('the array is missing')
    from = scanner.starts[0]!
  }
  while (from < source.length && isSpace(source[from]!)) from++
  if (source[from] !== 0x5b) throw new RangeError('the array is missing')
  const spans = new Int32Array(count * 2)
  let at = from + 1
  for (let index = 0; index < count; index++) {
    while (at < source.length && (isSpace(source[at]!) || source[at] === 0x2c)) at++
    const byte = source[at]!
    let end: number
    if (byte === QUOTE) {
      const closing = closingQuote(source, at + 1, source.length)
      end = closing === NONE ? -1 : (closing < 0 ? ~closing : closing) + 1
    } else if (byte === 0x7b || byte === 0x5b) end = nestedEnd(source, at, source.length)
    else for (end = at; end < source.length && !isSpace(source[end]!) && source[end] !== 0x2c && source[end] !== 0x5d;) end++
    if (end < 0 || end <= at) throw new RangeError('an element does not end')
    spans[2 * index] = at
    spans[2 * index + 1] = end
    at = end
  }
  return spans
}

/** Returns the decoded text of a string, given the bytes between its quotes. Cold path. Throws SyntaxError when an escape is invalid. */
export function unescapeText(source: Uint8Array, from: number, to: number): string {
  return String(JSON.parse(`"${decoder.decode(source.subarray(from, to))}"`))
}
