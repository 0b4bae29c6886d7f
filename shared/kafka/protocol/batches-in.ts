/** Reads the answer to a Fetch batch by batch, for code off the hot path. */
import { createAbortedFilter, type AbortedTransaction } from './aborted.ts'
import { inflate } from './compression.ts'
import { BATCH_HEADER_BYTES, COMPRESSION_MASK, CONTROL, readBatchHeader, type BatchHeader } from './record-batch.ts'

/** A batch, as a view of the bytes that it came in. `isData`: it is neither a control batch nor of an aborted transaction. */
export type FoundBatch = { header: BatchHeader; bytes: Buffer; nextOffset: bigint; isData: boolean }

/** The whole batches in the bytes of a partition, in order, also those without data: `nextOffset` goes on behind them. */
export function* batchesIn(bytes: Buffer, aborted: readonly AbortedTransaction[] = []): Generator<FoundBatch> {
  const isAborted = createAbortedFilter(aborted)
  for (let at = 0, header = readBatchHeader(bytes, 0); header; at += header.size, header = readBatchHeader(bytes, at)) {
    const isData = !isAborted(header) && (header.attributes & CONTROL) === 0
    const nextOffset = header.baseOffset + BigInt(header.lastOffsetDelta) + 1n
    yield { header, bytes: bytes.subarray(at, at + header.size), nextOffset, isData }
  }
}

/** The batch's records section, inflated. Throws as `inflate` does. */
export const sectionOf = ({ header, bytes }: Pick<FoundBatch, 'header' | 'bytes'>): Buffer =>
  inflate(header.attributes & COMPRESSION_MASK, bytes.subarray(BATCH_HEADER_BYTES))
