/**
 * Joins small batches of one partition into one, for producers that send a few records at a time: many records then share the cost of one
 * call of the kernel and of each step. HOT: work per batch.
 */
import { COMPRESSION_MASK, LOG_APPEND_TIME, type BatchHeader } from '../../../shared/kafka/protocol/record-batch.ts'
import { fillSection, type Kernel } from '../../../shared/smartmodule/host/kernel.ts'

/** A batch with a larger records section is run by itself. */
const SMALL_BYTES = 16 << 10
const GATHERED_BYTES = 64 << 10
/** Largest span of offsets: the kernel keeps a mark for each offset. */
const OFFSETS_MAX = 65_536n
/** Largest distance between timestamps in milliseconds: a producer may write any timestamp. */
const TIME_MAX = 1n << 40n

export type Gathered = { section: Buffer; header: BatchHeader }

export type Gatherer = {
  readonly isOpen: boolean
  /** True when the batch was added; otherwise it must be run by itself, after what was gathered. */
  add(section: Buffer, header: BatchHeader): boolean
  isFull(): boolean
  /** All that was gathered, as one batch; the gatherer starts over. */
  take(): Gathered
}

/** Gathers batches for this lane's kernel, whose section it overwrites. */
export function createGatherer(kernel: Kernel): Gatherer {
  let first: BatchHeader | undefined
  let only: Buffer | undefined
  let count = 0
  let bytes = 0
  let lastOffset = 0n
  let maxTimestamp = 0n

  /** False for a malformed section, of which nothing was added. */
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
        // A batch that stays alone is not copied.
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
