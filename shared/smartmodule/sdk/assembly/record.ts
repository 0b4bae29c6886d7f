/** The record an author's function sees: one object for all records, its bytes valid until the function returns. */
import { Kind, isUtf8, parse, refusal, skipSpace } from './json'
import { forgetMembers, memberCount, readMembers, valueEnd, valueStart } from './last-document'
import { shortestText } from './shortest'
import { escapeTo, escapedLength, integerOf, numberOf, textOf } from './text'
import { Path, Segment, Slice, findMember, findPath } from './path'

/**
 * Copies forward, 16 bytes at a time, up to 15 bytes past the end: both sides must have that slack, and targets must be filled in
 * ascending order, so that the next write replaces the excess. Calling `memory.copy` costs more than copying a short record.
 */
// @ts-ignore: decorator
@inline
export function copyFast(to: usize, from: usize, length: usize): void {
  if (length > 512) {
    memory.copy(to, from, length)
    return
  }
  for (let i: usize = 0; i < length; i += 16) v128.store(to + i, v128.load(from + i))
}
/** Codes of records that fail, which dead letters show as `record_failed` and `field_missing`. */
export const RECORD_FAILED: u32 = 1
export const FIELD_MISSING: u32 = 10

/** From here on a buffer grows by a quarter: an instance's 64 MiB hold few that are twice as large as what is in them. */
const LARGE: usize = 1 << 20
/** From here on the room for a text in JSON is counted, not taken six times as large. */
const LARGE_TEXT: usize = 64 << 10

/** A growing byte buffer; it grows by doubling, until it is large, and is reused from record to record. */
export class Writer {
  start: usize = 0
  at: usize = 0
  /** Up to here it may be written without growing. Behind it are 32 bytes of slack, for copies and scans that work in steps of 16. */
  private stop: usize = 0

  /** Makes room for `more` bytes after `at`. */
  // @ts-ignore: decorator
  @inline
  room(more: usize): void {
    if (this.at + more > this.stop) this.grow(more)
  }
  private grow(more: usize): void {
    const used = this.at - this.start
    const need = used + more
    const capacity = need + (need < LARGE ? need : need >> 2) + 64
    this.start = this.start == 0 ? heap.alloc(capacity + 32) : heap.realloc(this.start, capacity + 32)
    this.stop = this.start + capacity
    this.at = this.start + used
  }
  clear(): void { this.at = this.start }
  get length(): usize { return this.at - this.start }

  bytes(p: usize, length: usize): void {
    this.room(length)
    copyFast(this.at, p, length)
    this.at += length
  }
  // @ts-ignore: decorator
  @inline
  byte(value: u32): void {
    this.room(1)
    store<u8>(this.at++, value as u8)
  }
  /** A JSON string from plain text. */
  text(value: string): void {
    const utf8 = String.UTF8.encode(value)
    this.quoted(changetype<usize>(utf8), utf8.byteLength)
  }
  /** A JSON string from plain UTF-8 bytes. */
  quoted(p: usize, length: usize): void {
    this.room((length < LARGE_TEXT ? length * 6 : escapedLength(p, p + length)) + 2)
    store<u8>(this.at++, 34)
    this.at = escapeTo(p, p + length, this.at)
    store<u8>(this.at++, 34)
  }
}

const EMPTY = new Slice()
const rest = new Writer()

function putVarint(writer: Writer, value: i32): void {
  let zigzag = ((value << 1) ^ (value >> 31)) as u32
  while (zigzag >= 128) {
    writer.byte((zigzag & 127) | 128)
    zigzag >>= 7
  }
  writer.byte(zigzag)
}

function putHeader(writer: Writer, name: usize, nameLength: i32, value: usize, length: i32): void {
  putVarint(writer, nameLength)
  writer.bytes(name, nameLength)
  putVarint(writer, length)
  if (length > 0) writer.bytes(value, length)
}

/** The bytes as a text; `fallback` for a length below 0, and for what is no text. */
function shownText(start: usize, length: i32, fallback: string): string {
  return length >= 0 && isUtf8(start, start + length) ? String.UTF8.decodeUnsafe(start, length) : fallback
}

export class Record {
  /** The value's bytes as they are now (without the registry prefix). */
  start: usize = 0
  end: usize = 0
  /** Kind of the parsed document. */
  kind: Kind = Kind.Missing
  /** Key bytes; `keyLength` is -1 for a null key. */
  keyStart: usize = 0
  keyLength: i32 = -1
  /** Milliseconds since 1970. */
  timestamp: i64 = 0
  partition: i32 = 0
  offset: i64 = 0
  /** The headers as the record has them: their count, then each with its name and value (KIP-82). */
  headersStart: usize = 0
  /** Set by `nextHeader`; the value's length is -1 for a null one. */
  headerStart: usize = 0
  headerLength: i32 = 0
  headerValueStart: usize = 0
  headerValueLength: i32 = -1
  /** What `setKey`, `setTimestamp` and `setHeader` have changed; the SDK writes it. */
  isRekeyed: bool = false
  isRetimed: bool = false
  newHeaders: Writer = new Writer()
  hasNewHeaders: bool = false
  private newKey: Writer = new Writer()
  private headersLeft: i32 = 0
  private headersAt: usize = 0
  /** Set by `fail`. */
  failure: string | null = null
  failureCode: u32 = 0
  private slice: Slice = new Slice()
  private one: Writer = new Writer()
  private other: Writer = new Writer()

  /** The value at a path, valid until the next call; where there is none its kind is `Kind.Missing`, and it has no bytes. */
  find(path: Path): Slice {
    if (this.kind != Kind.Object) return EMPTY
    const slice = this.slice
    // It would have those of the path before, which may be another record's.
    if (!findPath(path, slice)) slice.start = slice.end = 0
    return slice
  }

  /** Whether there is anything at the path, also null. */
  has(path: Path): bool { return this.find(path).kind != Kind.Missing }
  /** The text at the path; `fallback` where there is none. */
  text(path: Path, fallback: string = ''): string {
    const slice = this.find(path)
    return slice.kind == Kind.String ? textOf(slice.start, slice.end) : fallback
  }
  /** The number at the path, as a double; `fallback` (not a number) where there is none. */
  number(path: Path, fallback: f64 = NaN): f64 {
    const slice = this.find(path)
    return slice.kind == Kind.Number ? numberOf(slice.start, slice.end) : fallback
  }
  /** The whole number at the path, with all of its digits; `fallback` where there is none. */
  integer(path: Path, fallback: i64 = 0): i64 {
    const slice = this.find(path)
    return slice.kind == Kind.Number ? integerOf(slice.start, slice.end, fallback) : fallback
  }
  /** True or false at the path; `fallback` where there is neither. */
  bool(path: Path, fallback: bool = false): bool {
    const kind = this.find(path).kind
    return kind == Kind.True ? true : kind == Kind.False ? false : fallback
  }

  /** Fails this record with a message: it becomes a dead letter (or what the policy says), and the other records go on. */
  fail(message: string, code: u32 = RECORD_FAILED): void {
    this.failure = message
    this.failureCode = code
  }

  /** Forgets what was changed of the record before. */
  reset(): void {
    // The record before may have been at the same place.
    forgetMembers()
    this.isRekeyed = this.isRetimed = this.hasNewHeaders = false
  }

  /** Gives the record these bytes as its key. A pipeline whose records should go to their keys' partitions says `changes_keys`. */
  setKey(p: usize, length: usize): void {
    this.newKey.clear()
    this.newKey.bytes(p, length)
    this.keyStart = this.newKey.start
    this.keyLength = length as i32
    this.isRekeyed = true
  }

  /** The same by a text. */
  setKeyText(text: string): void {
    const bytes = String.UTF8.encode(text)
    this.setKey(changetype<usize>(bytes), bytes.byteLength)
  }

  /** The key as a text; `fallback` where there is none, or it is no text. */
  keyText(fallback: string = ''): string { return shownText(this.keyStart, this.keyLength, fallback) }

  /** Gives the record a time, in milliseconds since 1970. */
  setTimestamp(ms: i64): void {
    this.timestamp = ms
    this.isRetimed = true
  }

  /** Adds a header; with a name that the record has, in the place of all of its values. */
  setHeader(name: string, p: usize, length: usize): void {
    const own = String.UTF8.encode(name)
    const ownStart = changetype<usize>(own)
    const ownLength = own.byteLength
    rest.clear()
    let count = 1
    this.openHeaders()
    while (this.nextHeader()) {
      if (this.headerLength == ownLength && memory.compare(this.headerStart, ownStart, ownLength) == 0) continue
      putHeader(rest, this.headerStart, this.headerLength, this.headerValueStart, this.headerValueLength)
      count++
    }
    putHeader(rest, ownStart, ownLength, p, length as i32)
    this.newHeaders.clear()
    putVarint(this.newHeaders, count)
    this.newHeaders.bytes(rest.start, rest.length)
    this.headersStart = this.newHeaders.start
    this.hasNewHeaders = true
  }

  /** The same by a text. */
  setHeaderText(name: string, text: string): void {
    const bytes = String.UTF8.encode(text)
    this.setHeader(name, changetype<usize>(bytes), bytes.byteLength)
  }

  /** The value of the last header of this name as a text; `fallback` where there is none, or it is no text. */
  headerText(name: string, fallback: string = ''): string {
    const own = String.UTF8.encode(name)
    let found = fallback
    this.openHeaders()
    while (this.nextHeader()) {
      const isIt = this.headerLength == own.byteLength && memory.compare(this.headerStart, changetype<usize>(own), own.byteLength) == 0
      if (isIt) found = shownText(this.headerValueStart, this.headerValueLength, fallback)
    }
    return found
  }

  /** Starts with the first header; then `while (record.nextHeader())`. */
  openHeaders(): void {
    this.headersAt = this.headersStart
    this.headersLeft = this.varint()
  }

  nextHeader(): bool {
    if (this.headersLeft <= 0) return false
    this.headersLeft--
    this.headerLength = this.varint()
    this.headerStart = this.headersAt
    this.headersAt += this.headerLength
    this.headerValueLength = this.varint()
    this.headerValueStart = this.headersAt
    if (this.headerValueLength > 0) this.headersAt += this.headerValueLength
    return true
  }

  private varint(): i32 {
    let result: u32 = 0
    for (let shift: u32 = 0; ; shift += 7) {
      const byte: u32 = load<u8>(this.headersAt++)
      result |= (byte & 127) << shift
      if (byte < 128) break
    }
    return ((result >>> 1) as i32) ^ -((result & 1) as i32)
  }

  /** Whether these bytes, of a key or a header, are text: keys and headers may be anything. */
  isText(start: usize, length: i32): bool { return isUtf8(start, start + length) }

  /** A writer for a whole new value; call `commit` when it is complete. */
  writer(): Writer {
    const target = this.start == this.one.start ? this.other : this.one
    target.clear()
    return target
  }

  /** Makes the writer's bytes the record's value. */
  commit(writer: Writer): void {
    this.start = writer.start
    this.end = writer.at
    // Until it is parsed; another writer's bytes may have been at the same place.
    forgetMembers()
  }

  /** Replaces (or adds) one top-level member by splicing bytes: `value` is a complete JSON value. */
  setBytes(name: Segment, value: usize, length: usize): void {
    if (this.kind != Kind.Object) {
      this.fail('the value is not a JSON object')
      return
    }
    let at = findMember(name)
    const writer = this.writer()
    let from: usize = 0
    if (at >= 0) {
      writer.bytes(this.start, valueStart(at) - this.start)
      from = writer.length
      writer.bytes(value, length)
      writer.bytes(valueEnd(at), this.end - valueEnd(at))
    } else {
      let close = this.end - 1
      while (load<u8>(close) != 125) close--
      writer.bytes(this.start, close - this.start)
      if (memberCount > 0) writer.byte(44)
      writer.quoted(changetype<usize>(name.bytes), name.bytes.byteLength)
      writer.byte(58)
      from = writer.length
      writer.bytes(value, length)
      writer.byte(125)
      at = memberCount
    }
    this.commit(writer)
    if (!this.parse()) return
    // What is no single value may look like one together with its surroundings: `1,"b":2` would be another member.
    const start = skipSpace(this.start + from, this.end)
    let end = this.start + from + length
    while (end > start && skipSpace(end - 1, end) == end) end--
    if (at >= memberCount || valueStart(at) != start || valueEnd(at) != end) this.fail('what is set is not one JSON value')
  }

  /** Replaces (or adds) one top-level member by a text. */
  setText(name: Segment, text: string): void {
    scratch.clear()
    scratch.text(text)
    this.setBytes(name, scratch.start, scratch.length)
  }

  /** The same by a number; one that JSON does not have (not a number, infinite) fails the record. */
  setNumber(name: Segment, value: f64): void {
    if (!isFinite(value)) {
      this.fail('JSON has no number ' + value.toString())
      return
    }
    this.setJson(name, shortestText(value))
  }
  setInteger(name: Segment, value: i64): void { this.setJson(name, value.toString()) }
  setBool(name: Segment, value: bool): void { this.setJson(name, value ? 'true' : 'false') }
  setNull(name: Segment): void { this.setJson(name, 'null') }
  /** The same by a JSON document, which must be one: what is none fails the record. */
  setJson(name: Segment, json: string): void {
    const bytes = String.UTF8.encode(json)
    this.setBytes(name, changetype<usize>(bytes), bytes.byteLength)
  }

  /** Takes over where the value's members are, as the step before has found them; false where that can't be. */
  know(members: usize, count: u32): bool {
    if (!readMembers(members, count as i32, this.start, this.end)) return false
    this.kind = Kind.Object
    return true
  }

  /** Parses the value as it is now. False when it is not one complete JSON document (the record has failed then). */
  parse(): bool {
    this.kind = parse(this.start, this.end)
    if (this.kind != Kind.Missing) return true
    this.fail(refusal, 2)
    return false
  }
}

const scratch = new Writer()
