/**
 * Writes a block of rows as batches, one after the other, and remembers after a failure which rows were acknowledged: the next try of the
 * same range leaves them out. Rows are remembered one by one, because without a refused record the range is cut into other batches.
 */
import {
  BATCH_HEADER_BYTES,
  decodeRecords,
  encodeRecords,
  readBatchHeader,
  stampProducer,
  writeBatchHeader,
} from '../../kafka/protocol/record-batch.ts'
import { partitionOfKey } from '../../kafka/protocol/murmur2.ts'
import { KAFKA_ERRORS, isRetriable, kafkaErrorName } from '../../kafka/wire/error-codes.ts'
import { batchesOf, type BatchOptions } from '../block-batches.ts'
import { SPAN, type RecordBlock } from '../record-block.ts'
import type { Delivery, RefusedRecord, Rows, Written } from '../sink.ts'

/** What the other cluster answered; 0 is an acknowledgement. */
export type Answer = { errorCode: number; errorMessage: string | null }
/** Sends one batch, ready to be written, to a partition. Throws once the signal is aborted. */
export type Produce = (partition: number, batch: Buffer, signal: AbortSignal) => Promise<Answer>

/** What was acknowledged of a range that failed: `offset/place`, the place being a row's among those of its record. */
type Memory = { range: string; acknowledged: Set<string> }

/** The same until the range is delivered, a revision makes other rows of it, or the positions are reset. */
const rangeOf = ({ runId, topicId, from, revision, resetAt }: Delivery): string => `${runId}/${topicId}/${from}/${revision}/${resetAt}`

/** Source offset and identity of every row, in the order of the block. */
function identitiesOf(pieces: readonly Rows[]): { offset: number; identity: string }[] {
  let [before, place] = [-1, 0]
  return pieces.flatMap(({ offsets, count }) =>
    [...offsets.subarray(0, count)].map((offset) => {
      place = offset === before ? place + 1 : 0
      before = offset
      return { offset, identity: `${offset}/${place}` }
    }),
  )
}

/** Records with the time of each. */
type TimedBlock = { block: RecordBlock; times: Float64Array }

/** The rows at these indexes. */
function only({ block: { bytes, spans }, times }: TimedBlock, rows: readonly number[]): TimedBlock {
  const kept = new Int32Array(rows.length * SPAN)
  for (const [index, row] of rows.entries()) kept.set(spans.subarray(row * SPAN, (row + 1) * SPAN), index * SPAN)
  return { block: { bytes, spans: kept, count: rows.length }, times: Float64Array.from(rows, (row) => times[row]!) }
}

/** The block's rows by the partition that they are written to, in their order. */
function byPartition(
  { bytes, spans, count }: RecordBlock,
  { partitions, keyless }: Pick<BatchOptions, 'partitions' | 'keyless'>,
): Map<number, number[]> {
  const rows = Array.from({ length: count }, (_, row) => row)
  return Map.groupBy(rows, (row) =>
    spans[row * SPAN]! < 0 ? keyless : partitionOfKey(bytes, spans[row * SPAN]!, spans[row * SPAN + 1]!, partitions),
  )
}

/** By the other cluster's answer, the code of a record at fault: the broker refuses the whole batch, and does not say which it was. */
const FAULTS: ReadonlyMap<number, string> = new Map([
  [KAFKA_ERRORS.messageTooLarge, 'record_too_large'],
  [KAFKA_ERRORS.invalidRecord, 'record_refused'],
  // Its time is further from the broker's than the topic allows.
  [KAFKA_ERRORS.invalidTimestamp, 'record_refused'],
])

/** A function that writes the rows of a delivery. What `produce` throws it throws too. */
export function createBlockWriter(produce: Produce) {
  /** By source partition. */
  const memories = new Map<number, Memory>()

  return async function writeBlock(
    delivery: Delivery,
    pieces: readonly Rows[],
    whole: TimedBlock,
    options: Omit<BatchOptions, 'times'>,
    signal: AbortSignal,
  ): Promise<Written> {
    const range = rangeOf(delivery)
    const memory = memories.get(delivery.partition)
    const known = memory?.range === range ? memory.acknowledged : new Set<string>()
    /** Indexes in `whole` of the rows of `block`; undefined where it has them all. */
    const left = known.size === 0 ? undefined : identitiesOf(pieces).flatMap(({ identity }, row) => (known.has(identity) ? [] : [row]))
    const { block, times } = left ? only(whole, left) : whole
    /** By partition, how many of its rows are done with; and which of them were refused. */
    const done = new Map<number, number>()
    const refused: { partition: number; place: number; code: string; message: string }[] = []

    /** Sends a batch, halving it as long as the topic refuses a record of it. Returns undefined once nothing of it is left. */
    async function send(partition: number, batch: Buffer): Promise<Extract<Written, { kind: 'retry' | 'permanent' }> | undefined> {
      stampProducer(batch, -1n, -1, -1)
      const { errorCode, errorMessage } = await produce(partition, batch, signal)
      const place = done.get(partition) ?? 0
      const { recordCount } = readBatchHeader(batch, 0)!
      if (errorCode === 0) {
        done.set(partition, place + recordCount)
        return undefined
      }
      const reason = `the other cluster answered ${kafkaErrorName(errorCode)}${errorMessage ? `: ${errorMessage}` : ''}`
      const code = FAULTS.get(errorCode)
      if (code === undefined) return isRetriable(errorCode) ? { kind: 'retry', afterMs: 0, reason } : { kind: 'permanent', reason }
      const halves = halvesOf(batch)
      if (halves) return (await send(partition, halves[0])) ?? send(partition, halves[1])
      // The others are still written, so that one search finds all of those that are at fault.
      refused.push({ partition, place, code, message: reason })
      done.set(partition, place + 1)
      return undefined
    }

    /** Keeps what was acknowledged now and before. Only a failed write costs this. Returns the refused records. */
    function remember(): RefusedRecord[] {
      const identities = identitiesOf(pieces)
      const rows = byPartition(block, options)
      const indexOf = (partition: number, place: number): number => {
        const row = rows.get(partition)![place]!
        return left ? left[row]! : row
      }
      const faults = new Map(refused.map(({ partition, place, ...fault }) => [indexOf(partition, place), fault]))
      for (const [partition, count] of done)
        for (let place = 0; place < count; place++) {
          const row = indexOf(partition, place)
          if (!faults.has(row)) known.add(identities[row]!.identity)
        }
      memories.set(delivery.partition, { range, acknowledged: known })
      return [...faults].map(([row, fault]) => ({ offset: BigInt(identities[row]!.offset), ...fault }))
    }

    try {
      for (const { partition, bytes, length } of batchesOf(block, { ...options, times })) {
        const failure = await send(partition, Buffer.from(bytes, 0, length))
        if (!failure) continue
        remember()
        return failure.kind === 'retry' ? { ...failure, hasProgressed: done.size > 0 } : failure
      }
    } catch (error) {
      remember()
      throw error
    }
    if (refused.length > 0) return { kind: 'at_fault', records: remember() }
    memories.delete(delivery.partition)
    return { kind: 'delivered' }
  }
}

/** Splits a batch into two with half of the records each; undefined for a batch of one record. */
function halvesOf(batch: Buffer): [Buffer, Buffer] | undefined {
  const { recordCount, attributes, baseTimestamp } = readBatchHeader(batch, 0)!
  if (recordCount < 2) return undefined
  const records = decodeRecords(batch.subarray(BATCH_HEADER_BYTES), recordCount)
  const made = (some: typeof records): Buffer => {
    const section = encodeRecords(some.map((record, offsetDelta) => ({ ...record, offsetDelta })))
    const half = Buffer.concat([Buffer.alloc(BATCH_HEADER_BYTES), section])
    const latest = some.reduce((most, { timestampDelta }) => (timestampDelta > most ? timestampDelta : most), some[0]!.timestampDelta)
    writeBatchHeader(half, { attributes, recordCount: some.length, baseTimestamp, maxTimestamp: baseTimestamp + latest })
    return half
  }
  const middle = recordCount >> 1
  return [made(records.slice(0, middle)), made(records.slice(middle))]
}
