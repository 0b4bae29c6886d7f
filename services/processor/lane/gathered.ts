/**
 * Joins small batches of one partition into one, for producers that send a few records at a time: many records then share the cost of one
 * call of the kernel and of each step. HOT: work per batch only for compressed ones.
 */
import {
  BATCH_HEADER_BYTES,
  COMPRESSION_MASK,
  isPlainBatch,
  LOG_APPEND_TIME,
  type SectionHeader,
} from '../../../shared/kafka/protocol/record-batch.ts'
import { fillSection, type Kernel } from '../../../shared/smartmodule/host/kernel.ts'

/** A batch with a larger records section is run by itself, as `kernel/gather.ts` says too. */
const SMALL_BYTES = 16 << 10
const GATHERED_BYTES = 64 << 10
/** Larger than any offset of a topic. */
const NO_END = (1n << 63n) - 1n

/** Gathered batches, joined into one, with what running it needs. */
export type Gathered = {
  section: Buffer
  header: SectionHeader
}

/** The batches that `addPlain` has passed: their bytes, and the offset after them. */
export type Passed = { bytes: number; nextOffset: bigint }

export type Gatherer = {
  readonly isOpen: boolean
  /**
   * Passes batches from byte `at` on, control batches included, whose offsets are all from `position` on and before `until`. Undefined when
   * the batch there must be looked at by itself.
   */
  addPlain(bytes: Buffer, at: number, position: bigint, until: bigint | undefined): Passed | undefined
  /** True when the batch was added; otherwise it must be run by itself, after what was gathered. */
  add(section: Buffer, header: SectionHeader): boolean
  isFull(): boolean
  /** All that was gathered, as one batch; the gatherer starts over. The section is valid until the next `take`. */
  take(): Gathered
}

/** Gathers batches for this lane's kernel, whose section it overwrites. */
export function createGatherer(kernel: Kernel): Gatherer {
  let scratch = Buffer.alloc(0)
  kernel.gatherBegin()

  /** A copy, because running it overwrites the kernel's section. */
  function copyOut(): Buffer {
    const length = kernel.gatheredBytes()
    if (scratch.length < length) scratch = Buffer.allocUnsafeSlow(Math.max(length, 2 * GATHERED_BYTES))
    scratch.set(new Uint8Array(kernel.memory.buffer, kernel.gatheredAt(), length))
    return scratch.subarray(0, length)
  }

  return {
    get isOpen() {
      return kernel.gatheredRecords() > 0
    },
    isFull: () => kernel.gatheredBytes() >= GATHERED_BYTES,
    addPlain(bytes, at, position, until) {
      if (!isPlainBatch(bytes, at, SMALL_BYTES + BATCH_HEADER_BYTES) || bytes.readBigInt64BE(at) < position) return undefined
      const length = Math.min(bytes.length - at, GATHERED_BYTES)
      fillSection(kernel, bytes.subarray(at, at + length))
      const passed = kernel.gatherBatches(length, position, until ?? NO_END)
      return passed === 0 ? undefined : { bytes: passed, nextOffset: kernel.gatherPassedTo() }
    },
    add(section, { attributes, recordCount, lastOffsetDelta, baseOffset, baseTimestamp, maxTimestamp }) {
      if (section.length > SMALL_BYTES || (attributes & LOG_APPEND_TIME) !== 0) return false
      fillSection(kernel, section)
      const plain = attributes & ~COMPRESSION_MASK
      return kernel.gather(section.length, recordCount, lastOffsetDelta, baseOffset, baseTimestamp, maxTimestamp, plain) >= 0
    },
    take() {
      const header = {
        baseOffset: kernel.gatheredFirstOffset(),
        attributes: kernel.gatheredAttributes(),
        lastOffsetDelta: kernel.gatheredLastDelta(),
        baseTimestamp: kernel.gatheredBaseTimestamp(),
        maxTimestamp: kernel.gatheredMaxTimestamp(),
        recordCount: kernel.gatheredRecords(),
      }
      const section = copyOut()
      kernel.gatherBegin()
      return { section, header }
    },
  }
}
