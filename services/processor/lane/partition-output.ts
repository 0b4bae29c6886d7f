/**
 * What a chain makes of one partition's records in one run: finished batches for the sink or rows, dead letters, counters. HOT: work per
 * batch; per record only for failed ones.
 */
import { batchesOf } from '../../../shared/connectors/block-batches.ts'
import { clearRows, takeRows, type RowBuffer } from '../../../shared/connectors/encode/row-buffer.ts'
import { blockOf } from '../../../shared/connectors/encode/whole-records.ts'
import type { Rows } from '../../../shared/connectors/sink.ts'
import {
  LOG_APPEND_TIME,
  TRANSACTIONAL,
  compressBatch,
  decodeRecords,
  writeBatchHeader,
  type KafkaRecord,
  type SectionHeader,
} from '../../../shared/kafka/protocol/record-batch.ts'
import { COUNTER_COUNT } from '../../../shared/model/counters.ts'
import { frame } from '../../../shared/model/framing.ts'
import type { Chain } from '../../../shared/smartmodule/host/chain.ts'
import type { Kernel } from '../../../shared/smartmodule/host/kernel.ts'
import type { BatchSink, ChainOutput, RecordFailure } from '../../../shared/smartmodule/host/spec.ts'
import type { BufferPool } from './buffer-pool.ts'
import type { SectionDecoder } from './codec-input.ts'
import { deadLetterBatches, deadLetterRecord, type DeadLetter } from './dead-letter.ts'
import type { Selected } from './job-input.ts'
import type { LaneChain, OutputBatch, PartitionOutcome, RoundPartition } from './messages.ts'

/** What a run needs of its lane; `lost` and `lostMax` count records that cost an instance, by step. */
export type RunContext = {
  kernel: Kernel
  buffers: BufferPool
  chain: Chain
  spec: LaneChain
  nowMs: number
  lost: number[]
  lostMax: readonly number[]
  /** Where the sink takes rows. */
  rowBuffer?: RowBuffer
  /** Where the source's values are decoded to JSON. */
  decode?: SectionDecoder
}

/**
 * `outputBytes`: bytes produced. `isCut`: the output became too large, or its requests took too long, before all bytes were run; the
 * outcome ends there.
 */
export type PartitionRun = { outcome: PartitionOutcome; retries: bigint[]; outputBytes: number; isCut: boolean }

/** Copies the batch that the kernel has built into its own buffer, writes its header, and begins the next one. */
function takeBuilt(kernel: Kernel, buffers: BufferPool, partition: number, compression: LaneChain['compression']): OutputBatch {
  const from = kernel.builtAt()
  const length = kernel.builtBytes()
  const bytes = buffers.take(length)
  new Uint8Array(bytes, 0, length).set(new Uint8Array(kernel.memory.buffer, from, length))
  const records = kernel.builtRecords()
  writeBatchHeader(Buffer.from(bytes, 0, length), {
    attributes: TRANSACTIONAL,
    recordCount: records,
    baseTimestamp: kernel.builtBaseTimestamp(),
    maxTimestamp: kernel.builtMaxTimestamp(),
  })
  kernel.begin(0n)
  const compressed = compressedOf({ partition, bytes, length, records }, compression)
  if (compressed.bytes !== bytes) buffers.give([bytes])
  return compressed
}

/** The batch compressed. An incompressible one stays as it is: compressed, it might exceed the topic's limit. */
function compressedOf(batch: OutputBatch, compression: LaneChain['compression']): OutputBatch {
  if (compression === 'none') return batch
  const compressed = compressBatch(Buffer.from(batch.bytes, 0, batch.length), compression)
  if (compressed.length >= batch.length) return batch
  return { ...batch, bytes: compressed.buffer as ArrayBuffer, length: compressed.length }
}

/** Rows are handed over in pieces of about this size. */
const ROWS_BYTES = 2 << 20

export function openPartitionOutput(context: RunContext, input: RoundPartition) {
  const { kernel, buffers, chain, spec, nowMs, lost, lostMax, rowBuffer, decode } = context
  const output: ChainOutput = {
    counts: new Float64Array(Math.max(1, chain.stepCount) * COUNTER_COUNT),
    failures: [],
    retries: [],
    lost,
    lostMax,
  }
  const sink: OutputBatch[] = []
  const rows: Rows[] = []
  const deadLetters: DeadLetter[] = []
  const deadLetterOffsets: bigint[] = []
  if (rowBuffer) {
    clearRows(rowBuffer)
    rowBuffer.partition = input.partition
  }
  let outputBytes = 0
  const builders = spec.partitions ?? 1
  for (let builder = 0; builder < builders; builder++) {
    kernel.select(builder)
    kernel.begin(0n)
  }
  kernel.select(0)
  const target: BatchSink = {
    batchBytesMax: spec.sinkBatchBytesMax,
    recordBytesMax: spec.sinkRecordBytesMax,
    seal: () => {
      // When records go to partitions by key, the kernel builds one batch per partition; the full one is the selected one.
      const partition = spec.partitions === undefined ? input.sinkPartition : kernel.selected()
      const built = takeBuilt(kernel, buffers, partition, spec.compression)
      outputBytes += built.length
      sink.push(built)
    },
  }

  function handRows(buffer: RowBuffer): void {
    outputBytes += buffer.used
    rows.push(takeRows(buffer))
  }

  /** D3: every failed record gets a dead letter, unless it has one already. */
  function takeFailures(section: Buffer, count: number, header: SectionHeader, selected: Selected | undefined): void {
    const fresh = output.failures
      .filter(({ delta }) => !input.knownFailures?.deadLettered.has(header.baseOffset + BigInt(delta)))
      .map((failure) => withReason(failure, decode?.reasonAt(failure.delta)))
    deadLetterOffsets.push(...fresh.map(({ delta }) => header.baseOffset + BigInt(delta)))
    output.failures.length = 0
    if (fresh.length === 0) return
    const before = deadLetters.length
    // A copy: dead letters outlive the section, whose memory is used again.
    const records = selected?.records ?? decodeRecords(Buffer.from(section), count)
    collectDeadLetters(deadLetters, fresh, records, selected, header, spec, input, nowMs)
    for (let i = before; i < deadLetters.length; i++) outputBytes += deadLetters[i]!.bytes
  }

  return {
    /** Bytes made so far. */
    bytes: (): number => outputBytes,
    /** Runs a section of whole records; `selected` is set for a job. */
    async runSlice(
      section: Buffer,
      count: number,
      firstDelta: number,
      header: SectionHeader,
      selected: Selected | undefined,
    ): Promise<void> {
      if (rowBuffer) rowBuffer.originOf = selected && ((offset) => selected.originOf(Number(BigInt(offset) - header.baseOffset)))
      await chain.run(
        {
          section: decode ? decode.decode(section, count) : section,
          recordCount: count,
          lastOffsetDelta: header.lastOffsetDelta,
          firstDelta,
          baseOffset: header.baseOffset,
          baseTimestamp: header.baseTimestamp,
          maxTimestamp: header.maxTimestamp,
          attributes: header.attributes,
          partition: input.partition,
          sinkPartition: input.sinkPartition,
        },
        target,
        output,
        input.knownFailures,
      )
      if (rowBuffer && rowBuffer.used > ROWS_BYTES) handRows(rowBuffer)
      if (output.failures.length > 0) takeFailures(section, count, header, selected)
    },
    /** The run's outcome, up to `position`. */
    finish(position: bigint, isCut: boolean): PartitionRun {
      if (rowBuffer && rowBuffer.count > 0) handRows(rowBuffer)
      if (spec.sinkCodec) sink.push(...encodedBatches(rows.splice(0), spec, input.sinkPartition, nowMs))
      for (let builder = 0; builder < builders; builder++) {
        kernel.select(builder)
        if (kernel.builtRecords() > 0) target.seal()
      }
      kernel.select(0)
      return {
        retries: output.retries,
        outputBytes,
        isCut,
        outcome: {
          partition: input.partition,
          nextOffset: isCut || position > input.nextOffset ? position : input.nextOffset,
          records: output.counts[0]!,
          sink,
          rows,
          deadLetters: deadLetterBatches(deadLetters, input.deadLetterPartition, nowMs, spec.sinkBatchBytesMax, spec.deadLetterBytesMax),
          deadLetterOffsets,
          counts: output.counts,
        },
      }
    },
  }
}

/** Batches of records with encoded values. */
function encodedBatches(rows: Rows[], spec: LaneChain, sinkPartition: number, nowMs: number): OutputBatch[] {
  if (rows.length === 0) return []
  const { block, times } = blockOf(rows)
  const batches = batchesOf(block, {
    partitions: spec.partitions ?? 1,
    keyless: spec.partitions === undefined ? 0 : sinkPartition,
    nowMs,
    times,
    attributes: TRANSACTIONAL,
    prefix: frame(spec.reframeSchemaId, ''),
    bytesMax: spec.sinkBatchBytesMax,
  })
  return batches.map((batch) =>
    compressedOf({ ...batch, partition: spec.partitions === undefined ? sinkPartition : batch.partition }, spec.compression),
  )
}

/** A value that can't be decoded fails wherever it is looked at first: its dead letter says why it can't be. */
const withReason = (failure: RecordFailure, message: string | undefined): RecordFailure =>
  message === undefined ? failure : { ...failure, code: 'value_unreadable', message }

/** Cold: only batches with failures come here. */
function collectDeadLetters(
  into: DeadLetter[],
  failures: RecordFailure[],
  records: readonly KafkaRecord[],
  selected: Selected | undefined,
  header: SectionHeader,
  spec: LaneChain,
  { topicId, partition }: RoundPartition,
  nowMs: number,
): void {
  const byDelta = new Map(failures.map((failure) => [failure.delta, failure]))
  for (const record of records) {
    const failure = byDelta.get(record.offsetDelta)
    if (!failure) continue
    const own = {
      topic: spec.sourceTopic,
      topicId,
      partition,
      offset: header.baseOffset + BigInt(record.offsetDelta),
      attempts: 0,
      redrives: 0,
      timestamp: (header.attributes & LOG_APPEND_TIME) !== 0 ? header.maxTimestamp : header.baseTimestamp + record.timestampDelta,
    }
    into.push(deadLetterRecord(record, failure, spec, selected?.originOf(record.offsetDelta) ?? own, nowMs))
  }
}
