/**
 * Finds the members of one JSON object (RFC 8259) in bytes without making anything: where each wanted member's value lies and of what
 * sort it is. It checks what it has to walk over; what it leaves unchecked (the inside of nested values, the digits of a number) is
 * checked by whoever takes the bytes.
 * HOT: nothing is made per record.
 */

/** Sorts of values. ABSENT: the object has no such member. ESCAPED: a string with escapes in it. Strings lie between their quotes. */
export const ABSENT = 0
export const NULL = 1
export const LITERAL = 2
export const STRING = 3
export const ESCAPED = 4
export const NESTED = 5

const QUOTE = 0x22
const BACKSLASH = 0x5c

export type MemberScanner = {
  /** By wanted name. */
  starts: Int32Array
  ends: Int32Array
  sorts: Uint8Array
  /** Looks through one document. Answers undefined, or what is wrong with it; `unknown` then names a member nobody wants. */
  scan(source: Uint8Array, from: number, to: number): ScanFault | undefined
  unknown(): string
}

export type ScanFault = 'not_a_json_object' | 'unknown_member'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

/** Behind the string whose first character is at `at`: the place of its closing quote, negative (bitwise) where it has escapes; `NONE` when it does not end. */
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

/** Behind the object or array that starts at `at`; -1 when it does not end. */
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

/** Behind the number or word at `at`; -1 when it is neither. */
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

/** `ignoresUnknown`: members that nobody wants are passed over. Of two members with one name the last counts. */
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

  /** Members mostly come in one order: the one behind the last is tried first. */
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

  /** A name with escapes in it: rare enough to be decoded. */
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
 * Where the `count` elements lie of the array that the document is, or that its member `member` is. The document is known to be JSON with
 * such an array. Throws RangeError where it is not.
 */
export function elementSpans(source: Uint8Array, member: string | undefined, count: number): Int32Array {
  let from = 0
  if (member !== undefined) {
    const scanner = createMemberScanner([member], true)
    if (scanner.scan(source, 0, source.length) !== undefined || scanner.sorts[0] !== NESTED) throw new RangeError('the array is not there')
    from = scanner.starts[0]!
  }
  while (from < source.length && isSpace(source[from]!)) from++
  if (source[from] !== 0x5b) throw new RangeError('the array is not there')
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

/** The text of a string between its quotes. Cold path. Throws SyntaxError when its escapes are none. */
export function unescapeText(source: Uint8Array, from: number, to: number): string {
  return String(JSON.parse(`"${decoder.decode(source.subarray(from, to))}"`))
}
