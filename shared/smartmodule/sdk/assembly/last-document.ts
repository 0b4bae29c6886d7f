/** The document that was parsed last: where its members are, and how a step tells the next one (docs/specs/abi.md). */

/** Members of the last parsed top-level object, as four addresses each: key start, key end (inside the quotes), value start, value end. */
const MEMBER_BYTES: usize = 16
let members: usize = heap.alloc(64 * MEMBER_BYTES)
let memberCapacity: i32 = 64
export let memberCount: i32 = 0
export let hasEscapedKeys: bool = false
/** The object whose members these are; 0 when the last document was none, or has changed. */
let objectStart: usize = 0
let objectEnd: usize = 0
/** Where the document ends. */
export let limit: usize = 0

// @ts-ignore: decorator
@inline
export function keyStart(i: i32): usize { return load<u32>(members + (i as usize) * MEMBER_BYTES) as usize }
// @ts-ignore: decorator
@inline
export function keyEnd(i: i32): usize { return load<u32>(members + (i as usize) * MEMBER_BYTES, 4) as usize }
// @ts-ignore: decorator
@inline
export function valueStart(i: i32): usize { return load<u32>(members + (i as usize) * MEMBER_BYTES, 8) as usize }
// @ts-ignore: decorator
@inline
export function valueEnd(i: i32): usize { return load<u32>(members + (i as usize) * MEMBER_BYTES, 12) as usize }
// @ts-ignore: decorator
@inline
export function keyEscaped(i: i32): bool { return hasEscapedKeys && hasBackslash(keyStart(i), keyEnd(i)) }

/**
 * The number of the last document's shape, which is its keys in their order; 0 while it is not known. A member that was found in one
 * document is at the same place in the next one of its shape.
 */
export let shape: u32 = 0
/** The shape of the documents with the expected keys, and how many these have. */
let expectedShape: u32 = 0
let expectedCount: i32 = 0
/** `expectedCount` once a key has changed that is expected from now on: the document's shape gets a new number. */
const CHANGED: i32 = -1
/** `expectedCount` once a key has changed that is not expected again: the document's shape has no number. */
const UNKNOWN: i32 = -2

/** Notes that a key is not the one of the document before. `isExpected`: whether it is expected in the next document. */
export function changeShape(isExpected: bool): void {
  if (!isExpected) expectedCount = UNKNOWN
  else if (expectedCount != UNKNOWN) expectedCount = CHANGED
}

export function hasBackslash(p: usize, end: usize): bool {
  for (; p < end; p++) if (load<u8>(p) == 92) return true
  return false
}

/** Forgets the members, because the record's value is no longer the document that was parsed. */
export function forgetMembers(): void { objectEnd = 0 }

/** What `writeMembers` writes for a document whose members it does not know. */
export const UNKNOWN_MEMBERS: u32 = 0xffff
/** Offsets of a member take 16 bits each. */
const NOTED_BYTES_MAX: usize = 0xffff
export const NOTED_MEMBER_BYTES: usize = 8

/** Most bytes that `writeMembers` writes. */
export function membersSize(): usize { return 2 + (memberCount as usize) * NOTED_MEMBER_BYTES + 8 }

/**
 * Writes where the members of the document [start, end) are, so that the next step need not parse it: their number, and per member its four
 * addresses less `start`, all in 16 bits; only UNKNOWN_MEMBERS unless it is the object parsed last. Returns the address behind it.
 */
export function writeMembers(start: usize, end: usize, to: usize): usize {
  const count = memberCount
  if (start == end || start != objectStart || end != objectEnd || hasEscapedKeys || end - start > NOTED_BYTES_MAX || (count as u32) >= UNKNOWN_MEMBERS) {
    store<u16>(to, UNKNOWN_MEMBERS)
    return to + 2
  }
  store<u16>(to, count)
  to += 2
  const base = i32x4.splat(start as i32)
  let from = members
  for (let i = 0; i < count; i++) {
    const offsets = i32x4.sub(v128.load(from), base)
    v128.store(to, i16x8.narrow_i32x4_u(offsets, offsets))
    from += MEMBER_BYTES
    to += NOTED_MEMBER_BYTES
  }
  return to
}

/** Takes over `count` members that `writeMembers` wrote behind their number, as those of [start, end). False if one lies outside of it. */
export function readMembers(from: usize, count: i32, start: usize, end: usize): bool {
  // One more, because they are written two at a time.
  while (count >= memberCapacity) growMembers()
  const base = i32x4.splat(start as i32)
  let to = members
  let largest = i16x8.splat(0)
  for (let left = count; left > 0; left -= 2) {
    const offsets = left == 1 ? v128.load_zero<u64>(from) : v128.load(from)
    largest = i16x8.max_u(largest, offsets)
    v128.store(to, i32x4.add(i32x4.extend_low_i16x8_u(offsets), base))
    v128.store(to, i32x4.add(i32x4.extend_high_i16x8_u(offsets), base), MEMBER_BYTES)
    from += 2 * NOTED_MEMBER_BYTES
    to += 2 * MEMBER_BYTES
  }
  memberCount = count
  shape = 0
  hasEscapedKeys = false
  limit = objectEnd = end
  objectStart = start
  const most = end - start < NOTED_BYTES_MAX ? end - start : NOTED_BYTES_MAX
  if (!v128.any_true(i16x8.gt_u(largest, i16x8.splat(most as i16)))) return true
  memberCount = 0
  return false
}

function growMembers(): void {
  memberCapacity *= 2
  members = heap.realloc(members, (memberCapacity as usize) * MEMBER_BYTES)
}

/** Before a document that ends at `end` is parsed: nothing is known of it. */
export function beginMembers(end: usize): void {
  memberCount = 0
  shape = 0
  hasEscapedKeys = false
  limit = end
  objectEnd = 0
}

/** Adds a member of the object that is being parsed. */
// @ts-ignore: decorator
@inline
export function addMember(key: usize, close: usize, start: usize, end: usize, isEscaped: bool): void {
  if (memberCount == memberCapacity) growMembers()
  const m = members + (memberCount as usize) * MEMBER_BYTES
  store<u32>(m, key as u32)
  store<u32>(m, close as u32, 4)
  store<u32>(m, start as u32, 8)
  store<u32>(m, end as u32, 12)
  if (isEscaped) hasEscapedKeys = true
  memberCount++
}

/** The members are those of the object [start, end), space around it included. */
// @ts-ignore: decorator
@inline
export function endMembers(start: usize, end: usize): void {
  objectStart = start
  objectEnd = end
  if (expectedCount == UNKNOWN) {
    expectedCount = CHANGED
    return
  }
  if (memberCount != expectedCount) {
    expectedCount = memberCount
    if (++expectedShape == 0) expectedShape = 1
  }
  shape = expectedShape
}
