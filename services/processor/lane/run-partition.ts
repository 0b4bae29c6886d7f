/**
 * Runs one partition's bytes through a chain: source batches in, finished output batches out. Skips what does not count (control batches,
 * aborted transactions, records before the position or outside a job's ranges) and advances past it.
 * HOT: work per batch; per record only for failed ones and for jobs.
 */
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import {
  BATCH_HEADER_BYTES,
  COMPRESSION_MASK,
  CONTROL,
  readBatchHeader,
  type BatchHeader,
  type SectionHeader,
} from '../../../shared/kafka/protocol/record-batch.ts'
import { createAbortedFilter } from '../../../shared/kafka/protocol/aborted.ts'
import { freeInflated, inflateToFree } from '../../../shared/kafka/protocol/compression.ts'
import { sectionBefore, slicesOf } from '../../../shared/kafka/protocol/section-slices.ts'
import type { JobInput } from '../../../shared/model/definition.ts'
import { SMARTMODULE_LIMITS } from '../../../shared/smartmodule/abi.ts'
import { CorruptBatch } from '../../../shared/smartmodule/host/spec.ts'
import { createGatherer } from './gathered.ts'
import { selectRecords, type Selected } from './job-input.ts'
import type { RoundPartition } from './messages.ts'
import { openPartitionOutput, type PartitionRun, type RunContext } from './partition-output.ts'

/** For one call of a chain that sends requests, some hundred records. Kept small, so that few other records are repeated when one traps. */
const ASKING_BYTES_MAX = 16 << 10
/** After this time such a run is cut, so that what it has done is committed. */
const ASKING_MS_MAX = 2000

/**
 * Runs the bytes of one partition. It stops, and leaves the rest to another run, once `outputBytesMax` are made, the partition's
 * `recordsMax` are taken, or its requests have taken long enough (`isLate`). Throws CorruptBatch when the source's own bytes can't be read.
 */
export async function runPartition(
  context: RunContext,
  input: RoundPartition,
  outputBytesMax = Infinity,
): Promise<PartitionRun & { isLate: boolean }> {
  const { kernel, spec, decode } = context
  const bytes = Buffer.from(input.bytes, 0, input.length)
  const output = openPartitionOutput(context, input)
  const isAborted = createAbortedFilter(input.aborted)
  let position = input.position
  let isCut = false
  const { recordsMax = Infinity } = input
  let taken = 0

  const isAsking = spec.steps.some(({ document }) => document.allowed_hosts)
  const callBytesMax = isAsking ? ASKING_BYTES_MAX : SMARTMODULE_LIMITS.call_bytes_max
  const startedAt = performance.now()
  const isLate = (): boolean => isAsking && performance.now() - startedAt >= ASKING_MS_MAX
  /** True once this run has made or taken as much as it may, or its requests have taken long enough. */
  const isFull = (): boolean => output.bytes() >= outputBytesMax || taken >= recordsMax || isLate()

  const isBeyond = (offset: bigint): boolean => input.until !== undefined && offset >= input.until

  /** Runs the records of one batch, a large one in slices. Returns the offset of the first record left when the output became too large. */
  async function runBatch(
    section: Buffer,
    count: number,
    header: SectionHeader,
    selected: Selected | undefined,
  ): Promise<bigint | undefined> {
    const firstDelta = position > header.baseOffset ? Number(position - header.baseOffset) : 0
    const bytesMax = Math.min(callBytesMax, Math.ceil(section.length / count) * recordsMax)
    const whole = { section, count, firstDelta, lastDelta: firstDelta }
    const slices = section.length <= bytesMax ? [whole] : readRecords(header, () => [...slicesOf(section, count, bytesMax)])
    let isFirst = true
    for (const slice of slices) {
      if (slice.lastDelta < firstDelta) continue
      if (!isFirst && isFull()) return header.baseOffset + BigInt(slice.firstDelta)
      await output.runSlice(slice.section, slice.count, isFirst ? firstDelta : 0, header, selected)
      isFirst = false
      taken += slice.count
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

  // No gathering where offsets matter (jobs, failed rounds that are run again), where values are decoded one by one, or where records take
  // long.
  const gatherer = spec.job || decode || input.knownFailures || isAsking || recordsMax < Infinity ? undefined : createGatherer(kernel)
  /** The offset after all batches seen so far; the position follows once the gathered batches have run. */
  let reached = position

  async function runGathered(): Promise<void> {
    if (!gatherer?.isOpen) return
    const { section, header } = gatherer.take()
    await output.runSlice(section, header.recordCount, 0, header, undefined)
    position = reached
  }

  /** Before the next batch, at byte `at`: runs what was gathered if that is enough. True when the output became too large to go on. */
  async function isEnough(at: number): Promise<boolean> {
    if (gatherer?.isFull()) await runGathered()
    if (!gatherer?.isOpen) position = reached
    isCut = isFull() && at < input.length
    return isCut
  }

  for (let at = 0; ;) {
    // Whether a batch belongs to an aborted transaction is decided batch by batch.
    const passed = input.aborted.length === 0 ? gatherer?.addPlain(bytes, at, position, input.until) : undefined
    if (passed) {
      at += passed.bytes
      reached = passed.nextOffset
      if (await isEnough(at)) break
      continue
    }
    const header = readBatchHeader(bytes, at)
    if (!header) break
    at += header.size
    if (header.magic !== 2) throw new CorruptBatch(`the batch at offset ${header.baseOffset} has the retired format v${header.magic}`)
    const lastOffset = header.baseOffset + BigInt(header.lastOffsetDelta)
    // Checked for every batch, also for those run before: their markers end aborted transactions.
    const isOut = isAborted(header)
    if (lastOffset < position) continue
    if (isBeyond(header.baseOffset)) break
    if ((header.attributes & CONTROL) === 0 && !isOut && header.recordCount > 0) {
      const section = openSection(bytes.subarray(at - header.size, at), header)
      const mayGather = gatherer && header.baseOffset >= position && !isBeyond(lastOffset)
      let isGathered = mayGather && gatherer.add(section, header)
      if (!isGathered && gatherer?.isOpen) {
        await runGathered()
        isGathered = mayGather && gatherer.add(section, header)
      }
      const left = isGathered ? undefined : await runWhole(section, header, lastOffset)
      // Dead letters of a job refer to the section.
      if (!spec.job) freeInflated(header.attributes & COMPRESSION_MASK, section)
      if (left !== undefined) {
        position = left
        isCut = true
        break
      }
    }
    reached = isBeyond(lastOffset) ? input.until! : lastOffset + 1n
    if (await isEnough(at)) break
  }
  if (!isCut) await runGathered()
  return { ...output.finish(position, isCut), isLate: isLate() }
}

function openSection(batch: Buffer, header: BatchHeader): Buffer {
  try {
    return inflateToFree(header.attributes & COMPRESSION_MASK, batch.subarray(BATCH_HEADER_BYTES))
  } catch (error) {
    throw new CorruptBatch(`the batch at offset ${header.baseOffset} does not inflate: ${reasonOf(error)}`)
  }
}

/** Reads the records of a section with `read`. Throws CorruptBatch when their lengths don't add up. */
function readRecords<T>(header: SectionHeader, read: () => T): T {
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
