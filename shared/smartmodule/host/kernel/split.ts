/**
 * A section in two parts by key, each for another version of a step: `split`, run the first part, `exchange`, run the second,
 * `merge`. What is put aside meanwhile is the second part's input, and from `exchange` on the first part's output.
 */
import { copyFast, grow, murmur2, roomFor } from './bytes'
import {
  deltasPtr,
  marksLength,
  roomForDeltas,
  sawFailed,
  sectionCapacity,
  sectionCount,
  sectionDistinct,
  sectionEarliest,
  sectionLargest,
  sectionLatest,
  sectionLength,
  sectionPtr,
  sectionUnframed,
  wasSplit,
} from './kernel'
import { at, readVarint, readVarlong } from './reader'

let asidePtr: usize = 0
let asideCapacity: u32 = 0
let asideLength: u32 = 0
let asideCount: u32 = 0
let asideLargest: u32 = 0
let asideUnframed: u32 = 0
let asideEarliest: i64 = 0
let asideLatest: i64 = 0
let asideSawFailed: bool = false
let mergedPtr: usize = 0
let mergedCapacity: u32 = 0

/** Copying writes past the end, in steps of 16. */
const SLACK: u32 = 16

/** Per offsetDelta of the source batch, 1 where a record was put aside; only for batches that are split. */
let ownersPtr: usize = 0
let ownersCapacity: u32 = 0

function openOwners(): void {
  if (marksLength > ownersCapacity) {
    const need = roomFor(marksLength)
    ownersPtr = grow(ownersPtr, ownersCapacity, need)
    ownersCapacity = need
  }
  memory.fill(ownersPtr, 0, marksLength)
  wasSplit = true
}

/** Whether the source record at `delta` was put aside since the batch was opened: 1 or 0. */
export function wasAside(delta: u32): i32 {
  return wasSplit && delta < marksLength ? load<u8>(ownersPtr + delta) : 0
}

// @ts-ignore: decorator
@inline
function swapSection(): void {
  const ptr = sectionPtr
  const capacity = sectionCapacity
  const length = sectionLength
  const count = sectionCount
  sectionPtr = asidePtr
  sectionCapacity = asideCapacity
  sectionLength = asideLength
  sectionCount = asideCount
  asidePtr = ptr
  asideCapacity = capacity
  asideLength = length
  asideCount = count
}

/**
 * Puts aside the records whose key's hash, as an unsigned number, is below `threshold`; one without a key goes by its offset. Returns how
 * many there are.
 */
export function split(threshold: u32, baseOffset: i64): u32 {
  if (sectionLength + SLACK > asideCapacity) {
    if (asidePtr != 0) heap.free(asidePtr)
    asideCapacity = roomFor(sectionLength + SLACK)
    asidePtr = heap.alloc(asideCapacity)
  }
  if (!wasSplit) openOwners()
  asideLength = 0
  asideCount = 0
  at = sectionPtr
  let to = sectionPtr
  let kept: u32 = 0
  for (let i: u32 = 0; i < sectionCount; i++) {
    const from = at
    const size = readVarint()
    const recordEnd = at + (size as usize)
    at++
    readVarlong()
    readVarint()
    const keyLength = readVarint()
    const delta = load<i32>(deltasPtr + ((i as usize) << 2))
    const hash = keyLength < 0 ? ((baseOffset + (delta as i64)) as u32) : murmur2(at, keyLength)
    const length = recordEnd - from
    at = recordEnd
    // Partitions are chosen by the same hash: its bits are mixed once more.
    if (((hash * 0x9e3779b1) as u32) < threshold) {
      copyFast(asidePtr + (asideLength as usize), from, length)
      store<u8>(ownersPtr + delta, 1)
      asideLength += length as u32
      asideCount++
    } else {
      if (to != from) memory.copy(to, from, length)
      store<i32>(deltasPtr + ((kept as usize) << 2), delta)
      to += length
      kept++
    }
  }
  sectionLength = (to - sectionPtr) as u32
  sectionCount = kept
  forget()
  return asideCount
}

/** What is known of an empty section. */
function forget(): void {
  sectionLargest = 0
  sectionDistinct = 0
  sectionUnframed = 0
  sectionEarliest = i64.MAX_VALUE
  sectionLatest = i64.MIN_VALUE
  sawFailed = false
}

/** Makes what is aside the current section, and puts that aside. */
export function exchange(): void {
  asideLargest = sectionLargest
  asideUnframed = sectionUnframed
  asideEarliest = sectionEarliest
  asideLatest = sectionLatest
  asideSawFailed = sawFailed
  swapSection()
  forget()
  roomForDeltas(sectionCount)
  at = sectionPtr
  for (let i: u32 = 0; i < sectionCount; i++) {
    const size = readVarint()
    const recordEnd = at + (size as usize)
    at++
    readVarlong()
    store<i32>(deltasPtr + ((i as usize) << 2), readVarint())
    at = recordEnd
  }
}

let recordDelta: i32 = 0

/** The end of the record at `from`; sets `recordDelta`. */
function passRecord(from: usize): usize {
  at = from
  const size = readVarint()
  const recordEnd = at + (size as usize)
  at++
  readVarlong()
  recordDelta = readVarint()
  return recordEnd
}

/** Merges the current section and the part aside, both already walked, by their deltas; of equal ones the part aside is first. */
export function merge(): void {
  const length = asideLength + sectionLength
  if (length + SLACK > mergedCapacity) {
    if (mergedPtr != 0) heap.free(mergedPtr)
    mergedCapacity = roomFor(length + SLACK)
    mergedPtr = heap.alloc(mergedCapacity)
  }
  const count = asideCount + sectionCount
  roomForDeltas(count)
  let one = asidePtr
  const oneStop = asidePtr + (asideLength as usize)
  let other = sectionPtr
  const otherStop = sectionPtr + (sectionLength as usize)
  let oneEnd = one < oneStop ? passRecord(one) : one
  let oneDelta = recordDelta
  let otherEnd = other < otherStop ? passRecord(other) : other
  let otherDelta = recordDelta
  let to = mergedPtr
  let previous: i32 = -1
  let distinct: u32 = 0
  for (let i: u32 = 0; i < count; i++) {
    const isOne = one < oneStop && (other >= otherStop || oneDelta <= otherDelta)
    const delta = isOne ? oneDelta : otherDelta
    const from = isOne ? one : other
    const size = (isOne ? oneEnd : otherEnd) - from
    copyFast(to, from, size)
    to += size
    store<i32>(deltasPtr + ((i as usize) << 2), delta)
    if (delta != previous) distinct++
    previous = delta
    if (isOne) {
      one = oneEnd
      if (one < oneStop) {
        oneEnd = passRecord(one)
        oneDelta = recordDelta
      }
    } else {
      other = otherEnd
      if (other < otherStop) {
        otherEnd = passRecord(other)
        otherDelta = recordDelta
      }
    }
  }
  const ptr = sectionPtr
  const capacity = sectionCapacity
  sectionPtr = mergedPtr
  sectionCapacity = mergedCapacity
  mergedPtr = ptr
  mergedCapacity = capacity
  sectionLength = length
  sectionCount = count
  sectionDistinct = distinct
  if (asideLargest > sectionLargest) sectionLargest = asideLargest
  sectionUnframed += asideUnframed
  if (asideEarliest < sectionEarliest) sectionEarliest = asideEarliest
  if (asideLatest > sectionLatest) sectionLatest = asideLatest
  if (asideSawFailed) sawFailed = true
}
