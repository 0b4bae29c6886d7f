/** Finds batches of aborted transactions in a read-committed Fetch answer; the broker sends them too (KIP-98). Pure. */
import { CONTROL, TRANSACTIONAL, type BatchHeader } from './record-batch.ts'

/** An aborted transaction (KIP-98): its batches from `firstOffset` up to its abort marker must be dropped. */
export type AbortedTransaction = { producerId: bigint; firstOffset: bigint }

/**
 * A test for batches of aborted transactions, to be called once for every batch, in offset order. It is false for control batches; any
 * marker of a producer ends that producer's transaction.
 */
export function createAbortedFilter(aborted: readonly AbortedTransaction[]): (header: BatchHeader) => boolean {
  const upcoming = aborted.toSorted((a, b) => (a.firstOffset < b.firstOffset ? -1 : 1))
  const active = new Set<bigint>()
  return (header) => {
    const lastOffset = header.baseOffset + BigInt(header.lastOffsetDelta)
    while (upcoming.length > 0 && upcoming[0]!.firstOffset <= lastOffset) active.add(upcoming.shift()!.producerId)
    if ((header.attributes & CONTROL) !== 0) {
      active.delete(header.producerId)
      return false
    }
    return (header.attributes & TRANSACTIONAL) !== 0 && active.has(header.producerId)
  }
}
