/** SHA-256 (FIPS 180-4) and HMAC (RFC 2104) over bytes, for pseudonyms. */

const K: StaticArray<u32> = [
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
  0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
  0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
  0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
]
const START: StaticArray<u32> = [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19]

const BLOCK = 64
const state: StaticArray<u32> = new StaticArray<u32>(8)
const words: StaticArray<u32> = new StaticArray<u32>(64)
const block: usize = heap.alloc(BLOCK)
let filled: i32 = 0
let total: u64 = 0

function begin(): void {
  for (let i = 0; i < 8; i++) state[i] = START[i]
  filled = 0
  total = 0
}

function compress(): void {
  for (let i = 0; i < 16; i++) words[i] = bswap<u32>(load<u32>(block + ((i as usize) << 2)))
  for (let i = 16; i < 64; i++) {
    const x = words[i - 15]
    const y = words[i - 2]
    words[i] = words[i - 16] + (rotr(x, 7) ^ rotr(x, 18) ^ (x >>> 3)) + words[i - 7] + (rotr(y, 17) ^ rotr(y, 19) ^ (y >>> 10))
  }
  let a = state[0]
  let b = state[1]
  let c = state[2]
  let d = state[3]
  let e = state[4]
  let f = state[5]
  let g = state[6]
  let h = state[7]
  for (let i = 0; i < 64; i++) {
    const first = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + K[i] + words[i]
    const second = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
    h = g
    g = f
    f = e
    e = d + first
    d = c
    c = b
    b = a
    a = first + second
  }
  state[0] += a
  state[1] += b
  state[2] += c
  state[3] += d
  state[4] += e
  state[5] += f
  state[6] += g
  state[7] += h
}

function add(p: usize, length: usize): void {
  total += length as u64
  for (let i: usize = 0; i < length; i++) {
    store<u8>(block + filled, load<u8>(p + i))
    if (++filled == BLOCK) {
      compress()
      filled = 0
    }
  }
}

/** Writes the 32 bytes of the hash. */
function finish(to: usize): void {
  const bits = total << 3
  store<u8>(block + filled++, 0x80)
  if (filled > 56) {
    memory.fill(block + filled, 0, BLOCK - filled)
    compress()
    filled = 0
  }
  memory.fill(block + filled, 0, 56 - filled)
  store<u64>(block + 56, bswap<u64>(bits))
  compress()
  for (let i = 0; i < 8; i++) store<u32>(to + ((i as usize) << 2), bswap<u32>(state[i]))
}

const inner: usize = heap.alloc(BLOCK)
const outer: usize = heap.alloc(BLOCK)
const digest: usize = heap.alloc(32)

/** Sets the key of `hmac`. */
export function setKey(p: usize, length: usize): void {
  memory.fill(inner, 0, BLOCK)
  if (length > (BLOCK as usize)) {
    begin()
    add(p, length)
    finish(inner)
  } else memory.copy(inner, p, length)
  for (let i = 0; i < BLOCK; i++) {
    const byte = load<u8>(inner + i)
    store<u8>(inner + i, byte ^ 0x36)
    store<u8>(outer + i, byte ^ 0x5c)
  }
}

/** Writes the 64 hexadecimal digits of the bytes' HMAC-SHA-256 under the key; returns the end of what was written. */
export function hmac(p: usize, length: usize, to: usize): usize {
  begin()
  add(inner, BLOCK)
  add(p, length)
  finish(digest)
  begin()
  add(outer, BLOCK)
  add(digest, 32)
  finish(digest)
  for (let i = 0; i < 32; i++) {
    const byte: u32 = load<u8>(digest + i)
    store<u8>(to++, hexDigit(byte >> 4))
    store<u8>(to++, hexDigit(byte & 15))
  }
  return to
}

function hexDigit(value: u32): u8 {
  return (value < 10 ? 48 + value : 87 + value) as u8
}
