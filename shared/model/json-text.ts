/**
 * Whether bytes are JSON (RFC 8259), without making values of them: JSON.parse takes ten to forty times as long for a text of many small
 * values, and holds the thread meanwhile.
 */

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39

const TRUE = Buffer.from('true')
const FALSE = Buffer.from('false')
const NULL = Buffer.from('null')

/** Whether the byte may stand between tokens. */
export const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE

/** What may follow a backslash, other than `u`: " \ / b f n r t */
const ESCAPES = new Set([0x22, 0x5c, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74])
const isHex = (byte: number | undefined): boolean =>
  byte !== undefined && ((byte >= ZERO && byte <= NINE) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66))

/** Index after the string whose first character is at `at`; -1 if it is none. */
function stringEnd(source: Uint8Array, at: number, to: number): number {
  for (let i = at; i < to; i++) {
    const byte = source[i]!
    if (byte === QUOTE) return i + 1
    if (byte < 0x20) return -1
    if (byte !== BACKSLASH) continue
    const escape = source[++i]!
    if (escape === 0x75) {
      if (i + 4 >= to || !isHex(source[i + 1]) || !isHex(source[i + 2]) || !isHex(source[i + 3]) || !isHex(source[i + 4])) return -1
      i += 4
    } else if (i >= to || !ESCAPES.has(escape)) return -1
  }
  return -1
}

/** Index after the digits at `at`; -1 if there are none. */
function digitsEnd(source: Uint8Array, at: number, to: number): number {
  let i = at
  while (i < to && isDigit(source[i])) i++
  return i === at ? -1 : i
}

/** Index after the number at `at`; -1 if it is none. */
function numberEnd(source: Uint8Array, at: number, to: number): number {
  let i = source[at] === MINUS ? at + 1 : at
  if (i < to && source[i] === ZERO) i++
  else i = digitsEnd(source, i, to)
  if (i > 0 && i < to && source[i] === 0x2e) i = digitsEnd(source, i + 1, to)
  if (i > 0 && i < to && (source[i]! | 0x20) === 0x65) {
    i++
    if (i < to && (source[i] === 0x2b || source[i] === MINUS)) i++
    i = digitsEnd(source, i, to)
  }
  return i
}

function wordEnd(source: Uint8Array, at: number, to: number, word: Uint8Array): number {
  if (at + word.length > to) return -1
  for (let i = 1; i < word.length; i++) if (source[at + i] !== word[i]) return -1
  return at + word.length
}

/** Index after the string, number or word at `at`; -1 if it is none. */
function scalarEnd(source: Uint8Array, at: number, to: number): number {
  const byte = source[at]
  if (byte === QUOTE) return stringEnd(source, at + 1, to)
  if (byte === 0x74) return wordEnd(source, at, to, TRUE)
  if (byte === 0x66) return wordEnd(source, at, to, FALSE)
  if (byte === 0x6e) return wordEnd(source, at, to, NULL)
  return byte === MINUS || isDigit(byte) ? numberEnd(source, at, to) : -1
}

function afterSpace(source: Uint8Array, at: number, to: number): number {
  let i = at
  while (i < to && isSpace(source[i])) i++
  return i
}

/** Where the value of the member begins whose name is at `at`; -1 if there is none. */
function memberValue(source: Uint8Array, at: number, to: number): number {
  if (at >= to || source[at] !== QUOTE) return -1
  const end = stringEnd(source, at + 1, to)
  if (end < 0) return -1
  const colon = afterSpace(source, end, to)
  return colon < to && source[colon] === COLON ? afterSpace(source, colon + 1, to) : -1
}

/** By depth, whether it is an object (1) or an array (0) that is open; a deeper document gets one of its own. */
const KINDS = new Uint8Array(4096)

/**
 * How deep the document in these bytes nests: 0 for a text, number or word, 1 for an array of such; -1 if the bytes are not one JSON
 * document. For an array, `elements` gets the start and end of each element. Takes what JSON.parse takes, on bytes that are UTF-8.
 */
export function jsonDepth(source: Uint8Array, from = 0, to = source.length, elements?: number[]): number {
  let kinds = KINDS
  let [depth, deepest] = [0, 0]
  let at = afterSpace(source, from, to)
  for (;;) {
    // A value begins here.
    if (at < 0 || at >= to) return -1
    if (elements !== undefined && depth === 1 && kinds[0] === 0) elements.push(at)
    const first = source[at]!
    let end: number
    if (first === OPEN_ARRAY || first === OPEN_OBJECT) {
      const isObject = first === OPEN_OBJECT
      if (depth === kinds.length) {
        const wider = new Uint8Array(depth * 2)
        wider.set(kinds)
        kinds = wider
      }
      kinds[depth++] = isObject ? 1 : 0
      if (depth > deepest) deepest = depth
      at = afterSpace(source, at + 1, to)
      if (at >= to) return -1
      if (source[at] !== (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) {
        if (isObject) at = memberValue(source, at, to)
        continue
      }
      depth--
      end = at + 1
    } else {
      end = scalarEnd(source, at, to)
      if (end < 0) return -1
    }
    // A value has ended: what is around it goes on, or ends too.
    for (;;) {
      if (elements !== undefined && depth === 1 && kinds[0] === 0) elements.push(end)
      at = afterSpace(source, end, to)
      if (depth === 0) return at === to ? deepest : -1
      if (at >= to) return -1
      const isObject = kinds[depth - 1] === 1
      if (source[at] === COMMA) {
        at = afterSpace(source, at + 1, to)
        if (isObject) at = memberValue(source, at, to)
        break
      }
      if (source[at] !== (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) return -1
      depth--
      end = at + 1
    }
  }
}
