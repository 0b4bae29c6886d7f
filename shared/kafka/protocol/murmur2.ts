/** Kafka's murmur2 (org.apache.kafka.common.utils.Utils#murmur2), which maps a record's key to its partition. Pure. */

const SEED = 0x9747b28c
const M = 0x5bd1e995

/** The murmur2 hash of `[from, to)` of the bytes, as a signed 32-bit integer. */
export function murmur2(bytes: Uint8Array, from: number, to: number): number {
  const length = to - from
  let hash = SEED ^ length
  let at = from
  for (; to - at >= 4; at += 4) {
    let k = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
    k = Math.imul(k, M)
    k ^= k >>> 24
    hash = Math.imul(hash, M) ^ Math.imul(k, M)
  }
  if (to - at >= 3) hash ^= bytes[at + 2]! << 16
  if (to - at >= 2) hash ^= bytes[at + 1]! << 8
  if (to - at >= 1) hash = Math.imul(hash ^ bytes[at]!, M)
  hash ^= hash >>> 13
  hash = Math.imul(hash, M)
  return hash ^ (hash >>> 15)
}

/** The partition of the key at `[from, to)` of the bytes, as Java's and kafkajs's default partitioners choose it. */
export const partitionOfKey = (bytes: Uint8Array, from: number, to: number, partitions: number): number =>
  (murmur2(bytes, from, to) & 0x7fffffff) % partitions
