/** The records of one batch, a run of them at a time, so that what it inflates to need not stay in memory in between. */
import { LOG_APPEND_TIME } from '../../../shared/kafka/protocol/record-batch.ts'
import { readVarint, type Cursor } from '../../../shared/kafka/protocol/varint.ts'
import type { BatchCache, CachedBatch } from './batch-cache.ts'
import { readRecordHead } from './read-records.ts'

/** Offsets and times are plain numbers: they are far below 2^53. */
export type RecordPlace = { partition: number; offset: number; timestamp: number }
/** A record that was not taken yet; `bytes`: of its value. */
export type RecordAhead = RecordPlace & { bytes: number }

/** `value`: undefined where it is too large to be copied before it is taken. `at`: where it is in the batch's section. */
export type RunRecord = RecordAhead & { value: Buffer | null | undefined; at: number; batch: CachedBatch; hint: CachedBatch['hint'] }

/** Most bytes of values that a run copies. */
const RUN_BYTES = 256 << 10
/** Records that are passed over at once. */
const PASSED_RECORDS = 10_000

export type BatchRuns = {
  readonly isOver: boolean
  /** Whether nothing of the batch was passed yet. */
  readonly isWhole: boolean
  /** The next records, up to so many; none only where the batch has no more. */
  read(recordsMax: number): RunRecord[]
  /** Passes over up to `count` records; returns over how many, and the offset of the last one. */
  pass(count: number): { passed: number; last: number }
}

/** Records before `position` are left out. */
export function openBatchRuns(
  cache: BatchCache,
  batch: CachedBatch,
  partition: number,
  position: bigint,
  inflated: { bytes: number },
): BatchRuns {
  const { header } = batch
  const baseOffset = Number(header.baseOffset)
  const wanted = Number(position) - baseOffset
  const from = batch.hint.delta >= 0 && batch.hint.delta <= wanted ? batch.hint : { at: 0, index: 0 }
  const cursor: Cursor = { at: from.at }
  let { index } = from

  return {
    get isOver() {
      return index >= header.recordCount
    },
    get isWhole() {
      return index === 0 && wanted <= 0
    },
    read(recordsMax) {
      const section = cache.sectionOf(batch, inflated)
      const run: RunRecord[] = []
      let room = RUN_BYTES
      for (; index < header.recordCount && run.length < recordsMax; index++) {
        const start = cursor.at
        const { stop, timestampDelta, delta } = readRecordHead(section, cursor)
        if (delta >= wanted) {
          const keyLength = readVarint(section, cursor)
          if (keyLength > 0) cursor.at += keyLength
          const length = readVarint(section, cursor)
          const [at, bytes] = [cursor.at, Math.max(0, length)]
          if (bytes > room && run.length > 0) {
            cursor.at = start
            break
          }
          const value = length < 0 ? null : bytes > room ? undefined : Buffer.from(section.subarray(at, at + bytes))
          const isFixed = (header.attributes & LOG_APPEND_TIME) !== 0
          const timestamp = isFixed ? Number(header.maxTimestamp) : Number(header.baseTimestamp) + timestampDelta
          run.push({ partition, offset: baseOffset + delta, timestamp, bytes, value, at, batch, hint: { delta, at: start, index } })
          room -= bytes
        }
        cursor.at = stop
      }
      return run
    },
    pass(count) {
      const section = cache.sectionOf(batch, inflated)
      const until = Math.min(header.recordCount, index + PASSED_RECORDS)
      let [passed, last] = [0, -1]
      for (; index < until && passed < count; index++) {
        const at = cursor.at
        const { stop, delta } = readRecordHead(section, cursor)
        cursor.at = stop
        if (delta < wanted) continue
        passed++
        last = baseOffset + delta
        batch.hint = { delta, at, index }
      }
      return { passed, last }
    },
  }
}
