/** Where the members of the last parsed object are, and what the steps of a chain tell each other of it (docs/specs/abi.md). */

/** Members of the last parsed top-level object, as four addresses each: key start, key end (inside the quotes), value start, value end. */
const MEMBER_BYTES: usize = 16
let members: usize = heap.alloc(64 * MEMBER_BYTES)
let memberCapacity: i32 = 64
export let memberCount: i32 = 0
let hasEscapedKeys: bool = false
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
 * How the last document's keys were written, by their places: the key with its quotes and its colon (16 bytes), its length up to the
 * closing quote, and a bit for each byte. Records of one topic have mostly the same keys; the end of an expected one need not be searched.
 */
const EXPECTED_BYTES: usize = 24
const EXPECTED_KEYS: i32 = 64
const expected: usize = heap.alloc((EXPECTED_KEYS as usize) * EXPECTED_BYTES)
memory.fill(expected, 0, (EXPECTED_KEYS as usize) * EXPECTED_BYTES)

/** Where the next key's closing quote is behind `p`, if the key is the expected one; else 0. Reads up to 15 bytes past `end`. */
// @ts-ignore: decorator
@inline
export function expectedKey(p: usize, end: usize): usize {
  if (memberCount >= EXPECTED_KEYS) return 0
  const at = expected + (memberCount as usize) * EXPECTED_BYTES
  const length = load<u32>(at, 16) as usize
  const all = load<u32>(at, 20)
  const same = i8x16.bitmask(i8x16.eq(v128.load(p), v128.load(at))) as u32
  return (same & all) == all && p + length + 1 < end ? length : 0
}

/** Expects the key with its quotes [p, close], which a colon follows, in its place in the next document. */
export function expectKey(p: usize, close: usize, isEscaped: bool): void {
  const length = close - p
  if (memberCount >= EXPECTED_KEYS || isEscaped || length > 14) return
  const at = expected + (memberCount as usize) * EXPECTED_BYTES
  v128.store(at, v128.load(p))
  store<u32>(at, length as u32, 16)
  store<u32>(at, (((1 as u32) << ((length as u32) + 2)) - 1), 20)
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
  while (count > memberCapacity) growMembers()
  const base = i32x4.splat(start as i32)
  let to = members
  let largest = i32x4.splat(0)
  for (let i = 0; i < count; i++) {
    const offsets = v128.load_zero<u64>(from)
    const wide = i32x4.extend_low_i16x8_u(offsets)
    largest = i32x4.max_u(largest, wide)
    v128.store(to, i32x4.add(wide, base))
    from += NOTED_MEMBER_BYTES
    to += MEMBER_BYTES
  }
  memberCount = count
  hasEscapedKeys = false
  limit = objectEnd = end
  objectStart = start
  if (!v128.any_true(i32x4.gt_u(largest, i32x4.splat((end - start) as i32)))) return true
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
}
