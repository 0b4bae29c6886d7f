/**
 * One partition's bytes through a chain: source batches in, finished output batches out. Drops what does not count (control batches,
 * aborted transactions, what lies before the position) and advances past it.
 * HOT: work per batch; per record only for those that failed.
 */
import {
  BATCH_HEADER_BYTES,
  COMPRESSION_MASK,
  CONTROL,
  TRANSACTIONAL,
  decodeRecords,
  readBatchHeader,
  writeBatchHeader,
  type BatchHeader,
} from '../../../shared/kafka/protocol/record-batch.ts'
import { createAbortedFilter } from '../../../shared/kafka/protocol/aborted.ts'
import { inflate } from '../../../shared/kafka/protocol/compression.ts'
import { COUNTER_COUNT, CorruptBatch, type BatchSink, type Chain, type RecordFailure } from '../../../shared/smartmodule/host/chain.ts'
import type { Kernel } from '../../../shared/smartmodule/host/kernel.ts'
import type { BufferPool } from '../task/buffer-pool.ts'
import { deadLetterBatches, deadLetterRecord, type DeadLetter } from './dead-letter.ts'
import type { LaneChain, OutputBatch, PartitionOutcome, RoundPartition } from './messages.ts'

/** Takes the batch that the kernel has built, as a buffer of its own with its header written. */
function takeBuilt(kernel: Kernel, buffers: BufferPool, baseTimestamp: bigint): OutputBatch {
  const from = kernel.builtAt()
  const length = kernel.builtBytes()
  const bytes = buffers.take(length)
  new Uint8Array(bytes, 0, length).set(new Uint8Array(kernel.memory.buffer, from, length))
  const records = kernel.builtRecords()
  writeBatchHeader(Buffer.from(bytes, 0, length), {
    attributes: TRANSACTIONAL,
    recordCount: records,
    baseTimestamp,
    maxTimestamp: kernel.builtMaxTimestamp(),
  })
  return { bytes, length, records }
}

/** Runs the bytes of one partition. Throws CorruptBatch when the source's own bytes can't be read. */
export async function runPartition(
  kernel: Kernel,
  buffers: BufferPool,
  chain: Chain,
  spec: LaneChain,
  input: RoundPartition,
  nowMs: number,
): Promise<PartitionOutcome> {
  const bytes = Buffer.from(input.bytes, 0, input.length)
  const counts = new Float64Array(Math.max(1, chain.stepCount) * COUNTER_COUNT)
  const sink: OutputBatch[] = []
  const deadLetters: DeadLetter[] = []
  const isAborted = createAbortedFilter(input.aborted)
  let position = input.position
  let records = 0
  let builtBase: bigint | undefined
  const output: BatchSink = {
    batchBytesMax: spec.sinkBatchBytesMax,
    recordBytesMax: spec.sinkRecordBytesMax,
    seal() {
      sink.push(takeBuilt(kernel, buffers, builtBase!))
    },
  }
  for (let at = 0, header = readBatchHeader(bytes, at); header !== undefined; at += header.size, header = readBatchHeader(bytes, at)) {
    if (header.magic !== 2) throw new CorruptBatch(`the batch at offset ${header.baseOffset} has the retired format v${header.magic}`)
    const lastOffset = header.baseOffset + BigInt(header.lastOffsetDelta)
    if (lastOffset < position) continue
    const batch = bytes.subarray(at, at + header.size)
    const isOut = isAborted(header)
    if ((header.attributes & CONTROL) === 0 && !isOut && header.recordCount > 0) {
      if (builtBase === undefined) {
        builtBase = header.baseTimestamp
        kernel.begin(builtBase)
      }
      // The chain's `seal` is followed by `begin` with the batch's own base; remember the same.
      const failures: RecordFailure[] = []
      const section = openSection(batch, header)
      const firstDelta = position > header.baseOffset ? Number(position - header.baseOffset) : 0
      const base = header.baseTimestamp
      const sealing: BatchSink = {
        batchBytesMax: output.batchBytesMax,
        recordBytesMax: output.recordBytesMax,
        seal() {
          output.seal()
          builtBase = base
        },
      }
      const before = counts[0]!
      await chain.run(
        {
          section,
          recordCount: header.recordCount,
          lastOffsetDelta: header.lastOffsetDelta,
          firstDelta,
          baseOffset: header.baseOffset,
          baseTimestamp: header.baseTimestamp,
          maxTimestamp: header.maxTimestamp,
          attributes: header.attributes,
          partition: input.partition,
        },
        sealing,
        counts,
        failures,
      )
      records += counts[0]! - before
      if (failures.length > 0) collectDeadLetters(deadLetters, failures, section, header, spec, input.partition, nowMs)
    }
    position = lastOffset + 1n
  }
  if (builtBase !== undefined && kernel.builtRecords() > 0) output.seal()
  return {
    partition: input.partition,
    sinkPartition: input.sinkPartition,
    nextOffset: position,
    records,
    sink,
    deadLetters: deadLetterBatches(deadLetters, nowMs, spec.sinkBatchBytesMax, spec.deadLetterBytesMax),
    counts,
  }
}

function openSection(batch: Buffer, header: BatchHeader): Buffer {
  try {
    return inflate(header.attributes & COMPRESSION_MASK, batch.subarray(BATCH_HEADER_BYTES))
  } catch (error) {
    throw new CorruptBatch(
      `the batch at offset ${header.baseOffset} does not inflate: ${error instanceof Error ? error.message : String(error)}`,
    )
  }
}

/** Cold: only batches with failures come here. */
function collectDeadLetters(
  into: DeadLetter[],
  failures: RecordFailure[],
  section: Buffer,
  header: BatchHeader,
  spec: LaneChain,
  partition: number,
  nowMs: number,
): void {
  const byDelta = new Map(failures.map((failure) => [failure.delta, failure]))
  for (const record of decodeRecords(section, header.recordCount)) {
    const failure = byDelta.get(record.offsetDelta)
    if (failure) into.push(deadLetterRecord(record, failure, spec, partition, header.baseOffset + BigInt(record.offsetDelta), nowMs))
  }
}
