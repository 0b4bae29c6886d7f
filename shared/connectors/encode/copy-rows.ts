/**
 * JSON documents as rows of Postgres' COPY in text format (https://www.postgresql.org/docs/current/sql-copy.html, "Text Format"): fields
 * separated by tabs, `\N` for null, backslash escapes. HOT: allocates nothing per record.
 */
import type { RowFormat } from '../row-format.ts'
import { ABSENT, ESCAPED, LITERAL, NESTED, NULL, STRING, createMemberScanner } from '../../model/json-members.ts'
import { reserve, type RowBuffer } from './row-buffer.ts'
import type { RowEncoder } from './row-encoder.ts'
import { LONE_SURROGATE, NOT_AN_OBJECT, type RowFault } from './row-faults.ts'

const BACKSLASH = 0x5c
const PLAIN = 0
const JSON_KIND = 1
const BYTES_KIND = 2

const NUL: RowFault = { code: 'nul_character', message: 'the value holds the character U+0000, which Postgres text cannot contain' }
const TOMBSTONE: RowFault = { code: 'null_value', message: 'the record has no value, so there is no row to write' }
const BAD_ESCAPE: RowFault = { code: 'not_a_json_object', message: 'a string in the value contains an invalid JSON escape' }

/**
 * Returns an encoder of JSON values as COPY rows, each ended by a line feed. It returns a fault for a value that the columns can't take.
 */
export function createCopyEncoder(format: Extract<RowFormat, { kind: 'copy' }>): RowEncoder {
  const { columns, isWhole, ignoresUnknown, deletes } = format
  if (isWhole) return encodeWhole
  const kinds = Uint8Array.from(columns, ({ kind }) => (kind === 'json' ? JSON_KIND : kind === 'bytes' ? BYTES_KIND : PLAIN))
  const scanner = createMemberScanner(
    columns.map(({ name }) => name),
    ignoresUnknown,
  )
  const absent = columns.map((column) => new TextEncoder().encode(column.absent))
  const absentBytes = absent.reduce((sum, { length }) => sum + length, 0)
  const { starts, ends, sorts } = scanner
  return (source, valueFrom, valueTo, into, keyFrom, keyTo) => {
    const isDeleted = valueFrom < 0
    if (isDeleted && (!deletes || keyFrom < 0)) return TOMBSTONE
    const from = isDeleted ? keyFrom : valueFrom
    const to = isDeleted ? keyTo : valueTo
    const fault = scanner.scan(source, from, to)
    if (fault === 'unknown_member')
      return { code: 'unknown_column', message: `the table has no column for the member "${scanner.unknown()}"` }
    if (fault) return NOT_AN_OBJECT
    // Each byte becomes at most two bytes; a byte of base64 text becomes fewer.
    reserve(into, (to - from) * 2 + columns.length * 5 + absentBytes + 4)
    for (let column = 0; column < kinds.length; column++) {
      if (column > 0) into.bytes[into.used++] = 0x09
      const sort = sorts[column]!
      if (sort === ABSENT && !isDeleted) {
        into.bytes.set(absent[column]!, into.used)
        into.used += absent[column]!.length
      } else if (sort === NULL || sort === ABSENT) {
        into.bytes[into.used++] = BACKSLASH
        into.bytes[into.used++] = 0x4e
      } else {
        const wrong = putValue(source, starts[column]!, ends[column]!, sort, kinds[column]!, into)
        if (wrong) return wrong
      }
    }
    if (deletes) {
      into.bytes[into.used++] = 0x09
      into.bytes[into.used++] = isDeleted ? 0x74 : 0x66
    }
    into.bytes[into.used++] = 0x0a
    return undefined
  }
}

function putValue(source: Uint8Array, start: number, end: number, sort: number, kind: number, into: RowBuffer): RowFault | undefined {
  const isText = sort === STRING || sort === ESCAPED
  if (kind === JSON_KIND) {
    // The document unchanged; a string keeps its quotes.
    putRaw(source, isText ? start - 1 : start, isText ? end + 1 : end, into)
    return undefined
  }
  if (kind === BYTES_KIND && isText) return putBytes(source, start, end, into)
  if (sort === ESCAPED) return putUnescaped(source, start, end, into)
  if (sort === NESTED) {
    putRaw(source, start, end, into)
    return undefined
  }
  if (sort === STRING || sort === LITERAL) {
    const { bytes } = into
    let at = into.used
    for (let i = start; i < end; i++) bytes[at++] = source[i]!
    into.used = at
  }
  return undefined
}

/** Writes JSON text with backslashes doubled, and line breaks and tabs (white space between tokens) as spaces. */
function putRaw(source: Uint8Array, start: number, end: number, into: RowBuffer): void {
  const { bytes } = into
  let at = into.used
  for (let i = start; i < end; i++) {
    const byte = source[i]!
    if (byte === BACKSLASH) bytes[at++] = BACKSLASH
    bytes[at++] = byte < 0x20 ? 0x20 : byte
  }
  into.used = at
}

function hexOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const lower = byte | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

/** The value of the four hexadecimal digits at `at`, or -1. */
function unitAt(source: Uint8Array, at: number, end: number): number {
  if (at + 4 > end) return -1
  let unit = 0
  for (let i = 0; i < 4; i++) {
    const digit = hexOf(source[at + i]!)
    if (digit < 0) return -1
    unit = unit * 16 + digit
  }
  return unit
}

/** Writes a string with JSON escapes decoded and COPY escapes added. */
function putUnescaped(source: Uint8Array, start: number, end: number, into: RowBuffer): RowFault | undefined {
  for (let i = start; i < end; i++) {
    const byte = source[i]!
    if (byte !== BACKSLASH) {
      into.bytes[into.used++] = byte
      continue
    }
    const escape = source[++i]!
    if (escape !== 0x75) {
      const plain = escape < SIMPLE.length ? SIMPLE[escape]! : 0
      if (plain === 0) return BAD_ESCAPE
      putCharacter(plain, into)
      continue
    }
    let unit = unitAt(source, i + 1, end)
    if (unit < 0) return BAD_ESCAPE
    i += 4
    if (unit >= 0xd800 && unit <= 0xdbff && source[i + 1] === BACKSLASH && source[i + 2] === 0x75) {
      const low = unitAt(source, i + 3, end)
      if (low >= 0xdc00 && low <= 0xdfff) {
        unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)
        i += 6
      }
    }
    if (unit === 0) return NUL
    if (unit >= 0xd800 && unit <= 0xdfff) return LONE_SURROGATE
    putCharacter(unit, into)
  }
  return undefined
}

/** The decoded character by the character after the backslash; 0 for an unknown escape. */
const SIMPLE = new Uint8Array(128)
for (const [escape, plain] of [
  ['"', 0x22],
  ['\\', 0x5c],
  ['/', 0x2f],
  ['b', 0x08],
  ['f', 0x0c],
  ['n', 0x0a],
  ['r', 0x0d],
  ['t', 0x09],
] as const)
  SIMPLE[escape.charCodeAt(0)] = plain

/** Writes a character: as a COPY escape if it would end a field or a row, otherwise in UTF-8. */
function putCharacter(code: number, into: RowBuffer): void {
  const { bytes } = into
  if (code === BACKSLASH || code === 0x0a || code === 0x0d || code === 0x09) {
    bytes[into.used++] = BACKSLASH
    bytes[into.used++] = code === BACKSLASH ? BACKSLASH : code === 0x0a ? 0x6e : code === 0x0d ? 0x72 : 0x74
  } else if (code < 0x80) bytes[into.used++] = code
  else if (code < 0x800) {
    bytes[into.used++] = 0xc0 | (code >> 6)
    bytes[into.used++] = 0x80 | (code & 0x3f)
  } else if (code < 0x10000) {
    bytes[into.used++] = 0xe0 | (code >> 12)
    bytes[into.used++] = 0x80 | ((code >> 6) & 0x3f)
    bytes[into.used++] = 0x80 | (code & 0x3f)
  } else {
    bytes[into.used++] = 0xf0 | (code >> 18)
    bytes[into.used++] = 0x80 | ((code >> 12) & 0x3f)
    bytes[into.used++] = 0x80 | ((code >> 6) & 0x3f)
    bytes[into.used++] = 0x80 | (code & 0x3f)
  }
}

const HEX = new TextEncoder().encode('0123456789abcdef')
const SEXTETS = new Int8Array(128).fill(-1)
for (const [index, character] of [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].entries())
  SEXTETS[character.charCodeAt(0)] = index

const NOT_BASE64: RowFault = { code: 'not_base64', message: 'the value for a bytea column is not base64' }

/**
 * Writes base64 (RFC 4648 §4) as Postgres' hexadecimal form of bytes. Padding is required, and bits that no byte takes must be zero (§3.5):
 * else two texts would stand for the same bytes.
 */
function putBytes(source: Uint8Array, start: number, end: number, into: RowBuffer): RowFault | undefined {
  const { bytes } = into
  bytes[into.used++] = BACKSLASH
  bytes[into.used++] = BACKSLASH
  bytes[into.used++] = 0x78
  let bits = 0
  let have = 0
  let characters = 0
  let i = start
  for (; i < end; i++) {
    let byte = source[i]!
    // "\/" is the only escape that base64 text may contain.
    if (byte === BACKSLASH && (byte = source[++i]!) !== 0x2f) return NOT_BASE64
    if (byte === 0x3d) break
    characters++
    const sextet = byte < 128 ? SEXTETS[byte]! : -1
    if (sextet < 0) return NOT_BASE64
    bits = ((bits << 6) | sextet) & 0xffff
    have += 6
    if (have >= 8) {
      have -= 8
      const value = (bits >> have) & 0xff
      bytes[into.used++] = HEX[value >> 4]!
      bytes[into.used++] = HEX[value & 15]!
    }
  }
  const padding = end - i
  const isPadded = padding <= 2 && (characters + padding) % 4 === 0 && (padding < 2 || source[end - 1] === 0x3d)
  return isPadded && (bits & ((1 << have) - 1)) === 0 ? undefined : NOT_BASE64
}

/** Writes the whole document, of any JSON type, as the only column. */
function encodeWhole(source: Uint8Array, from: number, to: number, into: RowBuffer): RowFault | undefined {
  if (from < 0) return TOMBSTONE
  reserve(into, (to - from) * 2 + 1)
  putRaw(source, from, to, into)
  into.bytes[into.used++] = 0x0a
  return undefined
}
