/** Zig-zag variable-length integers, as Kafka writes them inside records (protobuf encoding; KIP-98). */

/** The byte offset to read next; reading advances it. */
export type Cursor = { at: number }

/** The 32-bit varint at the cursor, which moves past it. Throws RangeError past the end or past five bytes. */
export function readVarint(bytes: Buffer, cursor: Cursor): number {
  let result = 0
  for (let shift = 0; shift <= 28; shift += 7) {
    const byte = bytes[cursor.at++]
    if (byte === undefined) throw new RangeError('a varint runs past the end')
    result |= (byte & 0x7f) << shift
    if (byte < 0x80) return (result >>> 1) ^ -(result & 1)
  }
  throw new RangeError('a varint is longer than five bytes')
}

/** The 64-bit varlong at the cursor, which moves past it. Throws RangeError past the end or past ten bytes. */
export function readVarlong(bytes: Buffer, cursor: Cursor): bigint {
  let result = 0n
  for (let shift = 0n; shift <= 63n; shift += 7n) {
    const byte = bytes[cursor.at++]
    if (byte === undefined) throw new RangeError('a varlong runs past the end')
    result |= BigInt(byte & 0x7f) << shift
    if (byte < 0x80) {
      const unsigned = BigInt.asUintN(64, result)
      return BigInt.asIntN(64, (unsigned >> 1n) ^ -(unsigned & 1n))
    }
  }
  throw new RangeError('a varlong is longer than ten bytes')
}

/** Writes a 32-bit varint at `at`; returns the byte offset after it. */
export function writeVarint(target: Buffer, value: number, at: number): number {
  let rest = ((value << 1) ^ (value >> 31)) >>> 0
  while (rest >= 0x80) {
    target[at++] = (rest & 0x7f) | 0x80
    rest >>>= 7
  }
  target[at++] = rest
  return at
}

/** Writes a 64-bit varlong at `at`; returns the byte offset after it. */
export function writeVarlong(target: Buffer, value: bigint, at: number): number {
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
  while (rest >= 0x80n) {
    target[at++] = Number(rest & 0x7fn) | 0x80
    rest >>= 7n
  }
  target[at++] = Number(rest)
  return at
}

/** Writes a whole number of less than 2^52 in size as a varlong at `at`, without a bigint; returns the byte offset after it. */
export function writeVarlongOf(target: Buffer, value: number, at: number): number {
  let rest = value < 0 ? -2 * value - 1 : 2 * value
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) target[at++] = (rest % 0x80) | 0x80
  target[at++] = rest
  return at
}

/** The number of bytes that `writeVarlongOf` writes for the value. */
export function varlongSizeOf(value: number): number {
  let size = 1
  for (let rest = value < 0 ? -2 * value - 1 : 2 * value; rest >= 0x80; rest = Math.floor(rest / 0x80)) size++
  return size
}

/** The number of bytes that `writeVarint` writes for the value. */
export function varintSize(value: number): number {
  let rest = ((value << 1) ^ (value >> 31)) >>> 0
  let size = 1
  while (rest >= 0x80) {
    rest >>>= 7
    size++
  }
  return size
}

/** The number of bytes that `writeVarlong` writes for the value. */
export function varlongSize(value: bigint): number {
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
  let size = 1
  while (rest >= 0x80n) {
    rest >>= 7n
    size++
  }
  return size
}
