/** How far each partition has been fetched: whole batches, gaps and expired records advance it. HOT: work per batch. */
import type { TopicLayout } from '../../../../shared/kafka/cluster.ts'
import type { AbortedTransaction } from '../../../../shared/kafka/protocol/aborted.ts'
import { CONTROL, readBatchHeader } from '../../../../shared/kafka/protocol/record-batch.ts'
import { KAFKA_ERRORS } from '../../../../shared/kafka/wire/error-codes.ts'
import type { FetchedPartition } from '../../../../shared/kafka/wire/fetch.ts'
import { Interrupted } from '../../interruption.ts'

/** Complete batches of one partition, from `position` up to `nextOffset`. */
export type FetchedBatches = {
  partition: number
  position: bigint
  nextOffset: bigint
  /** May be longer than the fetched data, which is its first `length` bytes. */
  bytes: ArrayBuffer
  length: number
  aborted: AbortedTransaction[]
  /** As the batch headers say: aborted records included, control records not. */
  records: number
}

/** `startsOf` finds the first offsets that still exist, which the broker's refusal does not contain. `onSkipped` is called with the gap. */
export type Skipping = {
  startsOf(partitions: number[]): Promise<ReadonlyMap<number, bigint>>
  onSkipped(partition: number, from: bigint, to: bigint): void
}

export type FetchProgressOptions = {
  layout: TopicLayout
  positions: Map<number, bigint>
  /** Ends of a job or of a planned range. */
  until?: ReadonlyMap<number, bigint>
  skipping?: Skipping
  /** The partition can't be read for the moment. */
  setAside(partition: number, errorCode: number): void
}

/** Byte index of the magic byte: the same in a batch and in a message of the older formats. */
const MAGIC_AT = 16

/**
 * Cuts the answer to whole batches and determines where the next fetch starts. Undefined when there are none. If the next batch starts at
 * or after `end`, the offsets before `end` are a gap, and the partition has been read to its end.
 */
function wholeBatches(answer: FetchedPartition, position: bigint, end: bigint | undefined): FetchedBatches | undefined {
  const bytes = answer.bytes!
  let at = 0
  let nextOffset = position
  let records = 0
  for (let header = readBatchHeader(bytes, 0); header !== undefined; header = readBatchHeader(bytes, at)) {
    if (end !== undefined && header.baseOffset >= end) {
      nextOffset = end
      break
    }
    at += header.size
    // Transaction markers are not records.
    if ((header.attributes & CONTROL) === 0) records += header.recordCount
    nextOffset = header.baseOffset + BigInt(header.lastOffsetDelta) + 1n
  }
  if (at === 0 && bytes.length > MAGIC_AT && bytes[MAGIC_AT]! < 2)
    throw new Interrupted(
      'failed',
      `the batch at offset ${position} of partition ${answer.partition} has the retired format v${bytes[MAGIC_AT]}, which brokers since 4.0 don't write`,
    )
  if (at === 0 && nextOffset === position) return undefined
  // The end may be inside the last batch.
  if (end !== undefined && nextOffset > end) nextOffset = end
  const { partition, aborted } = answer
  return { partition, position, nextOffset, bytes: bytes.buffer as ArrayBuffer, length: at, aborted, records }
}

export function createFetchProgress({ layout, positions, until, skipping, setAside }: FetchProgressOptions) {
  const ends = new Map<number, bigint>()

  /** Advances the partition over offsets without records. */
  function skipTo({ partition, aborted }: FetchedPartition, nextOffset: bigint): FetchedBatches {
    const position = positions.get(partition)!
    positions.set(partition, nextOffset)
    return { partition, position, nextOffset, bytes: new ArrayBuffer(0), length: 0, aborted, records: 0 }
  }

  /** There is nothing left between the position and the partition's end, although the log continues after it (compaction). */
  function gapBefore(answer: FetchedPartition): FetchedBatches | undefined {
    const end = until?.get(answer.partition)
    if (end === undefined || positions.get(answer.partition)! >= end || answer.lastStableOffset < end) return undefined
    return skipTo(answer, end)
  }

  /** Skips to the log start if it is past the position. A log that ends before the position has lost records: no policy skips that. */
  function expiredBefore(answer: FetchedPartition, logStartOffset: bigint | undefined): FetchedBatches | undefined {
    const { partition } = answer
    const position = positions.get(partition)!
    if (logStartOffset === undefined || logStartOffset <= position) return undefined
    const end = until?.get(partition)
    const nextOffset = end !== undefined && end < logStartOffset ? end : logStartOffset
    skipping?.onSkipped(partition, position, nextOffset)
    return skipTo(answer, nextOffset)
  }

  function collect(answers: FetchedPartition[], starts?: ReadonlyMap<number, bigint>): FetchedBatches[] {
    const batches: FetchedBatches[] = []
    // One partition's part may be empty because the others filled the answer.
    const isEmpty = answers.every(({ bytes }) => bytes === undefined)
    for (const answer of answers) {
      if (answer.errorCode === KAFKA_ERRORS.offsetOutOfRange) {
        const expired = expiredBefore(answer, starts?.get(answer.partition))
        if (expired) {
          batches.push(expired)
          continue
        }
        throw new Interrupted(
          'failed',
          `position ${positions.get(answer.partition)} of partition ${answer.partition} is outside of what ${layout.topic} holds`,
        )
      }
      if (answer.errorCode !== 0) {
        setAside(answer.partition, answer.errorCode)
        continue
      }
      ends.set(answer.partition, answer.lastStableOffset)
      if (answer.bytes === undefined) {
        const gap = isEmpty ? gapBefore(answer) : undefined
        if (gap) batches.push(gap)
        continue
      }
      const whole = wholeBatches(answer, positions.get(answer.partition)!, until?.get(answer.partition))
      if (!whole) continue
      positions.set(answer.partition, whole.nextOffset)
      batches.push(whole)
    }
    return batches
  }

  return {
    /** Last stable offset of each partition, as of its latest fetch. */
    ends,
    /** The batches of an answer; `starts` are the first offsets that are still there, of partitions whose position is out of range. */
    collect,
    /**
     * As far as is known, the broker has records to answer with. Without, a fetch waits there and has no bytes: it takes nothing from the
     * byte budget, which hundreds of idle tasks would use up.
     */
    isBehind(partition: number): boolean {
      const end = ends.get(partition)
      return end === undefined || positions.get(partition)! < end
    },
    isBeforeEnd(partition: number): boolean {
      const end = until?.get(partition)
      return end === undefined || positions.get(partition)! < end
    },
  }
}
