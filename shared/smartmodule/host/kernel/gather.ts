/** Joins the sections of small batches as if they were one batch: a call per batch would cost more than its records. */
import { copyFast, roomFor, sizeOf, write, zigzag, zigzagLong } from './bytes'
import { sectionPtr } from './kernel'
import { at, bad, end, readVarint, readVarlong } from './reader'

let gatheredPtr: usize = 0
let gatheredCapacity: u32 = 0
let gatheredLength: u32 = 0

/** Most bytes that renumbering may add to a record: its length, its deltas, and what copying writes past its end. */
const MORE_PER_RECORD: u32 = 24
const SLACK: u32 = 32

export function gatherBegin(): void { gatheredLength = 0 }
export function gatheredAt(): usize { return gatheredPtr }

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
 * Adds the section that was just copied in, whose deltas are up to `lastDelta`, renumbered to the first batch's offset and timestamp.
 * Returns the bytes gathered so far; -1 when the section is malformed, and then none of it was added.
 */
export function gather(length: u32, count: u32, lastDelta: i32, offsetShift: i32, timestampShift: i64): i32 {
  if (count > length) return -1
  makeRoom(length + count * MORE_PER_RECORD + SLACK)
  at = sectionPtr
  const stop = sectionPtr + length
  bad = false
  let to = gatheredPtr + gatheredLength
  for (let i: u32 = 0; i < count; i++) {
    end = stop
    const size = readVarint()
    if (bad || size < 1 || (size as usize) > stop - at) return -1
    const recordEnd = at + (size as usize)
    end = recordEnd
    const attributes = load<u8>(at++)
    const timestamp = zigzagLong(readVarlong() + timestampShift)
    const delta = readVarint()
    if (bad || delta < 0 || delta > lastDelta) return -1
    const offset = zigzag(delta + offsetShift)
    const rest = recordEnd - at
    const body = 1 + sizeOf(timestamp) + sizeOf(offset as u64) + (rest as u32)
    to = write(to, zigzag(body as i32) as u64)
    store<u8>(to++, attributes)
    to = write(to, timestamp)
    to = write(to, offset as u64)
    copyFast(to, at, rest)
    to += rest
    at = recordEnd
  }
  if (at != stop) return -1
  gatheredLength = (to - gatheredPtr) as u32
  return gatheredLength as i32
}
