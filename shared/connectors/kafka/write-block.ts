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
import { createTurn, inTurns } from '../../model/turns.ts'
import { batchSteps, type BatchOptions } from '../block-batches.ts'
import type { TimedBlock } from '../encode/whole-records.ts'
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

/** Rows between two places where the work below may pause. */
const STEP_ROWS = 64

/** Source offset and identity of every row, in the order of the block. Yields where the work may pause. */
function* identitiesOf(pieces: readonly Rows[]): Generator<void, { offset: number; identity: string }[]> {
  const identities: { offset: number; identity: string }[] = []
  let [before, place] = [-1, 0]
  for (const { offsets, count } of pieces)
    for (let row = 0; row < count; row++) {
      const offset = offsets[row]!
      place = offset === before ? place + 1 : 0
      before = offset
      identities.push({ offset, identity: `${offset}/${place}` })
      if (row % STEP_ROWS === STEP_ROWS - 1) yield
    }
  return identities
}

/** Indexes of the rows whose identities are not known. Yields where the work may pause. */
function* unknownOf(pieces: readonly Rows[], known: ReadonlySet<string>): Generator<void, number[]> {
  const rows: number[] = []
  for (const [row, { identity }] of (yield* identitiesOf(pieces)).entries()) {
    if (!known.has(identity)) rows.push(row)
    if (row % STEP_ROWS === STEP_ROWS - 1) yield
  }
  return rows
}

/** The rows at these indexes. Yields where the work may pause. */
function* only({ block: { bytes, spans }, times }: TimedBlock, rows: readonly number[]): Generator<void, TimedBlock> {
  const kept = new Int32Array(rows.length * SPAN)
  const keptTimes = new Float64Array(rows.length)
  for (const [index, row] of rows.entries()) {
    kept.set(spans.subarray(row * SPAN, (row + 1) * SPAN), index * SPAN)
    keptTimes[index] = times[row]!
    if (index % STEP_ROWS === STEP_ROWS - 1) yield
  }
  return { block: { bytes, spans: kept, count: rows.length }, times: keptTimes }
}

/** The block's rows by the partition that they are written to, in their order. Yields where the work may pause. */
function* byPartition(
  { bytes, spans, count }: RecordBlock,
  { partitions, keyless }: Pick<BatchOptions, 'partitions' | 'keyless'>,
): Generator<void, number[][]> {
  const rows: number[][] = Array.from({ length: partitions }, () => [])
  for (let row = 0; row < count; row++) {
    const from = spans[row * SPAN]!
    rows[from < 0 ? keyless : partitionOfKey(bytes, from, spans[row * SPAN + 1]!, partitions)]!.push(row)
    if (row % STEP_ROWS === STEP_ROWS - 1) yield
  }
  return rows
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
    const turn = createTurn()
    const range = rangeOf(delivery)
    const memory = memories.get(delivery.partition)
    const known = memory?.range === range ? memory.acknowledged : new Set<string>()
    /** Indexes in `whole` of the rows of `block`; undefined where it has them all. */
    const left = known.size === 0 ? undefined : await inTurns(unknownOf(pieces, known), signal, turn)
    const { block, times } = left ? await inTurns(only(whole, left), signal, turn) : whole
    const batches = await inTurns(batchSteps(block, { ...options, times }), signal, turn)
    /** By partition, how many of its rows are done with; and by their index among those, which were refused. */
    const done = new Map<number, number>()
    const refused: { partition: number; index: number; code: string; message: string }[] = []

    /** Sends a batch, halving it as long as the topic refuses a record of it. Returns undefined once nothing of it is left. */
    async function send(partition: number, batch: Buffer): Promise<Extract<Written, { kind: 'retry' | 'permanent' }> | undefined> {
      stampProducer(batch, -1n, -1, -1)
      const { errorCode, errorMessage } = await produce(partition, batch, signal)
      const index = done.get(partition) ?? 0
      const { recordCount } = readBatchHeader(batch, 0)!
      if (errorCode === 0) {
        done.set(partition, index + recordCount)
        return undefined
      }
      const reason = `the other cluster answered ${kafkaErrorName(errorCode)}${errorMessage ? `: ${errorMessage}` : ''}`
      const code = FAULTS.get(errorCode)
      if (code === undefined) return isRetriable(errorCode) ? { kind: 'retry', afterMs: 0, reason } : { kind: 'permanent', reason }
      const halves = halvesOf(batch)
      if (halves) return (await send(partition, halves[0])) ?? send(partition, halves[1])
      // The others are still written, so that one search finds all of those that are at fault.
      refused.push({ partition, index, code, message: reason })
      done.set(partition, index + 1)
      return undefined
    }

    /** Keeps what was acknowledged now and before. Only a failed write costs this. Returns the refused records. */
    function* remember(): Generator<void, RefusedRecord[]> {
      const identities = yield* identitiesOf(pieces)
      const rows = yield* byPartition(block, options)
      const rowAt = (partition: number, index: number): number => {
        const row = rows[partition]![index]!
        return left ? left[row]! : row
      }
      const faults = new Map(refused.map(({ partition, index, ...fault }) => [rowAt(partition, index), fault]))
      for (const [partition, count] of done)
        for (let index = 0; index < count; index++) {
          const row = rowAt(partition, index)
          if (!faults.has(row)) known.add(identities[row]!.identity)
          if (index % STEP_ROWS === STEP_ROWS - 1) yield
        }
      memories.set(delivery.partition, { range, acknowledged: known })
      return [...faults].map(([row, fault]) => ({ offset: BigInt(identities[row]!.offset), ...fault }))
    }

    try {
      for (const { partition, bytes, length } of batches) {
        const failure = await send(partition, Buffer.from(bytes, 0, length))
        if (!failure) continue
        await inTurns(remember())
        return failure.kind === 'retry' ? { ...failure, hasProgressed: done.size > 0 } : failure
      }
    } catch (error) {
      await inTurns(remember())
      throw error
    }
    if (refused.length > 0) return { kind: 'at_fault', records: await inTurns(remember()) }
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
