/** What rounds commit when no further record comes: rows in front of one that is to be tried again, and markers behind the last one. */
import { afterEach, expect, it, vi } from 'vitest'
import { Interrupted } from '../../services/processor/interruption.ts'
import type { PartitionOutcome, RoundPartition } from '../../services/processor/lane/messages.ts'
import { openByteBudget } from '../../services/processor/task/byte-budget.ts'
import { runRounds, type RoundsOptions } from '../../services/processor/task/round/rounds.ts'
import { CONTROL, TRANSACTIONAL, encodeBatch } from '../../shared/kafka/protocol/record-batch.ts'
import type { FetchRequest } from '../../shared/kafka/wire/fetch.ts'
import { definitionOf } from '../harness/definitions.ts'

afterEach(() => void vi.useRealTimers())

/** A batch of one record, or of a marker, at this offset. */
function batchAt(offset: bigint, attributes = TRANSACTIONAL): Buffer {
  const batch = encodeBatch([{ offsetDelta: 0, timestampDelta: 0n, key: null, value: Buffer.from('{}'), headers: [] }], 0n, attributes)
  batch.writeBigInt64BE(offset, 0)
  return batch
}
const outcomeOf = ({ partition, nextOffset }: RoundPartition): PartitionOutcome => {
  const row = {
    bytes: Buffer.from('{}'),
    ends: new Int32Array([2]),
    offsets: new Float64Array([0]),
    times: new Float64Array([0]),
    count: 1,
  }
  const counts = Float64Array.from([1, 1, 0, 0, 0, 0, 1])
  const rows = [row as unknown as PartitionOutcome['rows'][number]]
  return { partition, nextOffset, records: 1, sink: [], rows, deadLetters: [], deadLetterOffsets: [], counts }
}

const nothing = () => {}

/** Of a task that fetches each of the batches by itself. `done` gets what is written and committed. */
function optionsOf(batches: Buffer[], done: string[], run: (parts: RoundPartition[]) => PartitionOutcome[], more: object): RoundsOptions {
  const definition = definitionOf('pl_a')
  const end = BigInt(batches.length)
  const options: Record<string, unknown> = {
    cluster: { offsets: async () => new Map() },
    transactions: {
      deliver: async () => {},
      commit: async (_: unknown, offsets: { offset: bigint }[]) => void done.push(`commit ${offsets.map(({ offset }) => offset).join()}`),
      commitWithoutOffsets: async () => {},
    },
    targets: { sink: undefined, deadLetter: { topic: 'dead', leaders: [1] }, ledger: { topic: 'ledger' } },
    fetch: async (_: unknown, { partitions }: FetchRequest) => {
      const { offset } = partitions[0]!
      const part = { partition: 0, errorCode: 0, highWatermark: end, lastStableOffset: end, logStartOffset: 0n, aborted: [] }
      const batch = batches[Number(offset)]
      if (!batch) await new Promise((resolve) => setTimeout(resolve, 5))
      return { errorCode: 0, partitions: [{ ...part, bytes: batch && Buffer.from(new Uint8Array(batch).buffer) }] }
    },
    fetchConnections: { leader: async () => ({}) },
    budget: openByteBudget(1 << 20),
    roundBytesMax: 1 << 20,
    size: { bytesMax: () => 1 << 20, took: nothing },
    revisions: { hasNext: () => false, threshold: () => ({ check: nothing }) },
    progress: { onFetcher: nothing, onInFlight: nothing, onCommit: nothing },
    layout: { topic: 'in', topicId: 'id', leaders: [1] },
    owned: { memberId: 'm', generationId: 1, partitions: [0] },
    aside: [],
    running: () => ({
      definition,
      accounting: { metadataWith: () => '{}', add: nothing, revisionOf: () => 1 },
      chain: {
        run: async (parts: RoundPartition[]) => ({ outcomes: run(parts), rest: [] }),
        recycle: nothing,
        failedIn: () => [],
      },
    }),
    isAtWork: () => true,
    isOwner: () => true,
    onWaiting: nothing,
    onSkipped: nothing,
    writesOver: new AbortController().signal,
    now: Date.now,
    ...more,
  }
  return options as unknown as RoundsOptions
}

it('rows are written: each attempt would drop them, run them again, and let them wait for their interval anew', async () => {
  const done: string[] = []
  const positions = new Map([[0, 0n]])
  let runs = 0
  const run = (parts: RoundPartition[]) => {
    // The second round has a record that its policy tries again.
    if (runs++ > 0) throw new Interrupted({ kind: 'retry_later', afterMs: 1000 }, 'the record at offset 1')
    return parts.map(outcomeOf)
  }
  const sink = {
    boundaries: { bytesMax: 1e9, recordsMax: 1e9, intervalMs: 1e9 },
    write: async ({ from, to }: { from: bigint; to: bigint }) => {
      done.push(`write ${from} to ${to}`)
      return { kind: 'delivered' }
    },
  }
  const rows = { sink, planned: new Map(), isPatient: () => true }
  await expect(runRounds(optionsOf([batchAt(0n), batchAt(1n)], done, run, { positions, rows }))).rejects.toMatchObject({
    interruption: { kind: 'retry_later' },
  })
  // Planned at 0, written, committed.
  expect(done).toEqual(['commit 0', 'write 0 to 1', 'commit 1'])
  expect(positions.get(0)).toBe(1n)
})

it('the position moves past a marker behind the last record within about a minute, and once', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] })
  const done: string[] = []
  const positions = new Map([[0, 0n]])
  let isOver = false
  const run = (parts: RoundPartition[]) =>
    parts.map((part) => ({ ...outcomeOf(part), ...(part.position === 1n ? { records: 0, counts: new Float64Array(7) } : {}) }))
  const batches = [batchAt(0n), batchAt(1n, TRANSACTIONAL | CONTROL)]
  const options = optionsOf(batches, done, run, { positions, rows: undefined, isAtWork: () => !isOver })
  const fetch: RoundsOptions['fetch'] = async (...asked) => {
    if (isOver) throw new Interrupted('round_lost', 'the test is over')
    return options.fetch(...asked)
  }
  const work = runRounds({ ...options, fetch })
  await vi.advanceTimersByTimeAsync(50_000)
  expect(done).toEqual(['commit 1'])
  await vi.advanceTimersByTimeAsync(200_000)
  expect([done, positions.get(0)]).toEqual([['commit 1', 'commit 2'], 2n])
  isOver = true
  await vi.advanceTimersByTimeAsync(1000)
  expect(await work).toBe(false)
})
