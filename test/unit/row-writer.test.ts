/**
 * What a task commits before an external sink writes: the dead letters of a range, always with its plan and under its membership. And how
 * large the ranges are.
 */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { interruptionOf } from '../../services/processor/interruption.ts'
import type { Delivery } from '../../shared/connectors/sink.ts'
import type { PartitionOutcome } from '../../services/processor/lane/messages.ts'
import type { PlannedRange } from '../../services/processor/task/positions.ts'
import { createRoundSize } from '../../services/processor/task/round/round-size.ts'
import { openRowWriter, type RowWriterOptions } from '../../services/processor/task/round/row-writer.ts'
import type { Running } from '../../services/processor/task/running.ts'

const OWNED = { memberId: 'm', generationId: 3, partitions: [0, 1] }
const BOUNDARIES = { bytesMax: 1e9, recordsMax: 1e9, intervalMs: 1e9 }

/** A writer of these planned ranges, and what it asks of Kafka and of its sink, in order. `more`: other options. */
function openWriter(planned: [number, PlannedRange][], lettersEnd = 50n, more: object = {}) {
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
    size: createRoundSize(1 << 20),
    isAtWork: () => true,
    hasNext: () => false,
    onWaiting: nothing,
    now: Date.now,
    signal: new AbortController().signal,
    ...more,
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

describe('a range that a sink with a position does not take within its limit', () => {
  afterEach(() => vi.restoreAllMocks())

  /** A sink that takes 60 seconds to fail at more than 1 MiB; `tries`: the bytes that it was offered. */
  function openSlow(planned: [number, PlannedRange][]) {
    let lateMs = 0
    const now = performance.now.bind(performance)
    vi.spyOn(performance, 'now').mockImplementation(() => now() + lateMs)
    const tries: number[] = []
    const size = createRoundSize(4 << 20)
    const sink = {
      position: async () => {},
      write: async (_: unknown, rows: { bytes: Uint8Array }[]) => {
        const bytes = rows.reduce((sum, each) => sum + each.bytes.length, 0)
        tries.push(bytes)
        if (bytes <= 1 << 20) return { kind: 'delivered' }
        lateMs += 60_000
        return { kind: 'retry', afterMs: 0, reason: 'no answer' }
      },
    }
    const { writer } = openWriter(planned, 50n, { sink, size, isAtWork: () => tries.length < 4 })
    const write = async () => {
      const round = outcome(0, [])
      await writer.take(RUNNING, [{ ...round, rows: [{ ...round.rows[0]!, bytes: new Uint8Array(size.bytesMax()) }] }], 1, () => {})
      await writer.flush(RUNNING, true)
    }
    return { tries, write, drop: writer.drop }
  }

  it('is given up, and comes again in smaller parts', async () => {
    const { tries, write, drop } = openSlow([])
    for (let isDone = false; !isDone && tries.length < 4;) {
      isDone = await write().then(
        () => true,
        (error: unknown) => {
          expect(interruptionOf(error).kind).toBe('sink_away')
          drop()
          return false
        },
      )
    }
    expect(tries).toEqual([4 << 20, 2 << 20, 1 << 20])
  })

  it('is given up where it is planned too', async () => {
    const { tries, write } = openSlow([[0, { to: 40n, revision: 2, deadLettersFrom: undefined }]])
    await expect(write()).rejects.toThrow('no answer')
    expect(tries).toEqual([4 << 20])
  })

  it('is planned on behind each of its parts but the last, with its dead letters', async () => {
    const notes: unknown[] = []
    const sink = {
      position: async () => {},
      write: async ({ from, to, note }: Delivery) => {
        notes.push([from, to, JSON.parse(note)])
        return { kind: 'delivered' }
      },
    }
    const { writer, asked } = openWriter([[0, { to: 40n, revision: 2, deadLettersFrom: 60n }]], 50n, { sink })
    const take = (nextOffset: bigint, failed: bigint[]) => writer.take(RUNNING, [{ ...outcome(0, failed), nextOffset }], 1, () => {})
    await take(20n, [])
    // A new dead letter in the middle: the plan stays that of the whole range.
    await take(30n, [25n])
    await take(40n, [])
    expect(asked).toEqual([
      [0, 20n, { r: 2, p: '40', d: '60' }],
      'letters',
      [0, 20n, { r: 2, p: '40', d: '50' }],
      [0, 30n, { r: 2, p: '40', d: '50' }],
      [0, 40n, { r: 2 }],
    ])
    expect(notes).toEqual([
      [10n, 20n, { r: 2, p: '40', d: '60' }],
      [20n, 30n, { r: 2, p: '40', d: '50' }],
      [30n, 40n, { r: 2 }],
    ])
  })
})
