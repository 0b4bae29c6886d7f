/** Memory, varints and copying, for the kernel. */

/**
 * Copies forward, 16 bytes at a time, up to 15 bytes past the end: both sides must have that slack, and targets must be filled in
 * ascending order, so that the next write replaces the excess. Calling `memory.copy` costs more than copying a short record.
 */
// @ts-ignore: decorator
@inline
export function copyFast(to: usize, from: usize, length: usize): void {
  if (length > 512) {
    memory.copy(to, from, length)
    return
  }
  for (let i: usize = 0; i < length; i += 16) v128.store(to + i, v128.load(from + i))
}

// @ts-ignore: decorator
@inline
export function zigzag(value: i32): u32 {
  return ((value << 1) ^ (value >> 31)) as u32
}

// @ts-ignore: decorator
@inline
export function zigzagLong(value: i64): u64 {
  return ((value << 1) ^ (value >> 63)) as u64
}

// @ts-ignore: decorator
@inline
export function sizeOf(value: u64): u32 {
  return value == 0 ? 1 : ((70 - (clz(value) as u32)) / 7)
}

// @ts-ignore: decorator
@inline
export function write(p: usize, value: u64): usize {
  while (value >= 128) {
    store<u8>(p++, ((value & 0x7f) | 0x80) as u8)
    value >>= 7
  }
  store<u8>(p++, value as u8)
  return p
}

/** A region of at least `need` bytes; when it grows, its content is lost. */
export function grow(pointer: usize, capacity: u32, need: u32): usize {
  if (need <= capacity) return pointer
  if (pointer != 0) heap.free(pointer)
  return heap.alloc(need)
}

/** The capacity to allocate for `need` bytes, with spare room so that growing is rare. */
export function roomFor(need: u32): u32 {
  return need + (need >> 2) + 1024
}

/** Kafka's murmur2, with its seed (org.apache.kafka.common.utils.Utils#murmur2). */
export function murmur2(from: usize, length: u32): u32 {
  const m: u32 = 0x5bd1e995
  let h: u32 = 0x9747b28c ^ length
  const whole = length & ~3
  for (let i: u32 = 0; i < whole; i += 4) {
    let k = load<u32>(from + i)
    k *= m
    k ^= k >>> 24
    k *= m
    h *= m
    h ^= k
  }
  const rest = length & 3
  if (rest > 0) {
    for (let i: u32 = rest; i > 0; i--) h ^= (load<u8>(from + whole + i - 1) as u32) << (8 * (i - 1))
    h *= m
  }
  h ^= h >>> 13
  h *= m
  h ^= h >>> 15
  return h
}
