/**
 * Runs one partition's bytes through a chain: source batches in, finished output batches out. Skips what does not count (control batches,
 * aborted transactions, records before the position or outside a job's ranges) and advances past it.
 * HOT: work per batch; per record only for failed ones and for jobs.
 */
import {
  BATCH_HEADER_BYTES,
  COMPRESSION_MASK,
  CONTROL,
  LOG_APPEND_TIME,
  TRANSACTIONAL,
  compressBatch,
  decodeRecords,
  readBatchHeader,
  writeBatchHeader,
  type BatchHeader,
  type KafkaRecord,
} from '../../../shared/kafka/protocol/record-batch.ts'
import { clearRows, takeRows, type RowBuffer } from '../../../shared/connectors/encode/row-buffer.ts'
import { batchesOf } from '../../../shared/connectors/block-batches.ts'
import { blockOf } from '../../../shared/connectors/encode/whole-records.ts'
import { frame } from '../../../shared/registry/framing.ts'
import type { Rows } from '../../../shared/connectors/sink.ts'
import { createAbortedFilter } from '../../../shared/kafka/protocol/aborted.ts'
import { inflate } from '../../../shared/kafka/protocol/compression.ts'
import { sectionBefore, slicesOf } from '../../../shared/kafka/protocol/section-slices.ts'
import { COUNTER_COUNT } from '../../../shared/model/counters.ts'
import type { Chain } from '../../../shared/smartmodule/host/chain.ts'
import type { Kernel } from '../../../shared/smartmodule/host/kernel.ts'
import { SMARTMODULE_LIMITS } from '../../../shared/smartmodule/abi.ts'
import { CorruptBatch, type BatchSink, type ChainOutput, type RecordFailure } from '../../../shared/smartmodule/host/spec.ts'
import type { BufferPool } from './buffer-pool.ts'
import type { JobInput } from '../../../shared/model/definition.ts'
import type { SectionDecoder } from './codec-input.ts'
import { createGatherer } from './gathered.ts'
import { deadLetterBatches, deadLetterRecord, type DeadLetter } from './dead-letter.ts'
import { selectRecords, type Selected } from './job-input.ts'
import type { LaneChain, OutputBatch, PartitionOutcome, RoundPartition } from './messages.ts'

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
  if (compression === 'none') return { partition, bytes, length, records }
  const compressed = compressBatch(Buffer.from(bytes, 0, length), compression)
  // An incompressible batch stays as it is: compressed, it might exceed the topic's limit.
  if (compressed.length >= length) return { partition, bytes, length, records }
  buffers.give([bytes])
  return { partition, bytes: compressed.buffer as ArrayBuffer, length: compressed.length, records }
}

/** Rows are handed over in pieces of about this size. */
const ROWS_BYTES = 2 << 20

/** `outputBytes`: bytes produced. `isCut`: the output became too large before all bytes were run; the outcome ends at the cut. */
export type PartitionRun = { outcome: PartitionOutcome; retries: bigint[]; outputBytes: number; isCut: boolean }

export type PartitionRunOptions = {
  rowBuffer?: RowBuffer
  decode?: SectionDecoder
  /** Once this much output is produced, the remaining bytes are left to another run. */
  outputBytesMax?: number
}

/**
 * Runs the bytes of one partition; records that cost an instance are added to `lost`, by step. Throws CorruptBatch when the source's own
 * bytes can't be read.
 */
export async function runPartition(
  kernel: Kernel,
  buffers: BufferPool,
  chain: Chain,
  spec: LaneChain,
  input: RoundPartition,
  nowMs: number,
  lost: number[],
  lostMax: readonly number[],
  { rowBuffer, decode, outputBytesMax = Infinity }: PartitionRunOptions = {},
): Promise<PartitionRun> {
  const bytes = Buffer.from(input.bytes, 0, input.length)
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
  const isAborted = createAbortedFilter(input.aborted)
  let position = input.position
  let lastTime = 0n
  let outputBytes = 0
  let isCut = false
  const slots = spec.partitions ?? 1
  for (let slot = 0; slot < slots; slot++) {
    kernel.select(slot)
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

  const isBeyond = (offset: bigint): boolean => input.until !== undefined && offset >= input.until

  function handRows(buffer: RowBuffer): void {
    outputBytes += buffer.used
    rows.push(takeRows(buffer))
  }

  async function runSlice(
    section: Buffer,
    count: number,
    firstDelta: number,
    header: BatchHeader,
    selected: Selected | undefined,
  ): Promise<void> {
    if (rowBuffer) rowBuffer.originOf = selected && ((offset) => selected.originOf(Number(BigInt(offset) - header.baseOffset)))
    await chain.run(
      {
        section: decode ? decode(section, count, nowMs) : section,
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
      input.suspects,
    )
    if (rowBuffer && rowBuffer.used > ROWS_BYTES) handRows(rowBuffer)
    if (output.failures.length === 0) return
    const fresh = output.failures.filter(({ delta }) => !input.suspects?.deadLettered.has(header.baseOffset + BigInt(delta)))
    deadLetterOffsets.push(...fresh.map(({ delta }) => header.baseOffset + BigInt(delta)))
    output.failures.length = 0
    if (fresh.length === 0) return
    const before = deadLetters.length
    collectDeadLetters(
      deadLetters,
      fresh,
      selected?.records ?? decodeRecords(section, count),
      selected,
      header,
      spec,
      input.partition,
      nowMs,
    )
    for (let i = before; i < deadLetters.length; i++) outputBytes += deadLetters[i]!.bytes
  }

  /** Runs the records of one batch, a large one in slices. Returns the offset of the first record left when the output became too large. */
  async function runBatch(
    section: Buffer,
    count: number,
    header: BatchHeader,
    selected: Selected | undefined,
  ): Promise<bigint | undefined> {
    const firstDelta = position > header.baseOffset ? Number(position - header.baseOffset) : 0
    if (section.length <= SMARTMODULE_LIMITS.call_bytes_max) await runSlice(section, count, firstDelta, header, selected)
    else {
      let isFirst = true
      for (const slice of readRecords(header, () => [...slicesOf(section, count, SMARTMODULE_LIMITS.call_bytes_max)])) {
        if (slice.lastDelta < firstDelta) continue
        if (!isFirst && outputBytes >= outputBytesMax) return header.baseOffset + BigInt(slice.firstDelta)
        await runSlice(slice.section, slice.count, isFirst ? firstDelta : 0, header, selected)
        isFirst = false
      }
    }
    return undefined
  }

  /** Runs a batch by itself, up to `input.until`. Returns the same as `runBatch`. */
  async function runWhole(section: Buffer, header: BatchHeader, lastOffset: bigint): Promise<bigint | undefined> {
    const selected = spec.job && selectForJob(section, header, input.partition, spec.job)
    const whole = { section: selected?.section ?? section, count: selected?.count ?? header.recordCount }
    const part = isBeyond(lastOffset)
      ? readRecords(header, () => sectionBefore(whole.section, whole.count, Number(input.until! - header.baseOffset)))
      : whole
    return part.count === 0 ? undefined : runBatch(part.section, part.count, header, selected)
  }

  // No gathering where offsets matter (jobs, suspect records) or where values are decoded one by one.
  const gatherer = spec.job || decode || input.suspects ? undefined : createGatherer(kernel)
  /** The offset after all batches seen so far; the position follows once the gathered batches have run. */
  let reached = position

  async function runGathered(): Promise<void> {
    if (!gatherer?.isOpen) return
    const { section, header } = gatherer.take()
    await runSlice(section, header.recordCount, 0, header, undefined)
    position = reached
  }

  for (let at = 0, header = readBatchHeader(bytes, at); header !== undefined; at += header.size, header = readBatchHeader(bytes, at)) {
    if (header.magic !== 2) throw new CorruptBatch(`the batch at offset ${header.baseOffset} has the retired format v${header.magic}`)
    const lastOffset = header.baseOffset + BigInt(header.lastOffsetDelta)
    // Checked for every batch, also for those run before: their markers end aborted transactions.
    const isOut = isAborted(header)
    if (lastOffset < position) continue
    if (isBeyond(header.baseOffset)) break
    // Before the batch is run, so that its time also counts if the run is cut inside it.
    if (header.maxTimestamp > lastTime) lastTime = header.maxTimestamp
    if ((header.attributes & CONTROL) === 0 && !isOut && header.recordCount > 0) {
      const section = openSection(bytes.subarray(at, at + header.size), header)
      const mayGather = gatherer && header.baseOffset >= position && !isBeyond(lastOffset)
      let isGathered = mayGather && gatherer.add(section, header)
      if (!isGathered && gatherer?.isOpen) {
        await runGathered()
        isGathered = mayGather && gatherer.add(section, header)
      }
      const left = isGathered ? undefined : await runWhole(section, header, lastOffset)
      if (left !== undefined) {
        position = left
        isCut = true
        break
      }
    }
    reached = isBeyond(lastOffset) ? input.until! : lastOffset + 1n
    if (gatherer?.isFull()) await runGathered()
    if (!gatherer?.isOpen) position = reached
    if (outputBytes >= outputBytesMax && at + header.size < input.length) {
      isCut = true
      break
    }
  }
  if (!isCut) await runGathered()
  if (rowBuffer && rowBuffer.count > 0) handRows(rowBuffer)
  if (spec.sinkCodec) sink.push(...encodedBatches(rows.splice(0), spec, input.sinkPartition, lastTime))
  for (let slot = 0; slot < slots; slot++) {
    kernel.select(slot)
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
}

/** Batches of records with encoded values. Their timestamp is that of the newest record of the run. */
function encodedBatches(rows: Rows[], spec: LaneChain, sinkPartition: number, time: bigint): OutputBatch[] {
  if (rows.length === 0) return []
  const batches = batchesOf(blockOf(rows).block, {
    partitions: spec.partitions ?? 1,
    keyless: spec.partitions === undefined ? 0 : sinkPartition,
    nowMs: Number(time),
    attributes: TRANSACTIONAL,
    prefix: frame(spec.reframeSchemaId, ''),
    bytesMax: spec.sinkBatchBytesMax,
  })
  return batches.map((batch) => {
    const partition = spec.partitions === undefined ? sinkPartition : batch.partition
    if (spec.compression === 'none') return { ...batch, partition }
    const compressed = compressBatch(Buffer.from(batch.bytes, 0, batch.length), spec.compression)
    return { partition, bytes: compressed.buffer as ArrayBuffer, length: compressed.length, records: batch.records }
  })
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

/** Reads the records of a section with `read`. Throws CorruptBatch when their lengths don't add up. */
function readRecords<T>(header: BatchHeader, read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw new CorruptBatch(`the batch at offset ${header.baseOffset} holds malformed records: ${String(error)}`)
  }
}

function selectForJob(section: Buffer, header: BatchHeader, partition: number, job: JobInput): Selected {
  try {
    return selectRecords(section, header, partition, job)
  } catch (error) {
    throw new CorruptBatch(`the batch at offset ${header.baseOffset} of partition ${partition} can't be read: ${String(error)}`)
  }
}

/** Cold: only batches with failures come here. */
function collectDeadLetters(
  into: DeadLetter[],
  failures: RecordFailure[],
  records: readonly KafkaRecord[],
  selected: Selected | undefined,
  header: BatchHeader,
  spec: LaneChain,
  partition: number,
  nowMs: number,
): void {
  const byDelta = new Map(failures.map((failure) => [failure.delta, failure]))
  for (const record of records) {
    const failure = byDelta.get(record.offsetDelta)
    if (!failure) continue
    const own = {
      topic: spec.sourceTopic,
      partition,
      offset: header.baseOffset + BigInt(record.offsetDelta),
      attempts: 0,
      redrives: 0,
      timestamp: (header.attributes & LOG_APPEND_TIME) !== 0 ? header.maxTimestamp : header.baseTimestamp + record.timestampDelta,
    }
    into.push(deadLetterRecord(record, failure, spec, selected?.originOf(record.offsetDelta) ?? own, nowMs))
  }
}
