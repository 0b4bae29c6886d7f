/** ABI 1: turns records sections into `Record`s and back. Authors use only `Config` and `emit`; the generated entry calls the rest. */
import { fromBase64 } from './base64'
import { Config } from './config'
import { Kind } from './json'
import { NOTED_MEMBER_BYTES, UNKNOWN_MEMBERS, membersSize, writeMembers } from './last-document'
import { textOf } from './text'
import { Path } from './path'
import { Record, Writer, copyFast } from './record'
import { put, sizeOf, sizeOfField, varintAt, varlongAt, varlongSizeAt } from './varints'

const record = new Record()
const out = new Writer()
const errors = new Writer()
const result: usize = heap.alloc(36)
let input: usize = 0
let inputCapacity: i32 = 0
let inputPrefix: i32 = 0
/** The output prefix, with slack after it for `copyFast`. */
let prefixPtr: usize = heap.alloc(32)
let prefixLength: i32 = 0
let json: bool = true
let initText: usize = 0
let outCount: i32 = 0
/** Bytes of records seen since the last collection; garbage grows in proportion to them. */
let seenBytes: i32 = 0
/** A collection takes as long as a hundred records, so it is rare, except where little memory is left. */
const COLLECT_BYTES: i32 = 2 << 20
const COLLECT_SOON_BYTES: i32 = 512 << 10
const LARGE_PAGES: i32 = 512
const RECORD_COST: i32 = 256
let collectAt: i32 = COLLECT_BYTES
/** The memory's pages at the last collection: where it has grown since, garbage has filled it, or a buffer is larger. */
let pages: i32 = memory.size()
let errorCount: i32 = 0
/** The members of the next batch's records, if the step before has written them. */
let membersIn: usize = 0
let membersInCapacity: i32 = 0
let membersInLength: i32 = 0
/** Those of the output's, if the next step wants them. */
const membersOut = new Writer()
let writesMembers: bool = false
/** Whether the author's function leaves its records' bytes alone. */
let isReadOnly: bool = false
/** Whether the records of the batch may have other bytes by now than those that the host has. */
let isTouched: bool = false
/**
 * What may be made of one record, all that came of the same source record together: the host takes no more of a batch (SMARTMODULE_LIMITS),
 * and would end the instance. Counted per source record, a record fails whatever stands beside it.
 */
const OUTPUT_PER_INPUT: usize = 16
const OUTPUT_EXTRA: usize = 1 << 20
/** The length of the output that the current record may reach. */
let outMost: usize = 0
/**
 * Kept records that lie side by side in the input, and are the end of the output: they are copied together, or, where they are all of it,
 * not at all.
 */
let keptFrom: usize = 0
let keptTo: usize = 0
/** The same of what the step before has written about their members. */
let keptMembersFrom: usize = 0
let keptMembersTo: usize = 0
/** Whether the output's prefix is as long as the input's, so that it can take its place. */
let isSameFrame: bool = false
/** The current record as it came: the whole, its value without the prefix, and what the step before wrote about it, if anything. */
let cameFrom: usize = 0
let cameTo: usize = 0
let valueFrom: usize = 0
let valueTo: usize = 0
let notedFrom: usize = 0
let notedTo: usize = 0
/** Set while a record is being handled, for `emit`. */
let emitDelta: i32 = 0
let emitTime: i64 = 0
let emitBase: i64 = 0
let emitHeaders: usize = 0
let emitHeadersEnd: usize = 0

export function alloc(length: i32): usize {
  if (length > inputCapacity) {
    if (input != 0) heap.free(input)
    inputCapacity = length + (length >> 2) + 1024
    // The JSON scanner reads 16 bytes at a time.
    input = heap.alloc(inputCapacity + 32)
  }
  return input
}

/** Room for the members that the step before has written for the records of the next batch. */
export function takeMembers(length: i32): usize {
  if (length > membersInCapacity) {
    if (membersIn != 0) heap.free(membersIn)
    membersInCapacity = length + (length >> 2) + 1024
    // They are read 8 bytes at a time.
    membersIn = heap.alloc(membersInCapacity + 16)
  }
  membersInLength = length
  return membersIn
}

/** `author` is the author's `init`, which may refuse the config. Returns 0, or a pointer to the error text (u32 length, UTF-8). */
export function init(ptr: usize, length: i32, author: (config: Config) => void): usize {
  record.start = ptr
  record.end = ptr + length
  record.failure = null
  const config = new Config(record)
  if (!record.parse()) return say('the host sent an init document that is not JSON')
  const prefix = record.find(new Path('input_prefix_length'))
  inputPrefix = prefix.kind == Kind.Number ? (I32.parseInt(String.UTF8.decodeUnsafe(prefix.start, prefix.end - prefix.start)) as i32) : 0
  const suffix = record.find(new Path('output_prefix'))
  const output = suffix.kind == Kind.String ? fromBase64(textOf(suffix.start, suffix.end)) : new ArrayBuffer(0)
  prefixLength = output.byteLength
  prefixPtr = heap.alloc(prefixLength + 32)
  memory.copy(prefixPtr, changetype<usize>(output), prefixLength)
  const format = record.find(new Path('input_format'))
  json = format.kind != Kind.String || textOf(format.start, format.end) == 'json'
  writesMembers = record.find(new Path('writes_members')).kind == Kind.True
  author(config)
  return config.error === null ? 0 : say(config.error!)
}

function say(message: string): usize {
  const text = String.UTF8.encode(message)
  if (initText != 0) heap.free(initText)
  initText = heap.alloc(4 + text.byteLength)
  store<u32>(initText, text.byteLength)
  memory.copy(initText + 4, changetype<usize>(text), text.byteLength)
  return initText
}

function collect(): void {
  // @ts-ignore: a function of the runtime, which has no types
  __collect()
  seenBytes = 0
  pages = memory.size()
  collectAt = pages > LARGE_PAGES ? COLLECT_SOON_BYTES : COLLECT_BYTES
}

/** Tells the SDK of much garbage that the current record has left, so that it is collected before the next one. */
export function leftGarbage(bytes: i32): void { seenBytes += bytes }

/** What an author's function did with the record. */
export const enum Outcome { Keep, Drop, Changed }

/** Adds an output record with this JSON document as its value; for a few outputs per record, as its text is made anew each time. */
export function emitJson(json: string): void {
  const bytes = String.UTF8.encode(json)
  emit(changetype<usize>(bytes), changetype<usize>(bytes) + bytes.byteLength)
}

/** For `init` of a built-in that never writes to a record's own bytes: the host need not look whether it has. */
export function leavesBytes(): void { isReadOnly = true }

/** Whether so many bytes can still be made of the current record; beyond them `failTooLarge` is to be called. */
export function fits(length: usize): bool { return outputLength() + length <= outMost }

// @ts-ignore: decorator
@inline
function outputLength(): usize { return out.length + (keptTo - keptFrom) }

/** Takes back what was added since the output was `length` bytes and its members `lengthOfMembers`. */
function takeBack(length: usize, lengthOfMembers: usize): void {
  if (out.length > length) out.at = out.start + length
  keptTo = keptFrom + (length - out.length)
  if (membersOut.length > lengthOfMembers) membersOut.at = membersOut.start + lengthOfMembers
  keptMembersTo = keptMembersFrom + (lengthOfMembers - membersOut.length)
}

/** Adds the current record with the value that came, without a copy where nothing else has changed: its bytes must stay as they are. */
export function passOn(): void {
  if (!isSameFrame || record.isRekeyed || record.isRetimed || record.hasNewHeaders) return emit(valueFrom, valueTo)
  if (!fits(cameTo - cameFrom)) return failTooLarge()
  if (!hasPrefix(valueFrom - inputPrefix)) {
    memory.copy(valueFrom - inputPrefix, prefixPtr, inputPrefix)
    isTouched = true
  }
  keep(cameFrom, cameTo)
  if (!writesMembers) return
  if (notedTo > notedFrom) keepMembers(notedFrom, notedTo)
  else noteMembers(valueFrom, valueTo)
}

/** Whether the bytes at `at` are the output's prefix, of the input prefix's length. Some bytes: a loop beats a call. */
// @ts-ignore: decorator
@inline
function hasPrefix(at: usize): bool {
  for (let i = 0; i < inputPrefix; i++) if (load<u8>(at + i) != load<u8>(prefixPtr + i)) return false
  return true
}

/** Adds the record [from, to) of the input to the output, unchanged. */
// @ts-ignore: decorator
@inline
function keep(from: usize, to: usize): void {
  if (from != keptTo) {
    copyKept()
    keptFrom = from
  }
  keptTo = to
  outCount++
}

/** Copies the kept records to the output, so that something can be added behind them. */
// @ts-ignore: decorator
@inline
function copyKept(): void {
  if (keptFrom == keptTo) return
  out.bytes(keptFrom, keptTo - keptFrom)
  keptFrom = keptTo = 0
}

/** The same for what is known of a kept record's members: [from, to), as the step before has written it. */
// @ts-ignore: decorator
@inline
function keepMembers(from: usize, to: usize): void {
  if (from != keptMembersTo) {
    copyKeptMembers()
    keptMembersFrom = from
  }
  keptMembersTo = to
}

// @ts-ignore: decorator
@inline
function copyKeptMembers(): void {
  if (keptMembersFrom == keptMembersTo) return
  membersOut.bytes(keptMembersFrom, keptMembersTo - keptMembersFrom)
  keptMembersFrom = keptMembersTo = 0
}

export const TOO_LARGE = 'what is made of the record is larger than 16 times the record and 1 MiB'
export function failTooLarge(): void { record.fail(TOO_LARGE) }

/** Adds an output record with the current record's key and headers and the value [start, end); fails the record where that is too much. */
export function emit(start: usize, end: usize): void {
  const prefix = prefixLength
  const valueLength = prefix + ((end - start) as i32)
  const keyLength = record.keyLength
  const from = record.hasNewHeaders ? record.newHeaders.start : emitHeaders
  const headers = (record.hasNewHeaders ? record.newHeaders.length : emitHeadersEnd - emitHeaders) as i32
  const time = record.isRetimed ? record.timestamp - emitBase : emitTime
  const body = 1 + sizeOf(time) + sizeOf(emitDelta) + sizeOf(keyLength) + (keyLength > 0 ? keyLength : 0) + sizeOf(valueLength) + valueLength + headers
  if (!fits((body + sizeOf(body)) as usize)) return failTooLarge()
  copyKept()
  out.room(body + 8)
  let to = put(out.at, body)
  store<u8>(to++, 0)
  to = put(to, time)
  to = put(to, emitDelta)
  to = put(to, keyLength)
  if (keyLength > 0) {
    copyFast(to, record.keyStart, keyLength)
    to += keyLength
  }
  to = put(to, valueLength)
  copyFast(to, prefixPtr, prefix)
  to += prefix
  copyFast(to, start, end - start)
  to += end - start
  copyFast(to, from, headers)
  out.at = to + headers
  outCount++
  // An author's own bytes may have been parsed before they were written again.
  const isRecords = start == record.start && end == record.end
  if (writesMembers) noteMembers(isRecords ? start : 0, isRecords ? end : 0)
}

/** Tells the next step where the members of the output record's value [start, end) are. */
function noteMembers(start: usize, end: usize): void {
  copyKeptMembers()
  membersOut.room(membersSize())
  membersOut.at = writeMembers(start, end, membersOut.at)
}

function failRecord(ordinal: i32): void {
  const text = String.UTF8.encode(record.failure!)
  errors.room(12 + text.byteLength)
  store<u32>(errors.at, ordinal)
  store<u32>(errors.at, record.failureCode, 4)
  store<u32>(errors.at, text.byteLength, 8)
  memory.copy(errors.at + 12, changetype<usize>(text), text.byteLength)
  errors.at += 12 + text.byteLength
  errorCount++
}

/** Runs the author's function over a records section. Returns the result block. */
export function process(ptr: usize, length: i32, count: i32, partition: i32, baseOffset: i64, baseTimestamp: i64, logAppendTime: bool, author: (record: Record) => Outcome): usize {
  out.clear()
  errors.clear()
  membersOut.clear()
  keptFrom = keptTo = keptMembersFrom = keptMembersTo = 0
  let noted = membersIn
  const notedEnd = membersIn + (membersInLength as usize)
  membersInLength = 0
  outCount = 0
  errorCount = 0
  record.partition = partition
  emitBase = baseTimestamp
  let p = ptr
  isSameFrame = prefixLength == inputPrefix
  isTouched = !isReadOnly
  for (let i = 0; i < count; i++) {
    // Between records only globals hold references: the only safe moment to collect an author's garbage.
    if (seenBytes > collectAt || memory.size() != pages) collect()
    const from = p
    let field = varintAt(p)
    const size = field as i32
    seenBytes += size + RECORD_COST
    p += sizeOfField(field)
    const next = p + (size as usize)
    p++
    field = varintAt(p)
    // Most times differ from the batch's by less than 14 bits.
    const isShort = field >>> 32 <= 2
    emitTime = isShort ? ((field as i32) as i64) : varlongAt(p)
    p += isShort ? sizeOfField(field) : varlongSizeAt(p)
    field = varintAt(p)
    if (i == 0 || (field as i32) != emitDelta) outMost = outputLength() + OUTPUT_EXTRA
    emitDelta = field as i32
    outMost += ((next - from) as usize) * OUTPUT_PER_INPUT
    p += sizeOfField(field)
    field = varintAt(p)
    const keyLength = field as i32
    p += sizeOfField(field)
    record.keyLength = keyLength
    record.keyStart = p
    if (keyLength > 0) p += keyLength
    field = varintAt(p)
    const valueLength = field as i32
    const value = p + sizeOfField(field)
    p = next
    let members = UNKNOWN_MEMBERS
    let membersAt: usize = 0
    notedFrom = noted
    if (noted + 2 <= notedEnd) {
      members = load<u16>(noted)
      membersAt = noted + 2
      noted = members == UNKNOWN_MEMBERS ? membersAt : membersAt + (members as usize) * NOTED_MEMBER_BYTES
      if (noted > notedEnd) members = UNKNOWN_MEMBERS
    }
    notedTo = members == UNKNOWN_MEMBERS ? notedFrom : noted
    cameFrom = from
    cameTo = next
    if (valueLength < 0) {
      // A tombstone passes unchanged: dropping it would leave the deleted key alive in a compacted topic.
      keep(from, next)
      if (writesMembers) noteMembers(0, 0)
      continue
    }
    emitHeaders = value + valueLength
    emitHeadersEnd = next
    record.headersStart = emitHeaders
    record.reset()
    record.failure = null
    record.timestamp = logAppendTime ? baseTimestamp : baseTimestamp + emitTime
    record.offset = baseOffset + emitDelta
    record.start = valueFrom = value + inputPrefix
    record.end = valueTo = value + valueLength
    // A length, not an address: growing may move the writer's memory.
    const before = outputLength()
    const beforeCount = outCount
    const beforeMembers = membersOut.length + (keptMembersTo - keptMembersFrom)
    let outcome = Outcome.Drop
    if (inputPrefix > 0 && (valueLength < inputPrefix || load<u8>(value) != 0)) record.fail('the value does not start with the schema registry prefix (magic byte 0)', 3)
    else if (!json || (members != UNKNOWN_MEMBERS && record.know(membersAt, members)) || record.parse()) outcome = author(record)
    if (record.failure === null) {
      const isValue = record.start == valueFrom && record.end == valueTo
      if (outcome == Outcome.Keep || (outcome == Outcome.Changed && isValue)) passOn()
      else if (outcome == Outcome.Changed) emit(record.start, record.end)
    }
    // Also by `emit` just now.
    if (record.failure !== null) {
      takeBack(before, beforeMembers)
      outCount = beforeCount
      failRecord(i)
    }
  }
  const isOneRun = out.length == 0 && keptTo > keptFrom
  const isSame = isOneRun && !isTouched && keptFrom == ptr && keptTo == ptr + (length as usize)
  if (!isOneRun) copyKept()
  const areMembersOneRun = membersOut.length == 0 && keptMembersTo > keptMembersFrom
  if (!areMembersOneRun) copyKeptMembers()
  store<u32>(result, (isOneRun ? keptFrom : out.start) as u32)
  store<u32>(result, (isOneRun ? keptTo - keptFrom : out.length) as u32, 4)
  store<u32>(result, outCount, 8)
  store<u32>(result, errors.start as u32, 12)
  store<u32>(result, errors.length as u32, 16)
  store<u32>(result, errorCount, 20)
  store<u32>(result, (areMembersOneRun ? keptMembersFrom : membersOut.start) as u32, 24)
  store<u32>(result, (areMembersOneRun ? keptMembersTo - keptMembersFrom : membersOut.length) as u32, 28)
  store<u32>(result, isSame ? 1 : 0, 32)
  return result
}
