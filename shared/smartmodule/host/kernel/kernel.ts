/**
 * The host's own WebAssembly: walks, checks, splits and renumbers records sections (the part of a Kafka v2 record batch after its
 * 61-byte header), so that no JavaScript reads a record. Trusted code over untrusted bytes: every length is checked.
 * It holds one source batch at a time (`openBatch`), a step's output section (`take`), and the batch being built (`append`). Format:
 * KIP-98 / https://kafka.apache.org/documentation/#record
 */
import { grow, roomFor } from './bytes'
import {
  at,
  longOf,
  READ_SLACK,
  readVarint,
  readVarlong,
  sizeOfField,
  sizeOfLong,
  skipHeaders,
  unzigzag,
  varintAt,
} from './reader'

// Growing regions: they never shrink, and are bounded by the largest batch ever seen.
export let sectionPtr: usize = 0
export let sectionCapacity: u32 = 0
/** Per record of the current section, its offsetDelta. */
export let deltasPtr: usize = 0
let deltasCapacity: u32 = 0
/** Per offsetDelta of the source batch, the last step that its record reached (1: it is in the batch). FAILED is final. */
let marksPtr: usize = 0
let marksCapacity: u32 = 0

const FAILED: u8 = 255

export let marksLength: u32 = 0
/** The batch's records are the output of a step: several may be of one source record. */
let areDerived: bool = false
/** The batch was split since it was opened (`split.ts`). */
export let wasSplit: bool = false
export let sectionLength: u32 = 0
export let sectionCount: u32 = 0
/** Largest encoded record (its length prefix included) of the current section. */
export let sectionLargest: u32 = 0
/** Distinct source records in the current section. */
export let sectionDistinct: u32 = 0

/** The step whose output has the frame of `framedSchemaId` in front of every value, and something after it; 0 for none. */
let framedStep: i32 = 0
let framedSchemaId: u32 = 0
/** Of the current section: values without that frame or with nothing after it, and the range of timestamps, less the batch's own. */
export let sectionUnframed: u32 = 0
export let sectionEarliest: i64 = 0
export let sectionLatest: i64 = 0

/** Sets from which step on values must be framed, and with which schema id. */
export function expectFrame(step: i32, schemaId: u32): void {
  framedStep = step
  framedSchemaId = schemaId
}

// @ts-ignore: decorator
@inline
function isFramed(value: usize, length: i32): bool {
  return length < 0 || (length > 5 && load<u8>(value) == 0 && load<u32>(value + 1) == bswap<u32>(framedSchemaId))
}

/** Reserves memory for a section of `length` bytes that the host is about to copy in; returns its address. */
export function reserve(length: u32): usize {
  // Slack for copies in steps of 16 and for fields that claim to go on.
  if (length + READ_SLACK > sectionCapacity) {
    const need = roomFor(length + READ_SLACK)
    sectionPtr = grow(sectionPtr, sectionCapacity, need)
    sectionCapacity = need
  }
  return sectionPtr
}

/**
 * Opens the source batch whose section was just copied in: checks all of it and marks its records as input of step 1.
 * Records before `firstDelta` (before the position) are left out. With `isDerived`, they are what a step made of source records, and
 * several may have the same delta. Returns the number of records kept, -1 when the section is malformed.
 */
export function openBatch(length: u32, count: u32, lastDelta: i32, firstDelta: i32, isDerived: bool): i32 {
  if (lastDelta < 0 || count > length) return -1
  marksLength = (lastDelta as u32) + 1
  areDerived = isDerived
  // A compacted batch has fewer records than deltas, never more.
  if (count > marksLength && !areDerived) return -1
  if (marksLength > marksCapacity) {
    const need = roomFor(marksLength)
    marksPtr = grow(marksPtr, marksCapacity, need)
    marksCapacity = need
  }
  memory.fill(marksPtr, 0, marksLength)
  wasSplit = false
  return walk(length, count, 0, firstDelta)
}

/** Checks the output of step `step` (1, 2, …) and makes it the current section; returns like `walk`. */
export function take(length: u32, count: u32, step: i32): i32 {
  return count > length ? -1 : walk(length, count, step, 0)
}

/** `take` for a step whose output is the current section as it is, which has been checked. */
export function takeSame(step: i32): i32 {
  // `split` forgets what is known of a part.
  if (wasSplit || step == framedStep) return walk(sectionLength, sectionCount, step, 0)
  sectionDistinct = sectionUnframed = 0
  sawFailed = false
  for (let i: u32 = 0; i < sectionCount; i++) {
    const mark = marksPtr + load<u32>(deltasPtr + ((i as usize) << 2))
    if (load<u8>(mark) == FAILED) sawFailed = true
    if (load<u8>(mark) != (step as u8)) continue
    store<u8>(mark, (step + 1) as u8)
    sectionDistinct++
  }
  return sectionCount
}

/** Makes room for the deltas of so many records; what was there may be lost. */
export function roomForDeltas(count: u32): void {
  if (count <= deltasCapacity) return
  const need = roomFor(count)
  deltasPtr = grow(deltasPtr, deltasCapacity, need << 2)
  deltasCapacity = need
}

/** Walks the section at `sectionPtr`. Step 0 is the source itself. Returns the number of records kept, -1 on a violation. */
function walk(length: u32, count: u32, step: i32, firstDelta: i32): i32 {
  roomForDeltas(count)
  const reached = step as u8
  const reaches = (step + 1) as u8
  let p = sectionPtr
  const stop = sectionPtr + length
  let previous: i32 = -1
  let distinct: u32 = 0
  let largest: u32 = 0
  let kept: u32 = 0
  let keptFrom: usize = sectionPtr
  let unframed: u32 = 0
  let earliest = i64.MAX_VALUE
  let latest = i64.MIN_VALUE
  const isFramedStep = step > 0 && step == framedStep
  sawFailed = false
  for (let i: u32 = 0; i < count; i++) {
    const from = p
    let field = varintAt(p)
    p += sizeOfField(field)
    const size = unzigzag(field)
    if (p > stop || size < 1 || (size as usize) > stop - p) return -1
    const recordEnd = p + (size as usize)
    p++
    field = varintAt(p)
    const time = longOf(field, p)
    p += sizeOfLong(field, p)
    field = varintAt(p)
    p += sizeOfField(field)
    const delta = unzigzag(field)
    field = varintAt(p)
    p += sizeOfField(field)
    const keyLength = unzigzag(field)
    // A difference as a signed number: an earlier field may have passed the end.
    if (keyLength < -1 || keyLength > ((recordEnd - p) as i32)) return -1
    if (keyLength > 0) p += keyLength
    field = varintAt(p)
    p += sizeOfField(field)
    const valueLength = unzigzag(field)
    if (valueLength < -1 || valueLength > ((recordEnd - p) as i32)) return -1
    const value = p
    if (valueLength > 0) p += valueLength
    field = varintAt(p)
    p += sizeOfField(field)
    if (field as u32 != 0) p = skipHeaders(p, recordEnd, unzigzag(field))
    if (p != recordEnd || delta < previous || delta < 0 || (delta as u32) >= marksLength) return -1
    // The same address, but known since the record's length: the processor reads the next record before it is done with this one.
    p = recordEnd
    if (step == 0) {
      // Two records with the same offset would make accounting and dead letters ambiguous, although a broker accepts such a batch.
      if (delta == previous && !areDerived) return -1
      if (delta < firstDelta) {
        previous = delta
        keptFrom = p
        continue
      }
    }
    const mark = load<u8>(marksPtr + delta)
    if (mark == FAILED) sawFailed = true
    else if (mark == reaches) {
      // One more output of the same source record.
    } else if (mark == reached) {
      store<u8>(marksPtr + delta, reaches)
      distinct++
    } else return -1
    previous = delta
    if (time < earliest) earliest = time
    if (time > latest) latest = time
    if (isFramedStep && !isFramed(value, valueLength)) unframed++
    const encoded = (p - from) as u32
    if (encoded > largest) largest = encoded
    store<u32>(deltasPtr + ((kept as usize) << 2), delta)
    kept++
  }
  if (p != stop) return -1
  if (keptFrom != sectionPtr) memory.copy(sectionPtr, keptFrom, stop - keptFrom)
  sectionLength = (stop - keptFrom) as u32
  sectionCount = kept
  sectionLargest = largest
  sectionDistinct = distinct
  sectionUnframed = unframed
  sectionEarliest = earliest
  sectionLatest = latest
  return kept
}

/** True when the section holds records of failed source records; `dropFailed` removes them. */
export let sawFailed: bool = false
export function hasFailed(): bool { return sawFailed }
export function currentPtr(): usize { return sectionPtr }
export function currentLength(): u32 { return sectionLength }
export function currentCount(): u32 { return sectionCount }
export function currentDistinct(): u32 { return sectionDistinct }
export function currentLargest(): u32 { return sectionLargest }
export function currentUnframed(): u32 { return sectionUnframed }
export function currentEarliest(): i64 { return sectionEarliest }
export function currentLatest(): i64 { return sectionLatest }

/** offsetDelta of the `ordinal`-th record of the section last walked, -1 when there is none. */
export function deltaOf(ordinal: u32): i32 {
  return ordinal < sectionCount ? load<i32>(deltasPtr + ((ordinal as usize) << 2)) : -1
}

/** Marks the source record at `delta` as failed, permanently. Returns 1 the first time, 0 afterwards. */
export function fail(delta: u32): i32 {
  if (delta >= marksLength || load<u8>(marksPtr + delta) == FAILED) return 0
  store<u8>(marksPtr + delta, FAILED)
  return 1
}

/**
 * Length in bytes of the longest run of records that starts `from` bytes into the section and fits `most` bytes (at least one record);
 * `runCount` is their number. Used to keep calls into a SmartModule below their size limit.
 */
export function run(from: u32, most: u32): u32 {
  at = sectionPtr + from
  const stop = sectionPtr + sectionLength
  const start = at
  let records: u32 = 0
  while (at < stop) {
    const before = at
    const size = readVarint()
    const after = at + (size as usize)
    if (records > 0 && after - start > (most as usize)) {
      at = before
      break
    }
    at = after
    records++
  }
  lastRunCount = records
  return (at - start) as u32
}
let lastRunCount: u32 = 0
export function runCount(): u32 { return lastRunCount }
/** Byte offset, within the section, of the `ordinal`-th record. */
export function positionOf(ordinal: u32): u32 {
  at = sectionPtr
  const stop = sectionPtr + sectionLength
  for (let i: u32 = 0; i < ordinal && at < stop; i++) {
    const size = readVarint()
    at += size
  }
  return (at - sectionPtr) as u32
}

/** Where the last scan stopped, so that the next one continues there and does not start over. */
let resumeOrdinal: u32 = 0
let resumeAt: u32 = 0

function stopBehind(ordinal: u32): i32 {
  resumeOrdinal = ordinal + 1
  resumeAt = (at - sectionPtr) as u32
  return ordinal as i32
}

function resumePosition(from: u32): u32 {
  return from > 0 && from == resumeOrdinal ? resumeAt : positionOf(from)
}

/** Ordinal of the first record longer than `most` bytes, from ordinal `from` on; -1 when there is none. */
export function findLarger(from: u32, most: u32): i32 {
  at = sectionPtr + resumePosition(from)
  for (let i = from; i < sectionCount; i++) {
    const start = at
    const size = readVarint()
    at += size
    if (at - start > (most as usize)) return stopBehind(i)
  }
  return -1
}

/** Ordinal of the first record from `from` on whose timestamp, less the batch's own, is not in the range; -1 when there is none. */
export function findUntimely(from: u32, earliest: i64, latest: i64): i32 {
  at = sectionPtr + resumePosition(from)
  for (let i = from; i < sectionCount; i++) {
    const size = readVarint()
    const recordEnd = at + (size as usize)
    at++
    const time = readVarlong()
    at = recordEnd
    if (time < earliest || time > latest) return stopBehind(i)
  }
  return -1
}

/** Ordinal of the first record from `from` on that has no key; -1 when there is none. */
export function findKeyless(from: u32): i32 {
  at = sectionPtr + resumePosition(from)
  for (let i = from; i < sectionCount; i++) {
    const size = readVarint()
    const recordEnd = at + (size as usize)
    at++
    readVarlong()
    readVarint()
    const key = readVarint()
    at = recordEnd
    if (key < 0) return stopBehind(i)
  }
  return -1
}

/** Ordinal of the first record from `from` on whose value is not framed as `expectFrame` says; -1 when there is none. */
export function findUnframed(from: u32): i32 {
  at = sectionPtr + resumePosition(from)
  for (let i = from; i < sectionCount; i++) {
    const size = readVarint()
    const recordEnd = at + (size as usize)
    at++
    readVarlong()
    readVarint()
    const key = readVarint()
    if (key > 0) at += key
    const length = readVarint()
    const value = at
    at = recordEnd
    if (!isFramed(value, length)) return stopBehind(i)
  }
  return -1
}

/** Removes the records of failed source records from the section. Returns the number of distinct source records left. */
export function dropFailed(): u32 {
  at = sectionPtr
  let to = sectionPtr
  let kept: u32 = 0
  let distinct: u32 = 0
  let previous: i32 = -1
  for (let i: u32 = 0; i < sectionCount; i++) {
    const from = at
    const size = readVarint()
    at += size
    const delta = load<i32>(deltasPtr + ((i as usize) << 2))
    if (load<u8>(marksPtr + delta) == FAILED) continue
    memory.copy(to, from, at - from)
    to += at - from
    store<i32>(deltasPtr + ((kept as usize) << 2), delta)
    kept++
    if (delta != previous) distinct++
    previous = delta
  }
  sectionLength = (to - sectionPtr) as u32
  sectionCount = kept
  sectionDistinct = distinct
  return distinct
}

/**
 * Replaces the 5-byte registry prefix of every value of the section by `magic 0, schema id`, for chains without steps. Stops at a value
 * without a prefix and returns its ordinal, so that the caller can fail it and continue after it; -1 when all are done.
 */
export function reframe(from: u32, schemaId: u32): i32 {
  at = sectionPtr + resumePosition(from)
  for (let i = from; i < sectionCount; i++) {
    const size = readVarint()
    const recordEnd = at + (size as usize)
    at++
    readVarlong()
    readVarint()
    const key = readVarint()
    if (key > 0) at += key
    const value = readVarint()
    if (value >= 0) {
      if (value < 5 || load<u8>(at) != 0) {
        at = recordEnd
        return stopBehind(i)
      }
      store<u32>(at + 1, bswap<u32>(schemaId))
    }
    at = recordEnd
  }
  return -1
}
