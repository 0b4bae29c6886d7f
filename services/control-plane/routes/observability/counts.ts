/**
 * Where a pipeline's records went, from the metadata of its committed offsets; what its SmartModules have measured, from the reports of its
 * tasks.
 */
import { COUNTER_COUNT, namedCounters } from '../../../../shared/model/counters.ts'
import { parseCommitMetadata, type CommitMetadata } from '../../../../shared/model/commit-metadata.ts'
import type { Counters, ObservedTask } from '../../../../shared/model/observed.ts'
import { addUp, type Measure } from '../../../../shared/model/telemetry.ts'
import type { PipelineRow } from '../../store/pipelines.ts'

const ZERO: Counters = namedCounters(Array.from({ length: COUNTER_COUNT }, () => 0))

/** The chain's totals with the records in flight, which came in and have not been counted elsewhere yet. */
export function balanceOf({ failed, in: input, ...counters }: Counters, inFlight: number) {
  return { ...counters, in: input + inFlight, dead_lettered: failed, in_flight: inFlight }
}

/** The sums of all counters. */
export function sum(all: Counters[]): Counters {
  const total = { ...ZERO }
  for (const each of all) for (const name of Object.keys(total) as (keyof Counters)[]) total[name] += each[name]
  return total
}

type Committed = { partition: number; position: number; metadata: string }

/** What is known of each partition, and the totals of all with the records in flight. */
export function accountingOf(committed: readonly Committed[], observed: readonly ObservedTask[]) {
  const known = committed.map(({ partition, metadata }) => [partition, parseCommitMetadata(metadata)] as const)
  const positions = new Map(committed.map(({ partition, position }) => [partition, position]))
  // Ignore reports from before a task's last commit: their records in flight have been counted since.
  const isCurrent = ({ partitions }: ObservedTask) =>
    partitions.every(({ partition, position }) => Number(position) >= (positions.get(partition) ?? 0))
  const inFlight = observed
    .filter((task) => task.role === 'chain' && task.status === 'running' && isCurrent(task))
    .reduce((all, task) => all + task.in_flight, 0)
  return { known, totals: balanceOf(sum(known.map(([, metadata]) => totalsOf(metadata))), inFlight) }
}

/** The whole chain's counters of a partition; zeros where none are known. */
export const totalsOf = (metadata: CommitMetadata | undefined): Counters => (metadata?.t ? namedCounters(metadata.t) : ZERO)

/** What the tasks' SmartModules have measured, added up over the tasks that run the current revision's steps. */
export function measuresOf({ definition, revision }: PipelineRow, observed: readonly ObservedTask[]) {
  const sums = new Map<string, Measure>()
  for (const each of observed.filter((task) => task.revision === revision).flatMap(({ measures }) => measures)) {
    const key = `${each.step} ${each.kind} ${each.name}`
    const found = sums.get(key)
    if (found) [found.times, found.sum] = [found.times + each.times, addUp(found.sum, each.sum)]
    else sums.set(key, { ...each })
  }
  return [...sums.values()]
    .toSorted((a, b) => a.step - b.step || (a.name < b.name ? -1 : 1))
    .map((each) => ({ ...each, module: definition.steps[each.step - 1]?.name ?? null }))
}
