/** Variable-length numbers of records, zigzag-encoded (KIP-98). */

/**
 * The varint at `p` in the low 32 bits, and above them its length in bytes. It keeps no state: a global that each read loads and stores
 * costs more than the read. The host has checked the section.
 */
// @ts-ignore: decorator
@inline
export function varintAt(p: usize): u64 {
  const first: u64 = load<u8>(p)
  if (first < 128) return (unzigzag(first) as u64) | (1 << 32)
  const second: u64 = load<u8>(p, 1)
  if (second < 128) return (unzigzag((first & 127) | (second << 7)) as u64) | (2 << 32)
  return longVarintAt(p)
}

function longVarintAt(p: usize): u64 {
  let value: u64 = 0
  let size: u64 = 0
  while (true) {
    const byte: u64 = load<u8>(p + (size as usize))
    value |= (byte & 127) << (7 * size++)
    if (byte < 128) return (unzigzag(value) as u64) | (size << 32)
  }
}

// @ts-ignore: decorator
@inline
function unzigzag(raw: u64): u32 {
  const value = raw as u32
  return (value >>> 1) ^ -(value & 1)
}

// @ts-ignore: decorator
@inline
export function sizeOfField(field: u64): usize {
  return (field >>> 32) as usize
}

export function varlongAt(p: usize): i64 {
  let value: u64 = 0
  let shift: u64 = 0
  while (true) {
    const byte: u64 = load<u8>(p++)
    value |= (byte & 127) << shift
    if (byte < 128) return ((value >>> 1) as i64) ^ -((value & 1) as i64)
    shift += 7
  }
}

export function varlongSizeAt(p: usize): usize {
  let size: usize = 1
  while (load<u8>(p++) >= 128) size++
  return size
}

// @ts-ignore: decorator
@inline
export function sizeOf(value: i64): i32 {
  const zigzag = ((value << 1) ^ (value >> 63)) as u64
  return zigzag == 0 ? 1 : (70 - (clz(zigzag) as i32)) / 7
}

// @ts-ignore: decorator
@inline
export function put(to: usize, value: i64): usize {
  let zigzag = ((value << 1) ^ (value >> 63)) as u64
  while (zigzag >= 128) {
    store<u8>(to++, ((zigzag & 127) | 128) as u8)
    zigzag >>= 7
  }
  store<u8>(to++, zigzag as u8)
  return to
}
