/** How far a task has come, for its rounds and for what is shown of it. */
import type { Accounting } from './accounting.ts'
import type { Fetcher } from './round/fetch.ts'

export function createProgress(onChange: () => void) {
  /** Next offset of each owned partition; moves with every commit. */
  let positions = new Map<number, bigint>()
  const knownEnds = new Map<number, bigint>()
  let fetcher: Fetcher | undefined
  let recordsDone = 0
  let inFlight = 0
  return {
    positions: () => positions,
    setPositions(loaded: Map<number, bigint>): void {
      positions = loaded
    },
    /** The fetcher at work, or none. */
    onFetcher(open: Fetcher | undefined): void {
      // Keep the last known ends: a partition that is not being read still has lag.
      for (const [partition, end] of fetcher?.ends ?? []) knownEnds.set(partition, end)
      fetcher = open
    },
    fetcher: () => fetcher,
    onInFlight(records: number): void {
      inFlight = records
    },
    onCommit(records: number): void {
      recordsDone += records
      onChange()
    },
    recordsDone: () => recordsDone,
    view: (accounting: Accounting | undefined) => ({
      inFlight,
      recordsDone,
      partitions: (accounting?.snapshot() ?? []).map(({ partition, steps, totals }) => ({
        partition,
        position: positions.get(partition) ?? 0n,
        end: fetcher?.ends.get(partition) ?? knownEnds.get(partition) ?? positions.get(partition) ?? 0n,
        steps,
        totals,
      })),
    }),
  }
}

export type Progress = ReturnType<typeof createProgress>
