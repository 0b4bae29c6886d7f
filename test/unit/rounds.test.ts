/** What becomes of rows that gather for an external sink when a record behind them is to be tried again. */
import { expect, it } from 'vitest'
import { Interrupted } from '../../services/processor/interruption.ts'
import type { PartitionOutcome, RoundPartition } from '../../services/processor/lane/messages.ts'
import { openByteBudget } from '../../services/processor/task/byte-budget.ts'
import { runRounds, type RoundsOptions } from '../../services/processor/task/round/rounds.ts'
import { TRANSACTIONAL, encodeBatch } from '../../shared/kafka/protocol/record-batch.ts'
import type { FetchRequest } from '../../shared/kafka/wire/fetch.ts'
import { definitionOf } from '../harness/definitions.ts'

/** A batch of one record at this offset. */
function batchAt(offset: bigint): Buffer {
  const batch = encodeBatch([{ offsetDelta: 0, timestampDelta: 0n, key: null, value: Buffer.from('{}'), headers: [] }], 0n, TRANSACTIONAL)
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

it('they are written: each attempt would drop them, run them again, and let them wait for their interval anew', async () => {
  const done: string[] = []
  const nothing = () => {}
  const positions = new Map([[0, 0n]])
  const definition = definitionOf('pl_a')
  let runs = 0
  const options = {
    cluster: { offsets: async () => new Map() },
    transactions: {
      deliver: async () => {},
      commit: async (_: unknown, offsets: { offset: bigint }[]) => void done.push(`commit ${offsets.map(({ offset }) => offset).join()}`),
      commitWithoutOffsets: async () => {},
    },
    targets: { sink: undefined, deadLetter: { topic: 'dead', leaders: [1] }, ledger: { topic: 'ledger' } },
    fetch: async (_: unknown, { partitions }: FetchRequest) => {
      const { offset } = partitions[0]!
      const part = { partition: 0, errorCode: 0, highWatermark: 2n, lastStableOffset: 2n, logStartOffset: 0n, aborted: [] }
      const bytes = offset < 2n ? Buffer.from(new Uint8Array(batchAt(offset)).buffer) : undefined
      if (!bytes) await new Promise((resolve) => setTimeout(resolve, 5))
      return { errorCode: 0, partitions: [{ ...part, bytes }] }
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
    positions,
    running: () => ({
      definition,
      accounting: { metadataWith: () => '{}', add: nothing, revisionOf: () => 1 },
      chain: {
        // The second round has a record that its policy tries again.
        run: async (parts: RoundPartition[]) => {
          if (runs++ > 0) throw new Interrupted({ kind: 'retry_later', afterMs: 1000 }, 'the record at offset 1')
          return { outcomes: parts.map(outcomeOf), rest: [] }
        },
        recycle: nothing,
        failedIn: () => [],
      },
    }),
    isMine: () => true,
    isOwner: () => true,
    rows: {
      sink: {
        boundaries: { bytesMax: 1e9, recordsMax: 1e9, intervalMs: 1e9 },
        write: async ({ from, to }: { from: bigint; to: bigint }) => {
          done.push(`write ${from} to ${to}`)
          return { kind: 'delivered' }
        },
      },
      planned: new Map(),
      isPatient: () => true,
    },
    onWaiting: nothing,
    onSkipped: nothing,
    writesOver: new AbortController().signal,
    now: Date.now,
  } as unknown as RoundsOptions
  await expect(runRounds(options)).rejects.toMatchObject({ interruption: { kind: 'retry_later' } })
  // Planned at 0, written, committed.
  expect(done).toEqual(['commit 0', 'write 0 to 1', 'commit 1'])
  expect(positions.get(0)).toBe(1n)
})
