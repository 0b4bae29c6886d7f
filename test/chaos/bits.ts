/** One bit per record, so that the oracle tracks a hundred million records in some twelve megabytes. */
export type Bits = {
  has(index: number): boolean
  /** False if the bit was already set. */
  add(index: number): boolean
}

export function createBits(count: number): Bits {
  const words = new Uint32Array(Math.ceil(count / 32))
  return {
    has: (index) => (words[index >>> 5]! & (1 << (index & 31))) !== 0,
    add(index) {
      const bit = 1 << (index & 31)
      if ((words[index >>> 5]! & bit) !== 0) return false
      words[index >>> 5]! |= bit
      return true
    },
  }
}
