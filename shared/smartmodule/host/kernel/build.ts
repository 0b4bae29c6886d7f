/** Output batches under construction: records of the current section appended and renumbered. */
import { copyFast, murmur2, roomFor, sizeOf, write, zigzag, zigzagLong } from './bytes'
import { positionOf, sectionCount, sectionLength, sectionPtr } from './kernel'
import { longOf, sizeOfField, sizeOfLong, unzigzag, varintAt } from './reader'

let builtPtr: usize = 0
let builtCapacity: u32 = 0
let builtLength: u32 = 0
let builtCount: u32 = 0
let builtBase: i64 = 0
let builtMax: i64 = 0
/** Room for the batch header before the records, so that a finished batch is copied out in one piece. */
const HEADER: u32 = 61
const KEPT_BYTES_MAX: u32 = 16 << 20

/**
 * Output batches under construction, one per target partition (only slot 0 where the source's partition decides). The globals above
 * belong to the selected slot; `select` stores them and loads those of another slot.
 */
const SLOT_BYTES: usize = 32
let slotsPtr: usize = 0
let slotsCapacity: u32 = 0
let slot: u32 = 0

export function select(next: u32): void {
  if (next == slot && slotsPtr != 0) return
  const most = next > slot ? next : slot
  if (most >= slotsCapacity) {
    const need = roomFor(most + 1)
    const moved = heap.alloc((need as usize) * SLOT_BYTES)
    memory.fill(moved, 0, (need as usize) * SLOT_BYTES)
    if (slotsPtr != 0) {
      memory.copy(moved, slotsPtr, (slotsCapacity as usize) * SLOT_BYTES)
      heap.free(slotsPtr)
    }
    slotsPtr = moved
    slotsCapacity = need
  }
  const old = slotsPtr + (slot as usize) * SLOT_BYTES
  store<u32>(old, builtPtr as u32)
  store<u32>(old + 4, builtCapacity)
  store<u32>(old + 8, builtLength)
  store<u32>(old + 12, builtCount)
  store<i64>(old + 16, builtBase)
  store<i64>(old + 24, builtMax)
  const now = slotsPtr + (next as usize) * SLOT_BYTES
  builtPtr = load<u32>(now) as usize
  builtCapacity = load<u32>(now + 4)
  builtLength = load<u32>(now + 8)
  builtCount = load<u32>(now + 12)
  builtBase = load<i64>(now + 16)
  builtMax = load<i64>(now + 24)
  slot = next
}

export function selected(): u32 { return slot }

/** Starts a new output batch in the selected slot. */
export function begin(baseTimestamp: i64): void {
  // A batch of huge records must not keep its memory forever, in each of many slots.
  if (builtCapacity > KEPT_BYTES_MAX) {
    heap.free(builtPtr)
    builtPtr = 0
    builtCapacity = 0
  }
  builtLength = 0
  builtCount = 0
  builtBase = baseTimestamp
  builtMax = baseTimestamp
}

/** Makes room for `need` bytes in the selected slot, header included. */
function makeRoom(need: u32): void {
  if (need <= builtCapacity) return
  const room = roomFor(need)
  const moved = heap.alloc(room)
  if (builtPtr != 0) {
    memory.copy(moved + HEADER, builtPtr + HEADER, builtLength)
    heap.free(builtPtr)
  }
  builtPtr = moved
  builtCapacity = room
}

/**
 * Appends the record whose times start at `p`, renumbered. False, and nothing appended, when the batch would exceed `most` bytes.
 */
// @ts-ignore: decorator
@inline
function appendRecord(p: usize, recordEnd: usize, most: u32, baseTimestamp: i64, timestamp: i64): bool {
  const field = varintAt(p)
  const time = timestamp >= 0 ? timestamp : baseTimestamp + longOf(field, p)
  p += sizeOfLong(field, p)
  p += sizeOfField(varintAt(p))
  const timeDelta = zigzagLong(time - builtBase)
  const count = builtCount
  const length = builtLength
  const offsetDelta = zigzag(count as i32) as u64
  const rest = (recordEnd - p) as u32
  const body = 1 + sizeOf(timeDelta) + sizeOf(offsetDelta) + rest
  const prefix = zigzag(body as i32) as u64
  const encoded = sizeOf(prefix) + body
  if (count > 0 && HEADER + length + encoded > most) return false
  let to = builtPtr + HEADER + length
  to = write(to, prefix)
  store<u8>(to++, 0)
  to = write(to, timeDelta)
  to = write(to, offsetDelta)
  copyFast(to, p, rest)
  builtLength = length + encoded
  builtCount = count + 1
  if (time > builtMax) builtMax = time
  return true
}

/**
 * Appends the section's records from the `from`-th on to the selected batch, renumbered, until it would exceed `most` bytes (header
 * included). `timestamp` ≥ 0 replaces each record's time (log-append time); otherwise a record's time is `baseTimestamp` + its delta.
 * Returns the ordinal of the first record that did not fit; the section's count when all did.
 */
export function append(from: u32, most: u32, baseTimestamp: i64, timestamp: i64): u32 {
  // Renumbering can lengthen a record by a few bytes: offsetDelta ≤ 5, timestampDelta ≤ 10, the length itself ≤ 5.
  makeRoom(HEADER + builtLength + sectionLength + sectionCount * 20 + 16)
  let p = sectionPtr + (from == 0 ? 0 : positionOf(from))
  const count = sectionCount
  for (let i = from; i < count; i++) {
    const size = varintAt(p)
    p += sizeOfField(size)
    const recordEnd = p + (unzigzag(size) as usize)
    if (!appendRecord(p + 1, recordEnd, most, baseTimestamp, timestamp)) return i
    p = recordEnd
  }
  return count
}

/**
 * Like `append`, but every record goes into the batch of its key's partition (murmur2 modulo `partitions`, as in Kafka's default
 * partitioner), and one without a key into that of `keyless`. When a batch is full, it is left selected.
 */
export function scatter(from: u32, partitions: u32, keyless: u32, most: u32, baseTimestamp: i64, timestamp: i64): u32 {
  let p = sectionPtr + (from == 0 ? 0 : positionOf(from))
  const count = sectionCount
  for (let i = from; i < count; i++) {
    const size = varintAt(p)
    p += sizeOfField(size)
    const recordEnd = p + (unzigzag(size) as usize)
    const times = p + 1
    let field = varintAt(times)
    p = times + sizeOfLong(field, times)
    p += sizeOfField(varintAt(p))
    field = varintAt(p)
    p += sizeOfField(field)
    const keyLength = unzigzag(field)
    const target = keyLength < 0 ? keyless : (murmur2(p, keyLength) & 0x7fffffff) % partitions
    select(target)
    if (builtCount == 0) begin(baseTimestamp)
    const need = HEADER + builtLength + (unzigzag(size) as u32) + 36
    // Doubled, so that a growing batch is copied only a few times, not once per record.
    if (need > builtCapacity) makeRoom(need * 2)
    if (!appendRecord(times, recordEnd, most, baseTimestamp, timestamp)) return i
    p = recordEnd
  }
  return count
}

/** Kafka's murmur2 of the bytes that the host has copied in as the current section; for tests. */
export function hash(length: u32): u32 {
  return murmur2(sectionPtr, length)
}

export function builtAt(): usize { return builtPtr }
export function builtBytes(): u32 { return HEADER + builtLength }
export function builtRecords(): u32 { return builtCount }
export function builtBaseTimestamp(): i64 { return builtBase }
export function builtMaxTimestamp(): i64 { return builtMax }
