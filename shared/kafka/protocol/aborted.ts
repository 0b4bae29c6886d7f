/** Which batches of a read-committed Fetch answer belong to aborted transactions; the broker sends them all the same (KIP-98). Pure. */
import { CONTROL, TRANSACTIONAL, type BatchHeader } from './record-batch.ts'

/** A transaction that was aborted: its batches from `firstOffset` up to its abort marker don't count. */
export type AbortedTransaction = { producerId: bigint; firstOffset: bigint }

/** Asked once for every batch, in offset order. Control batches are never aborted; any marker of a producer ends its transaction. */
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
