/**
 * Cuts a source batch into slices: at the position it is read from, at the size limit of a call, and where an earlier call did not return.
 * HOT: most batches are one slice, without a copy.
 */
import { LOG_APPEND_TIME } from '../../kafka/protocol/record-batch.ts'
import { slicesOf } from '../../kafka/protocol/section-slices.ts'
import { SMARTMODULE_LIMITS } from '../abi.ts'
import { CorruptBatch, type SourceBatch } from './spec.ts'
import { fillSection, type Kernel } from './kernel.ts'

/** A slice of a batch for one run of the chain: `count` whole records. */
export type Slice = { section: Uint8Array; count: number }

/**
 * A batch with log-append time as one whose records have that time themselves, so that a step can give them another. Nothing may be
 * gathered in the kernel meanwhile. Throws CorruptBatch when its records are malformed.
 */
export function withOwnTimes(kernel: Kernel, batch: SourceBatch): SourceBatch {
  const { section, recordCount, lastOffsetDelta, attributes, maxTimestamp } = batch
  if ((attributes & LOG_APPEND_TIME) === 0) return batch
  fillSection(kernel, section)
  if (kernel.gatherTimeless(section.length, recordCount, lastOffsetDelta) === 0) throw malformed(batch)
  const own = new Uint8Array(kernel.memory.buffer, kernel.gatheredAt(), kernel.gatheredBytes()).slice()
  kernel.gatherBegin()
  return { ...batch, section: own, baseTimestamp: maxTimestamp, attributes: attributes & ~LOG_APPEND_TIME }
}

const malformed = ({ baseOffset, partition }: SourceBatch): CorruptBatch =>
  new CorruptBatch(`the batch at offset ${baseOffset} of partition ${partition} holds malformed records`)

/** Opens a section of the batch in the kernel, from `firstDelta` on. Throws CorruptBatch when its records are malformed. */
export function openSection(kernel: Kernel, section: Uint8Array, count: number, batch: SourceBatch, firstDelta: number): void {
  fillSection(kernel, section)
  if (kernel.openBatch(section.length, count, batch.lastOffsetDelta, firstDelta, batch.isDerived ?? false) < 0) {
    throw malformed(batch)
  }
}

/**
 * The slices of the batch, in order. `cuts` are offsets of the partition, in any order, inside the batch or not. Throws CorruptBatch when
 * records are malformed.
 */
export function slicesByRecord(kernel: Kernel, batch: SourceBatch, cuts: readonly bigint[] = []): Slice[] {
  const most = SMARTMODULE_LIMITS.call_bytes_max
  const last = batch.baseOffset + BigInt(batch.lastOffsetDelta)
  const inside = cuts.length === 0 ? cuts : cuts.filter((cut) => cut > batch.baseOffset && cut <= last)
  if (batch.firstDelta === 0 && inside.length === 0) {
    if (batch.section.length <= most) return [{ section: batch.section, count: batch.recordCount }]
    return bySize(batch, most)
  }
  openSection(kernel, batch.section, batch.recordCount, batch, batch.firstDelta)
  const kept = new Uint8Array(kernel.memory.buffer, kernel.currentPtr(), kernel.currentLength()).slice()
  const deltas = inside.map((cut) => Number(cut - batch.baseOffset)).sort((a, b) => a - b)
  const bounds: number[] = []
  const total = kernel.currentCount()
  for (let ordinal = 0, next = 0; ordinal < total && next < deltas.length; ordinal++) {
    if (kernel.deltaOf(ordinal) < deltas[next]!) continue
    if (ordinal > 0) bounds.push(ordinal)
    while (next < deltas.length && deltas[next]! <= kernel.deltaOf(ordinal)) next++
  }
  const parts: Slice[] = []
  let ordinal = 0
  for (let from = 0; from < kept.length;) {
    const bound = bounds.find((each) => each > ordinal)
    const size = Math.min(kernel.run(from, most), bound === undefined ? Infinity : kernel.positionOf(bound) - from)
    // `run` may have counted past the bound, so the records are counted again.
    const count = countOf(kernel, from, size)
    parts.push({ section: kept.subarray(from, from + size), count })
    ordinal += count
    from += size
  }
  return parts
}

function bySize(batch: SourceBatch, most: number): Slice[] {
  const { buffer, byteOffset, byteLength } = batch.section
  try {
    return [...slicesOf(Buffer.from(buffer, byteOffset, byteLength), batch.recordCount, most)]
  } catch (error) {
    if (error instanceof RangeError) throw malformed(batch)
    throw error
  }
}

function countOf(kernel: Kernel, from: number, size: number): number {
  kernel.run(from, size)
  return kernel.runCount()
}
