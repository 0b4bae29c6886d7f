/** Walks the records of a partition one by one, at read-committed, to build pages. Reads offset, time and value; skips key and headers. */
import type { TopicLayout } from '../../../shared/kafka/cluster.ts'
import type { Pace } from '../concurrency/pacing.ts'
import type { BatchCache, Chunk } from './batch-cache.ts'
import { openBatchRuns, type BatchRuns, type RecordAhead, type RecordPlace, type RunRecord } from './batch-runs.ts'

export type ReadRecord = RecordPlace & { value: Buffer | null }

/** `inflated`: what all walks of a request had to inflate. */
type WalkSource = { cache: BatchCache; layout: TopicLayout; pace: Pace; inflated: { bytes: number } }

export type Walk = {
  /** The record at the walk's position; undefined at the end. Fetches more if necessary. */
  current(): Promise<RecordAhead | undefined>
  /** The same, if it is already loaded. */
  loaded(): RecordAhead | undefined
  /** The loaded record, with a copy of its value: a small one must not keep its whole batch in memory. */
  take(): Promise<ReadRecord>
  /** Skips this many records. */
  skip(count: number): Promise<void>
  /** Fetches more where all that was fetched is passed: the fetch notices a topic that was recreated. */
  reach(): Promise<void>
  /** The offset at which another walk would continue: after the last record that was passed. */
  readonly offset: bigint
}

const FETCH_BYTES_MIN = 32 << 10
const FETCH_BYTES_MAX = 1 << 20
const RECORD_BYTES = 512

/** Records that are read from a batch at once. */
const RUN_RECORDS = 128

/** `end`: the walk stops before this offset. `expected`: how many records will be read, so that not too much is fetched. */
export function openWalk(source: WalkSource, partition: number, offset: bigint, end: bigint, expected: number): Walk {
  const { cache, layout, pace, inflated } = source
  let position = offset
  let chunk: Chunk | undefined
  let place = 0
  let runs: BatchRuns | undefined
  let run: RunRecord[] = []
  let runAt = 0
  let isAtEnd = false
  const endOffset = Number(end)
  const fetchBytes = Math.min(FETCH_BYTES_MAX, Math.max(FETCH_BYTES_MIN, expected * RECORD_BYTES))
  const runRecords = Math.min(RUN_RECORDS, Math.max(1, expected))

  function open(at: number): void {
    place = at
    const batch = chunk!.batches[at]
    runs = batch && openBatchRuns(cache, batch, partition, position, inflated)
  }

  /** Makes sure that a batch with more records is open; false at the end. What was read of it before has been passed. */
  async function load(): Promise<boolean> {
    if (runs?.isOver) open(place + 1)
    while (!runs && !isAtEnd) {
      if (chunk && chunk.to > position) position = chunk.to
      isAtEnd = position >= end
      if (isAtEnd) break
      chunk = await cache.read(layout, partition, position, fetchBytes)
      isAtEnd = chunk.to <= position
      const first = chunk.batches.findIndex(({ nextOffset }) => nextOffset > position)
      if (!isAtEnd && first >= 0) open(first)
    }
    return !isAtEnd
  }

  function readRun(): number {
    ;[run, runAt] = [runs!.read(runRecords), 0]
    const beyond = run.findIndex((record) => record.offset >= endOffset)
    if (beyond >= 0) [run, isAtEnd] = [run.slice(0, beyond), true]
    return run.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  function pass(): RunRecord {
    const record = run[runAt++]!
    position = BigInt(record.offset + 1)
    record.batch.hint = record.hint
    return record
  }

  return {
    async current() {
      while (runAt >= run.length && (await load())) await pace.turns(1, readRun)
      return run[runAt]
    },
    loaded: () => run[runAt],
    async take() {
      const { offset: own, timestamp, bytes, batch, at, value: copied } = pass()
      let value = copied ?? null
      if (copied === undefined)
        await pace.turns(1, () => {
          value = Buffer.from(cache.sectionOf(batch, inflated).subarray(at, at + bytes))
          return bytes
        })
      return { partition, offset: own, timestamp, value }
    },
    async skip(count) {
      let left = count
      for (; left > 0 && runAt < run.length; left--) pass()
      while (left > 0 && (await load())) {
        const { header, nextOffset } = chunk!.batches[place]!
        // Batches that are skipped as a whole are not inflated.
        if (runs!.isWhole && header.recordCount <= left) {
          left -= header.recordCount
          position = nextOffset
          open(place + 1)
        } else
          await pace.turns(1, () => {
            const { passed, last } = runs!.pass(left)
            left -= passed
            if (passed > 0) position = BigInt(last + 1)
            return 0
          })
      }
    },
    async reach() {
      if (runAt >= run.length) await load()
    },
    get offset() {
      return position
    },
  }
}
