/** Joins small batches of one partition as if they were one batch: a call per batch would cost more than its records. */
import { copyFast, roomFor, sizeOf, write, zigzag, zigzagLong } from './bytes'
import { sectionPtr } from './kernel'
import { longOf, sizeOfField, sizeOfLong, unzigzag, varintAt } from './reader'

/** Header fields of a batch, as offsets from its start (KIP-98). */
const BATCH_LENGTH: usize = 8
const MAGIC: usize = 16
const ATTRIBUTES: usize = 21
const LAST_OFFSET_DELTA: usize = 23
const BASE_TIMESTAMP: usize = 27
const MAX_TIMESTAMP: usize = 35
const RECORD_COUNT: usize = 57
const HEADER_BYTES: u32 = 61
const CONTROL: u32 = 0x20
/** Compression (bits 0–2) and log-append time (bit 3): such batches are not read here. */
const NOT_PLAIN: u32 = 0x0f

/** A batch with a larger records section is run by itself. */
const SMALL_BYTES: u32 = 16 << 10
/** Largest span of offsets: the kernel keeps a mark for each offset. */
const OFFSETS_MAX: i64 = 65_536
/** Largest distance between timestamps in milliseconds: a producer may write any timestamp. */
const TIME_MAX: i64 = 1 << 40
/** Most bytes that renumbering may add to a record: its length, its deltas, and what copying writes past its end. */
const MORE_PER_RECORD: u32 = 24
const SLACK: u32 = 32

let gatheredPtr: usize = 0
let gatheredCapacity: u32 = 0
let gatheredLength: u32 = 0
let gatheredCount: u32 = 0
/** First offset of the first batch. */
let firstOffset: i64 = 0
let firstTime: i64 = 0
let firstAttributes: u32 = 0
let lastOffset: i64 = 0
let latest: i64 = 0

/** The offset after the batches that `gatherBatches` has passed. */
let passedTo: i64 = 0

export function gatherBegin(): void {
  gatheredLength = 0
  gatheredCount = 0
}
export function gatheredAt(): usize { return gatheredPtr }
export function gatheredBytes(): u32 { return gatheredLength }
export function gatheredRecords(): u32 { return gatheredCount }
export function gatheredFirstOffset(): i64 { return firstOffset }
export function gatheredLastDelta(): i32 { return (lastOffset - firstOffset) as i32 }
export function gatheredBaseTimestamp(): i64 { return firstTime }
export function gatheredMaxTimestamp(): i64 { return latest }
export function gatheredAttributes(): u32 { return firstAttributes }
export function gatherPassedTo(): i64 { return passedTo }

function makeRoom(more: u32): void {
  const need = gatheredLength + more
  if (need <= gatheredCapacity) return
  const capacity = roomFor(need)
  const moved = heap.alloc(capacity)
  if (gatheredPtr != 0) {
    memory.copy(moved, gatheredPtr, gatheredLength)
    heap.free(gatheredPtr)
  }
  gatheredPtr = moved
  gatheredCapacity = capacity
}

/**
 * Copies the records of [from, from + length), renumbered, with `isTimeless` all with the batch's base timestamp; false, and nothing was
 * added, when they are malformed.
 */
function copyRecords(from: usize, length: u32, count: u32, lastDelta: i32, offsetShift: i32, timestampShift: i64, isTimeless: bool = false): bool {
  if (count > length) return false
  makeRoom(length + count * MORE_PER_RECORD + SLACK)
  let p = from
  const stop = from + length
  let to = gatheredPtr + gatheredLength
  for (let i: u32 = 0; i < count; i++) {
    let field = varintAt(p)
    p += sizeOfField(field)
    const size = unzigzag(field)
    if (p > stop || size < 1 || (size as usize) > stop - p) return false
    const recordEnd = p + (size as usize)
    const attributes = load<u8>(p++)
    field = varintAt(p)
    const time = longOf(field, p)
    p += sizeOfLong(field, p)
    field = varintAt(p)
    p += sizeOfField(field)
    const delta = unzigzag(field)
    if (p > recordEnd || delta < 0 || delta > lastDelta) return false
    const timestamp = isTimeless ? 0 : zigzagLong(time + timestampShift)
    const offset = zigzag(delta + offsetShift)
    const rest = recordEnd - p
    const body = 1 + sizeOf(timestamp) + sizeOf(offset as u64) + (rest as u32)
    to = write(to, zigzag(body as i32) as u64)
    store<u8>(to++, attributes)
    to = write(to, timestamp)
    to = write(to, offset as u64)
    copyFast(to, p, rest)
    to += rest
    p = recordEnd
  }
  if (p != stop) return false
  gatheredLength = (to - gatheredPtr) as u32
  return true
}

/** Adds the records of one batch; false, and nothing was added, when they are malformed or too far from the first batch. */
function join(from: usize, length: u32, count: u32, lastDelta: i32, offset: i64, time: i64, maxTime: i64, attributes: u32): bool {
  const last = offset + (lastDelta as i64)
  const isFirst = gatheredCount == 0
  const base = isFirst ? offset : firstOffset
  const shift = isFirst ? 0 : time - firstTime
  if (lastDelta < 0 || last - base >= OFFSETS_MAX || shift > TIME_MAX || shift < -TIME_MAX) return false
  if (!copyRecords(from, length, count, lastDelta, (offset - base) as i32, shift)) return false
  if (isFirst) {
    firstOffset = offset
    firstTime = time
    firstAttributes = attributes
    latest = maxTime
  } else if (maxTime > latest) latest = maxTime
  gatheredCount += count
  lastOffset = last
  return true
}

/** Gathers the section that was just copied in alone, its records without times of their own; false when it is malformed. */
export function gatherTimeless(length: u32, count: u32, lastDelta: i32): bool {
  gatherBegin()
  return copyRecords(sectionPtr, length, count, lastDelta, 0, 0, true)
}

/** Adds the section that was just copied in. Returns the bytes gathered so far, -1 when it was not added. */
export function gather(length: u32, count: u32, lastDelta: i32, offset: i64, time: i64, maxTime: i64, attributes: u32): i32 {
  return join(sectionPtr, length, count, lastDelta, offset, time, maxTime, attributes) ? (gatheredLength as i32) : -1
}

/**
 * Passes whole batches at the start of the `length` bytes that were just copied in: adds those with records, and skips control batches and
 * empty ones. Stops before a batch that must be looked at by itself: compressed, with log-append time, large, malformed, too far away,
 * before `position`, or not wholly before `until`. Returns the bytes passed.
 */
export function gatherBatches(length: u32, position: i64, until: i64): u32 {
  let from: u32 = 0
  while (length - from >= HEADER_BYTES) {
    const batch = sectionPtr + (from as usize)
    const size = bswap<u32>(load<u32>(batch, BATCH_LENGTH)) + 12
    if (size < HEADER_BYTES || size > length - from || size - HEADER_BYTES > SMALL_BYTES || load<u8>(batch, MAGIC) != 2) break
    const attributes = bswap<u16>(load<u16>(batch, ATTRIBUTES)) as u32
    const offset = bswap<i64>(load<i64>(batch))
    const lastDelta = bswap<i32>(load<i32>(batch, LAST_OFFSET_DELTA))
    const last = offset + (lastDelta as i64)
    if ((attributes & NOT_PLAIN) != 0 || lastDelta < 0 || offset < position || last >= until) break
    const count = bswap<i32>(load<i32>(batch, RECORD_COUNT))
    if ((attributes & CONTROL) == 0 && count > 0) {
      const time = bswap<i64>(load<i64>(batch, BASE_TIMESTAMP))
      const maxTime = bswap<i64>(load<i64>(batch, MAX_TIMESTAMP))
      if (!join(batch + HEADER_BYTES, size - HEADER_BYTES, count as u32, lastDelta, offset, time, maxTime, attributes)) break
    }
    passedTo = last + 1
    from += size
  }
  return from
}
