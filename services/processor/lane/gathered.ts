/**
 * Small batches of one partition as one, for producers that send a few records at a time: what a step and the kernel cost per call is then
 * shared by many records. HOT: work per batch.
 */
import { COMPRESSION_MASK, LOG_APPEND_TIME, type BatchHeader } from '../../../shared/kafka/protocol/record-batch.ts'
import { fillSection, type Kernel } from '../../../shared/smartmodule/host/kernel.ts'

/** A batch with a larger section is worth a call of its own. */
const SMALL_BYTES = 16 << 10
const GATHERED_BYTES = 64 << 10
/** The kernel keeps a mark for each offset. */
const OFFSETS_MAX = 65_536n
/** So far apart may timestamps be, in milliseconds; a producer may write anything. */
const TIME_MAX = 1n << 40n

export type Gathered = { section: Buffer; header: BatchHeader }

export type Gatherer = {
  readonly isOpen: boolean
  /** True when the batch was taken in; otherwise it is to be run by itself, after what was gathered. */
  add(section: Buffer, header: BatchHeader): boolean
  isFull(): boolean
  /** All that was gathered, as one batch; the gatherer begins anew. */
  take(): Gathered
}

/** Of the batches that the kernel of this lane runs. The kernel's section is used. */
export function createGatherer(kernel: Kernel): Gatherer {
  let first: BatchHeader | undefined
  let only: Buffer | undefined
  let count = 0
  let bytes = 0
  let lastOffset = 0n
  let maxTimestamp = 0n

  /** False for a section that is malformed: then nothing of it was added. */
  function put(section: Buffer, { recordCount, lastOffsetDelta, baseOffset, baseTimestamp }: BatchHeader, base: BatchHeader): boolean {
    fillSection(kernel, section)
    const offsetShift = Number(baseOffset - base.baseOffset)
    const total = kernel.gather(section.length, recordCount, lastOffsetDelta, offsetShift, baseTimestamp - base.baseTimestamp)
    if (total < 0) return false
    bytes = total
    return true
  }

  return {
    get isOpen() {
      return first !== undefined
    },
    isFull: () => bytes >= GATHERED_BYTES,
    add(section, header) {
      if (section.length > SMALL_BYTES || (header.attributes & LOG_APPEND_TIME) !== 0) return false
      const last = header.baseOffset + BigInt(header.lastOffsetDelta)
      if (first) {
        const shift = header.baseTimestamp - first.baseTimestamp
        if (last - first.baseOffset >= OFFSETS_MAX || shift > TIME_MAX || shift < -TIME_MAX) return false
      }
      if (first === undefined) {
        if (BigInt(header.lastOffsetDelta) >= OFFSETS_MAX) return false
        // Nothing is copied for a batch that stays alone.
        first = header
        only = section
        bytes = section.length
        count = header.recordCount
      } else {
        if (only) {
          kernel.gatherBegin()
          if (!put(only, first, first)) return false
          only = undefined
        }
        if (!put(section, header, first)) return false
        count += header.recordCount
      }
      lastOffset = last
      if (first === header || header.maxTimestamp > maxTimestamp) maxTimestamp = header.maxTimestamp
      return true
    },
    take() {
      const base = first!
      const section = only ?? Buffer.from(new Uint8Array(kernel.memory.buffer, kernel.gatheredAt(), bytes).slice().buffer)
      first = undefined
      only = undefined
      const lastOffsetDelta = Number(lastOffset - base.baseOffset)
      const attributes = base.attributes & ~COMPRESSION_MASK
      bytes = 0
      return { section, header: { ...base, attributes, lastOffsetDelta, recordCount: count, maxTimestamp } }
    },
  }
}
