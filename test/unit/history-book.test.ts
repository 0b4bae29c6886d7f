/** The last hour of pipelines: what counts as new, and what is forgotten. */
import { describe, expect, it } from 'vitest'
import { createHistoryBook } from '../../services/control-plane/history/history-book.ts'
import type { ObservedTask } from '../../shared/model/observed.ts'

const START = Date.parse('2026-11-23T10:00:00.000Z')
const counters = (input: number, failed = 0) => ({
  in: input,
  out: input - failed,
  filtered: 0,
  skipped: 0,
  failed,
  absorbed: 0,
  emitted: input - failed,
})

const report = (
  seconds: number,
  partitions: [partition: number, total: number, step: number, failed?: number][],
  more: Partial<ObservedTask> = {},
): ObservedTask => ({
  pipeline_id: 'pl_1',
  role: 'chain',
  task: 0,
  processor_id: 'p',
  revision: 1,
  attempt: 1,
  status: 'running',
  reason: null,
  at: new Date(START + seconds * 1000).toISOString(),
  records_per_second: 0,
  in_flight: 0,
  held_back: false,
  quarantined: [],
  measures: [],
  partitions: partitions.map(([partition, total, step, failed = 0]) => ({
    partition,
    position: '0',
    end: '0',
    lag: String(partition + 1),
    steps: [counters(step, failed)],
    totals: counters(total, failed),
  })),
  ...more,
})

function open() {
  let now = START
  const book = createHistoryBook(() => now)
  return { book, at: (seconds: number) => (now = START + seconds * 1000) }
}

describe('the history of a pipeline', () => {
  it('counts what came since the report before, in steps of ten seconds, over partitions and tasks', () => {
    const { book } = open()
    book.add(report(1, [[0, 10, 10]]), true)
    book.add(
      report(3, [
        [0, 25, 25, 2],
        [1, 5, 5],
      ]),
      true,
    )
    book.add(report(12, [[0, 26, 26, 2]]), true)
    const points = book.pointsOf('pl_1')
    expect(points.map(({ at, in: input, failed, lag }) => [(at - START) / 1000, input, failed, lag])).toEqual([
      [0, 30, 2, 3],
      [10, 1, 0, 3],
    ])
    expect(points[0]?.steps).toEqual([{ in: 30, out: 28, filtered: 0, failed: 2 }])
    expect(book.pointsOf('pl_2')).toEqual([])
  })

  it('takes old reports only as where to count from', () => {
    const { book } = open()
    book.add(report(0, [[0, 1_000_000, 500]]), false)
    book.add(report(2, [[0, 1_000_007, 507]]), true)
    expect(book.pointsOf('pl_1').map(({ in: input }) => input)).toEqual([7])
  })

  it('counts a step’s counters from zero with a revision, and a partition’s where they start over', () => {
    const { book } = open()
    book.add(report(0, [[0, 100, 100]]), true)
    book.add(report(11, [[0, 130, 30]], { revision: 2 }), true)
    book.add(report(21, [[0, 4, 4]], { revision: 2 }), true)
    expect(book.pointsOf('pl_1').map(({ in: input, steps }) => [input, steps[0]?.in])).toEqual([
      [100, 100],
      [30, 30],
      [4, 4],
    ])
  })

  it('leaves out jobs and intakes, and forgets after an hour', () => {
    const { book, at } = open()
    book.add(report(0, [[0, 5, 5]], { job_id: 'job_1' }), true)
    book.add(report(0, [[0, 5, 5]], { role: 'intake' }), true)
    expect(book.pointsOf('pl_1')).toEqual([])
    book.add(report(0, [[0, 5, 5]]), true)
    at(3605)
    expect(book.pointsOf('pl_1')).toEqual([])
    book.add(report(3605, [[0, 6, 6]]), true)
    expect(book.pointsOf('pl_1').map(({ in: input }) => input)).toEqual([1])
  })
})
