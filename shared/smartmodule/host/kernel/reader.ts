/** The kernel's reader of one section: the current address, the end, and whether it met malformed bytes. */

// The reader's state: reading advances `at`, malformed bytes set `bad`.
export let at: usize = 0
export let end: usize = 0
export let bad: bool = false

// @ts-ignore: decorator
@inline
export function readVarint(): i32 {
  let result: u32 = 0
  let shift: u32 = 0
  while (true) {
    if (at >= end || shift > 28) {
      bad = true
      return 0
    }
    const byte: u32 = load<u8>(at++)
    result |= (byte & 0x7f) << shift
    if (byte < 128) break
    shift += 7
  }
  return ((result >>> 1) as i32) ^ -((result & 1) as i32)
}

// @ts-ignore: decorator
@inline
export function readVarlong(): i64 {
  let result: u64 = 0
  let shift: u64 = 0
  while (true) {
    if (at >= end || shift > 63) {
      bad = true
      return 0
    }
    const byte: u64 = load<u8>(at++)
    result |= (byte & 0x7f) << shift
    if (byte < 128) break
    shift += 7
  }
  return ((result >>> 1) as i64) ^ -((result & 1) as i64)
}

/** Skips a length-prefixed byte string, which may be null only if `least` is -1. Sets `bad` when it is malformed or passes `stop`. */
// @ts-ignore: decorator
@inline
export function skipBytes(stop: usize, least: i32): void {
  const length = readVarint()
  if (length < least || (length > 0 && (length as usize) > stop - at)) bad = true
  else if (length > 0) at += length
}

/** Address and length of the value that `skipBody` passed last; the length of null is -1. */
export let valueAt: usize = 0
export let valueLength: i32 = 0

/** Skips key, value and headers of a record that ends at `stop`; sets `bad` unless they end exactly there. */
// @ts-ignore: decorator
@inline
export function skipBody(stop: usize): void {
  skipBytes(stop, -1)
  if (!bad) {
    valueLength = readVarint()
    valueAt = at
    if (valueLength < -1 || (valueLength > 0 && (valueLength as usize) > stop - at)) bad = true
    else if (valueLength > 0) at += valueLength
  }
  const headers = bad ? 0 : readVarint()
  for (let i = 0; i < headers && !bad; i++) {
    skipBytes(stop, 0)
    if (!bad) skipBytes(stop, -1)
  }
  if (headers < 0 || at != stop) bad = true
}
