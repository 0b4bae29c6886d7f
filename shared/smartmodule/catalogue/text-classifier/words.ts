/** Words of a text in UTF-8: letters and digits of any script, with the spaces and signs between them. */
import { putCodePoint } from 'dps/text'

/** FNV-1a hash of the token that `nextToken` found in [p, end); that returns the first byte after it, 0 when there is none. */
export let token: u64 = 0
/** True when punctuation precedes the token: a negation does not reach across it. */
export let afterPause: bool = false
export function nextToken(p: usize, end: usize): usize {
  afterPause = false
  while (p < end) {
    let length = signLength(p)
    if (length == 0) length = silentLength(p)
    else if (isPause(p, length)) afterPause = true
    if (length == 0) break
    p += length
  }
  if (p >= end) return 0
  let hash: u64 = 0xcbf29ce484222325
  while (p < end) {
    let c: u32 = load<u8>(p)
    if (c == 39 || c >= 128) {
      const silent = silentLength(p)
      if (silent > 0) {
        p += silent
        continue
      }
    }
    if (signLength(p) > 0) break
    if (c - 65 < 26) c |= 32
    else if (c >= 0xc3 && c <= 0xe1) {
      const length: usize = c < 0xe0 ? 2 : 3
      if (p + length > end) break
      const code = length == 2 ? ((c & 31) << 6) | last(p, 1) : ((c & 15) << 12) | (last(p, 1) << 6) | last(p, 2)
      const stop = putCodePoint(LETTER, unchecked(LOWER[code]))
      for (let q = LETTER; q < stop; q++) hash = (hash ^ (load<u8>(q) as u64)) * 0x100000001b3
      p += length
      continue
    }
    hash = (hash ^ (c as u64)) * 0x100000001b3
    p++
  }
  token = hash == 0 ? 1 : hash
  return p
}

/**
 * The length in bytes of a character at `p` that words leave out; 0 for any other. These are apostrophes ("don't", "don’t" and "dont" are
 * one word), soft hyphens and zero-width joiners.
 */
function silentLength(p: usize): usize {
  const c: u32 = load<u8>(p)
  if (c == 39) return 1
  if (c == 0xc2) return load<u8>(p, 1) == 0xad ? 2 : 0
  if (c != 0xe2 || load<u8>(p, 1) != 0x80) return 0
  const last: u32 = load<u8>(p, 2)
  return last == 0x99 || last == 0x8c || last == 0x8d ? 3 : 0
}

/** How many bytes the sign or space at `p` has; 0 for a part of a word. */
// @ts-ignore: decorator
@inline
function signLength(p: usize): usize {
  const c: u32 = load<u8>(p)
  if (c < 128) return c - 48 < 10 || (c | 32) - 97 < 26 || c == 39 ? 0 : 1
  return c == 0xc2 || c == 0xc3 || c == 0xe2 || c == 0xe3 || c == 0xef ? wideSignLength(p, c) : 0
}

/** The same beyond ASCII: Latin-1, U+2000 to U+206F, U+3000 to U+303F, and the wide forms of ASCII's signs. */
function wideSignLength(p: usize, c: u32): usize {
  const second: u32 = load<u8>(p, 1)
  if (c == 0xc2) {
    // ª, µ, º, ², ³, ¹ and fractions are letters and digits; a soft hyphen is in a word.
    const isWord = second == 0xaa || second == 0xad || second == 0xb5 || second - 0xb2 < 2 || second - 0xb9 < 2 || second - 0xbc < 3
    return isWord ? 0 : 2
  }
  if (c == 0xc3) return second == 0x97 || second == 0xb7 ? 2 : 0
  const code = ((c & 15) << 12) | ((second & 63) << 6) | ((load<u8>(p, 2) as u32) & 63)
  if (c == 0xe2) return code < 0x2070 && silentLength(p) == 0 ? 3 : 0
  if (c == 0xe3) {
    // Signs of repetition and old numerals are written like letters.
    const isWord = code >= 0x3040 || code - 0x3005 < 3 || (code >= 0x3021 && code != 0x3030 && code < 0x303d)
    return isWord ? 0 : 3
  }
  const isSign = code == 0xfeff || code - 0xff01 < 15 || code - 0xff1a < 7 || code - 0xff3b < 6 || code - 0xff5b < 11
  return isSign ? 3 : 0
}

/** Whether the sign at `p` parts sentences, or what is said before and after it: . , ; : ! ? and their like, dashes and an ellipsis. */
function isPause(p: usize, length: usize): bool {
  const c: u32 = load<u8>(p)
  if (length == 1) return c == 44 || c == 46 || c == 59 || c == 58 || c == 33 || c == 63
  if (length == 2) return false
  const code = ((c & 15) << 12) | (((load<u8>(p, 1) as u32) & 63) << 6) | ((load<u8>(p, 2) as u32) & 63)
  if (code < 0x3000) return code - 0x2013 < 3 || code == 0x2026
  if (code < 0xff00) return code - 0x3001 < 2
  return code == 0xff01 || code == 0xff0c || code == 0xff0e || code - 0xff1a < 2 || code == 0xff1f || code == 0xff61 || code == 0xff64
}

/** The six bits of a byte that continues a character. */
// @ts-ignore: decorator
@inline
function last(p: usize, offset: usize): u32 { return (load<u8>(p + offset) as u32) & 63 }

/** The lower case of each letter below U+2000, where it is one character: of Latin, Greek, Cyrillic, Armenian and Georgian letters. */
const LOWER = lowerCases()
function lowerCases(): StaticArray<u16> {
  const table = new StaticArray<u16>(0x2000)
  for (let code = 0; code < table.length; code++) {
    const lower = String.fromCharCode(code).toLowerCase()
    table[code] = (lower.length == 1 ? lower.charCodeAt(0) : code) as u16
  }
  // The sigma at a word's end is the same letter, whose capital is that of every sigma.
  table[0x3c2] = 0x3c3
  return table
}
/** Room for the bytes of one letter. */
const LETTER = memory.data(8)
