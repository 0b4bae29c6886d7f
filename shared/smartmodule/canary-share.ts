/**
 * Which records a canary with a share gets: those of some keys, always the same ones, so that a key's records stay in order; and how many
 * of them it may fail. Pure.
 */
import { murmur2 } from '../kafka/protocol/murmur2.ts'

/** Spreads hashes once more, because partitions are chosen by the same ones; a prime near 2³² divided by the golden ratio. */
const MIX = 0x9e3779b1

/** The hash below which a record is the canary's, as the kernel takes it. `share` is above 0 and below 1. */
export const canaryThreshold = (share: number): number => Math.min(2 ** 32 - 1, Math.max(1, Math.round(share * 2 ** 32)))

/** Whether the canary gets this record; one without a key goes by its offset. The kernel's `split` decides the same. */
export function isOfCanary(key: Uint8Array | null, offset: bigint, share: number): boolean {
  const hash = key ? murmur2(key, 0, key.length) : Number(BigInt.asUintN(32, offset))
  return Math.imul(hash, MIX) >>> 0 < canaryThreshold(share)
}

/** Fewer records say nothing about a share of them. */
export const CANARY_JUDGED_FROM = 20

/** Whether a canary has failed more of its records than the share `maxFailing` allows. Where none is allowed, the first one counts. */
export const failsTooMany = (failed: number, records: number, maxFailing: number): boolean =>
  failed > maxFailing * records && (records >= CANARY_JUDGED_FROM || maxFailing === 0)
