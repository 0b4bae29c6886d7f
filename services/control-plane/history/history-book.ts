/**
 * What pipelines did in the last hour, in steps of ten seconds, in memory: the differences between their tasks' reports. A step in which
 * nothing was reported has no point, so that an idle pipeline costs nothing.
 */
import type { Counters, ObservedTask } from '../../../shared/model/observed.ts'

export const INTERVAL_MS = 10_000
const KEPT_MS = 3_600_000
/** Points of all pipelines together; the pipelines that reported least recently are dropped first. */
const POINTS_MAX = 200_000

type Counts = Pick<Counters, 'in' | 'out' | 'filtered' | 'failed'>
/** `at` is when the step begins; `lag` is of all partitions, as of its last report. */
export type Point = Counts & { at: number; lag: number; steps: Counts[] }

export type HistoryBook = {
  /** A report. One that is not new was read while catching up: its counts only say where to count from. */
  add(report: ObservedTask, isNew: boolean): void
  /** Oldest first. */
  pointsOf(pipelineId: string): Point[]
}

type Known = { revision: number; totals: Counts; steps: Counts[]; lag: number }
type Page = { points: Point[]; partitions: Map<number, Known> }

const NONE: Counts = { in: 0, out: 0, filtered: 0, failed: 0 }
const countsOf = ({ in: input, out, filtered, failed }: Counts): Counts => ({ in: input, out, filtered, failed })

/** Counters that have started over count from zero. */
function since(now: Counts, before: Counts): Counts {
  const base = now.in < before.in ? NONE : before
  return { in: now.in - base.in, out: now.out - base.out, filtered: now.filtered - base.filtered, failed: now.failed - base.failed }
}

function addTo(sum: Counts, more: Counts): void {
  for (const name of ['in', 'out', 'filtered', 'failed'] as const) sum[name] += more[name]
}

export function createHistoryBook(now: () => number): HistoryBook {
  /** The pipeline that has reported least recently comes first. */
  const pages = new Map<string, Page>()
  let count = 0

  function drop(page: Page, points: number): void {
    count -= page.points.splice(0, points).length
  }

  function pointAt(page: Page, at: number, stepCount: number): Point {
    const start = at - (at % INTERVAL_MS)
    let point = page.points.at(-1)
    // Reports of several tasks may come in another order than they were made.
    if (!point || point.at < start) {
      page.points.push((point = { at: start, lag: 0, ...NONE, steps: [] }))
      count++
    }
    while (point.steps.length < stepCount) point.steps.push({ ...NONE })
    return point
  }

  function makeRoom(): void {
    for (const [id, page] of pages) {
      if (count <= POINTS_MAX) return
      drop(page, page.points.length)
      pages.delete(id)
    }
  }

  return {
    add(report, isNew) {
      if (report.role !== 'chain' || report.job_id !== undefined || report.partitions.length === 0) return
      const page = pages.get(report.pipeline_id) ?? { points: [], partitions: new Map<number, Known>() }
      pages.delete(report.pipeline_id)
      pages.set(report.pipeline_id, page)
      const at = Date.parse(report.at)
      const point = pointAt(page, at, report.partitions[0]!.steps.length)
      for (const { partition, totals: all, steps: each, lag } of report.partitions) {
        const [totals, steps] = [countsOf(all ?? NONE), each.map(countsOf)]
        const before = page.partitions.get(partition)
        page.partitions.set(partition, { revision: report.revision, totals, steps, lag: Number(lag) })
        if (!before && !isNew) continue
        addTo(point, since(totals, before?.totals ?? NONE))
        const isSame = before?.revision === report.revision
        for (const [index, counts] of steps.entries())
          addTo(point.steps[index] ?? { ...NONE }, since(counts, (isSame ? before.steps[index] : undefined) ?? NONE))
      }
      point.lag = [...page.partitions.values()].reduce((sum, { lag }) => sum + lag, 0)
      const first = page.points.findIndex((each) => each.at >= now() - KEPT_MS)
      if (first > 0) drop(page, first)
      makeRoom()
    },
    pointsOf: (pipelineId) => (pages.get(pipelineId)?.points ?? []).filter((each) => each.at >= now() - KEPT_MS),
  }
}
