/**
 * The kernel's readers. `varintAt` is for the loops over all records: it keeps no state, because a global that each read loads and stores
 * costs more than the read. The others share a current address.
 */

/** What reading one field may touch behind the end of its record. */
export const READ_SLACK: u32 = 64

// @ts-ignore: decorator
@inline
export function unzigzag(raw: u64): i32 {
  const value = raw as u32
  return ((value >>> 1) as i32) ^ -((value & 1) as i32)
}

/**
 * The varint at `p`, still zigzag, in the low 32 bits, and above them its length in bytes; one longer than five bytes is the smallest
 * number, invalid in every field. It looks for no end: the caller compares the address behind it, and keeps READ_SLACK bytes readable.
 */
// @ts-ignore: decorator
@inline
export function varintAt(p: usize): u64 {
  const first: u64 = load<u8>(p)
  if (first < 128) return first | (1 << 32)
  const second: u64 = load<u8>(p, 1)
  if (second < 128) return (first & 127) | (second << 7) | (2 << 32)
  return longVarintAt(p)
}

function longVarintAt(p: usize): u64 {
  let value: u64 = 0
  for (let i: u64 = 0; i < 5; i++) {
    const byte: u64 = load<u8>(p + (i as usize))
    value |= (byte & 127) << (7 * i)
    if (byte < 128) return (value & 0xffffffff) | ((i + 1) << 32)
  }
  return 0xffffffff | (5 << 32)
}

/** The length in bytes of what `varintAt` read. */
// @ts-ignore: decorator
@inline
export function sizeOfField(field: u64): usize {
  return (field >>> 32) as usize
}

/** Of the varlong at `p`, which `varintAt` has read as `field`: its value. Most times differ from their batch's by less than 14 bits. */
// @ts-ignore: decorator
@inline
export function longOf(field: u64, p: usize): i64 {
  return field >>> 32 <= 2 ? (unzigzag(field) as i64) : longAt(p)
}

/** Its length in bytes; 0 when it has more than ten, so that what is read as the next field is none either. */
// @ts-ignore: decorator
@inline
export function sizeOfLong(field: u64, p: usize): usize {
  return field >>> 32 <= 2 ? sizeOfField(field) : longSizeAt(p)
}

function longAt(p: usize): i64 {
  let value: u64 = 0
  for (let shift: u64 = 0; shift <= 63; shift += 7) {
    const byte: u64 = load<u8>(p++)
    value |= (byte & 127) << shift
    if (byte < 128) break
  }
  return ((value >>> 1) as i64) ^ -((value & 1) as i64)
}

function longSizeAt(p: usize): usize {
  for (let i: usize = 0; i < 10; i++) if (load<u8>(p + i) < 128) return i + 1
  return 0
}

/** The state of the other readers, which are for sections that were walked: the address that they have come to. */
export let at: usize = 0

// @ts-ignore: decorator
@inline
export function readVarint(): i32 {
  const field = varintAt(at)
  at += sizeOfField(field)
  return unzigzag(field)
}

// @ts-ignore: decorator
@inline
export function readVarlong(): i64 {
  const field = varintAt(at)
  const value = longOf(field, at)
  at += sizeOfLong(field, at)
  return value
}

/** The address behind `count` headers that start at `p`; 0 when they are malformed or pass `stop`. */
export function skipHeaders(p: usize, stop: usize, count: i32): usize {
  if (count < 0) return 0
  for (let i = 0; i < count; i++) {
    let field = varintAt(p)
    p += sizeOfField(field)
    const nameLength = unzigzag(field)
    if (nameLength < 0 || nameLength > ((stop - p) as i32)) return 0
    p += nameLength
    field = varintAt(p)
    p += sizeOfField(field)
    const length = unzigzag(field)
    if (length < -1 || length > ((stop - p) as i32)) return 0
    if (length > 0) p += length
  }
  return p
}
