/** What a task commits before an external sink writes: the dead letters of a range, always with its plan and under its membership. */
import { describe, expect, it } from 'vitest'
import type { PartitionOutcome } from '../../services/processor/lane/messages.ts'
import type { Planned } from '../../services/processor/task/positions.ts'
import { openRowWriter, type RowWriterOptions } from '../../services/processor/task/round/row-writer.ts'
import type { Running } from '../../services/processor/task/running.ts'

const OWNED = { memberId: 'm', generationId: 3, partitions: [0, 1] }
const BOUNDARIES = { bytesMax: 1e9, recordsMax: 1e9, intervalMs: 1e9 }

/** A writer of these planned ranges, and what it asks of Kafka and of its sink, in order. */
function openWriter(planned: [number, Planned][], lettersEnd = 50n) {
  const asked: unknown[] = []
  const nothing = () => {}
  const writer = openRowWriter({
    sink: {
      boundaries: BOUNDARIES,
      write: async () => {
        asked.push('write')
        return { kind: 'delivered' }
      },
    },
    topicId: 't',
    cluster: { offsets: async (_: unknown, partitions: number[]) => new Map(partitions.map((each) => [each, lettersEnd])) },
    transactions: {
      deliver: async (writes: { topic: string }[]) => void asked.push(writes.map(({ topic }) => topic).join()),
      commit: async ({ assignment }: { assignment: unknown }, offsets: { partition: number; offset: bigint; metadata: string }[]) => {
        expect(assignment).toBe(OWNED)
        for (const { partition, offset, metadata } of offsets) asked.push([partition, offset, JSON.parse(metadata)])
      },
      commitWithoutOffsets: async () => void asked.push('commit without offsets'),
    },
    targets: { deadLetter: { topic: 'letters', leaders: [1] }, ledger: { topic: 'ledger' } },
    owned: OWNED,
    positions: new Map([
      [0, 10n],
      [1, 10n],
    ]),
    planned: new Map(planned),
    isPatient: () => true,
    onCommit: nothing,
    budget: { hold: nothing, isCrowded: () => false },
    isMine: () => true,
    hasNext: () => false,
    onWaiting: nothing,
    now: Date.now,
    signal: new AbortController().signal,
  } as unknown as RowWriterOptions)
  return { writer, asked }
}
const RUNNING = {
  definition: { pipeline_id: 'p', group_id: 'g', revision: 2, reset_revision: 0, source: { topic: 's' } },
  accounting: { metadataWith: () => '{"r":2}', add: () => {}, revisionOf: () => 2 },
  chain: { addDeadLettered: () => {}, failedIn: () => [], recycle: () => {}, refuse: () => {} },
} as unknown as Running

const letter = { partition: 0, bytes: new ArrayBuffer(1), length: 1, records: 1 }
const row = { bytes: Buffer.from('{}'), ends: new Int32Array([2]), offsets: new Float64Array([11]), times: new Float64Array([0]), count: 1 }
const outcome = (partition: number, failed: bigint[]): PartitionOutcome => ({
  partition,
  nextOffset: 20n,
  records: 5,
  sink: [],
  rows: [row as unknown as PartitionOutcome['rows'][number]],
  deadLetters: failed.map(() => letter),
  deadLetterOffsets: failed,
  counts: new Float64Array(7),
})

describe('the dead letters of a range', () => {
  it.each([
    ['that was planned with dead letters', 40n, 50n, '40'],
    ['that was planned without', undefined, 50n, '50'],
    ['whose earlier dead letters went with their topic', 40n, 0n, '0'],
  ])('%s are committed with its plan, as a member of the group', async (_, deadLettersFrom, lettersEnd, d) => {
    const { writer, asked } = openWriter([[0, { to: 20n, revision: 2, deadLettersFrom }]], lettersEnd)
    await writer.take(RUNNING, [outcome(0, [12n])], 1, () => {})
    await writer.flush(RUNNING, true)
    expect(asked).toEqual(['letters', [0, 10n, { r: 2, p: '20', d }], 'write', [0, 20n, { r: 2 }]])
  })

  it('are not asked for again by a range that gets no more of them', async () => {
    const { writer, asked } = openWriter([[0, { to: 20n, revision: 2, deadLettersFrom: 40n }]])
    await writer.take(RUNNING, [outcome(0, [])], 1, () => {})
    await writer.flush(RUNNING, true)
    expect(asked).toEqual(['write', [0, 20n, { r: 2 }]])
  })

  it('are planned with it where it is new, beside ranges without any', async () => {
    const { writer, asked } = openWriter([])
    await writer.take(RUNNING, [outcome(0, []), outcome(1, [12n])], 1, () => {})
    await writer.flush(RUNNING, true)
    const plans = [
      [0, 10n, { r: 2, p: '20' }],
      [1, 10n, { r: 2, p: '20', d: '50' }],
    ]
    expect(asked.slice(0, 3)).toEqual(['letters', ...plans])
    expect(asked.slice(3, 5)).toEqual(['write', 'write'])
  })
})
