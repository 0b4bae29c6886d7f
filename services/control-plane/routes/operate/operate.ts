/** A pipeline's positions, and where its records went: read from Kafka's committed offsets, which are exact even if nothing else runs. */
import { chainRate, type Counters, type ObservedTask } from '../../../../shared/model/observed.ts'
import {
  getAccountingContract,
  getHistoryContract,
  getLedgerContract,
  getMetricsContract,
  getOffsetsContract,
} from '../../../../shared/api/operate.ts'
import { addUp, type Measure } from '../../../../shared/model/telemetry.ts'
import { unavailable } from '../../service-error.ts'
import { COUNTER_COUNT, namedCounters } from '../../../../shared/model/counters.ts'
import { parseCommitMetadata, type CommitMetadata } from '../../../../shared/model/commit-metadata.ts'
import { listLedger, listObserved, listRevisions, type PipelineRow } from '../../store/pipelines.ts'
import type { Deps } from '../../deps.ts'
import { getPipeline } from '../get-pipeline.ts'
import { operation } from '../operation.ts'

export async function readOffsets({ cluster }: Pick<Deps, 'cluster'>, { definition }: PipelineRow) {
  const layout = await cluster.describeTopic(definition.source.topic)
  if (!layout || layout.leaders.includes(-1)) throw unavailable('the source’s topic')
  const partitions = layout.leaders.map((_, partition) => partition)
  const [starts, ends, committed] = await Promise.all([
    cluster.offsets(layout, partitions, 'earliest'),
    cluster.offsets(layout, partitions, 'latest'),
    cluster.committedOffsets(definition.group_id, definition.source.topic, partitions),
  ])
  return partitions.map((partition) => {
    const end = Number(ends.get(partition) ?? 0n)
    const start = Number(starts.get(partition) ?? 0n)
    const found = committed.get(partition)
    const position = Number(found?.offset ?? 0n)
    return { partition, start, position, end, lag: Math.max(0, end - position), metadata: found?.metadata ?? '' }
  })
}

export const getOffsets = operation(getOffsetsContract, async (deps, caller, { params }) => {
  const pipeline = await getPipeline(deps, caller, params.id)
  const partitions = await readOffsets(deps, pipeline)
  return {
    status: 200,
    body: {
      pipeline_id: pipeline.id,
      topic: pipeline.definition.source.topic,
      group_id: pipeline.definition.group_id,
      lag: partitions.reduce((sum, { lag }) => sum + lag, 0),
      partitions: partitions.map(({ partition, start, position, end, lag }) => ({ partition, start, position, end, lag })),
    },
  }
})

const ZERO: Counters = namedCounters(Array.from({ length: COUNTER_COUNT }, () => 0))

/** The chain's totals with the records in flight, which came in and have not been counted elsewhere yet. */
function balanceOf({ failed, in: input, ...counters }: Counters, inFlight: number) {
  return { ...counters, in: input + inFlight, dead_lettered: failed, in_flight: inFlight }
}

const isBalanced = (each: ReturnType<typeof balanceOf>): boolean =>
  each.in === each.out + each.filtered + each.skipped + each.dead_lettered + each.absorbed + each.in_flight

function sum(all: Counters[]): Counters {
  const total = { ...ZERO }
  for (const each of all) for (const name of Object.keys(total) as (keyof Counters)[]) total[name] += each[name]
  return total
}

async function readAccounting(deps: Pick<Deps, 'cluster' | 'db'>, pipeline: PipelineRow) {
  const { definition, id } = pipeline
  const layout = await deps.cluster.describeTopic(definition.source.topic)
  if (!layout) throw unavailable('the source’s topic')
  const committed = await deps.cluster.committedOffsets(definition.group_id, definition.source.topic, [...layout.leaders.keys()])
  const known = [...committed].map(([partition, { metadata }]) => [partition, parseCommitMetadata(metadata)] as const)
  const observed = await listObserved(deps.db, id)
  // Ignore reports from before a task's last commit: their records in flight have been counted since.
  const isCurrent = ({ partitions }: ObservedTask) =>
    partitions.every(({ partition, position }) => BigInt(position) >= (committed.get(partition)?.offset ?? 0n))
  const inFlight = observed
    .filter((task) => task.role === 'chain' && task.status === 'running' && isCurrent(task))
    .reduce((all, task) => all + task.in_flight, 0)
  return { known, observed, inFlight, totals: balanceOf(sum(known.map(([, metadata]) => totalsOf(metadata))), inFlight) }
}

const totalsOf = (metadata: CommitMetadata | undefined): Counters => (metadata?.t ? namedCounters(metadata.t) : ZERO)

export const getAccounting = operation(getAccountingContract, async (deps, caller, { params }) => {
  const pipeline = await getPipeline(deps, caller, params.id)
  const { known, totals } = await readAccounting(deps, pipeline)
  const { steps } = pipeline.definition
  const partitions = known.map(([partition, metadata]) => ({
    partition,
    revision: metadata?.r ?? null,
    ...balanceOf(totalsOf(metadata), 0),
  }))
  return {
    status: 200,
    body: {
      pipeline_id: pipeline.id,
      revision: pipeline.revision,
      balanced: isBalanced(totals) && partitions.every(isBalanced),
      totals,
      steps: steps.map(({ name, version }, index) => ({
        step: index + 1,
        module: name,
        version,
        // A partition that an earlier revision committed last has no counts of this revision yet.
        ...sum(
          known.flatMap(([, metadata]) =>
            metadata?.r === pipeline.revision && metadata.c[index] ? [namedCounters(metadata.c[index])] : [],
          ),
        ),
      })),
      partitions,
    },
  }
})

/** What the tasks' SmartModules have measured, added up over the tasks that run the current revision's steps. */
function measuresOf({ definition, revision }: PipelineRow, observed: readonly ObservedTask[]) {
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

export const getMetrics = operation(getMetricsContract, async (deps, caller, { params }) => {
  const pipeline = await getPipeline(deps, caller, params.id)
  const [{ observed, totals }, offsets] = await Promise.all([readAccounting(deps, pipeline), readOffsets(deps, pipeline)])
  return {
    status: 200,
    body: {
      pipeline_id: pipeline.id,
      records_per_second: chainRate(observed),
      lag: offsets.reduce((all, { lag }) => all + lag, 0),
      totals,
      modules: measuresOf(pipeline, observed),
      observed_at:
        observed
          .map(({ at }) => at)
          .toSorted()
          .at(-1) ?? null,
    },
  }
})

export const getLedger = operation(getLedgerContract, async (deps, caller, { params }) => {
  const pipeline = await getPipeline(deps, caller, params.id)
  const [entries, revisions] = await Promise.all([listLedger(deps.db, pipeline.id), listRevisions(deps.db, pipeline.id)])
  return {
    status: 200,
    body: {
      pipeline_id: pipeline.id,
      entries: entries.map((entry) => ({ ...entry, from_offset: Number(entry.from_offset) })),
      revisions: revisions.map(({ revision, created_at, definition }) => ({
        revision,
        created_at,
        processors: definition.steps.map(({ module_id, name, version, config }) => ({ module_id, name, version, config })),
      })),
    },
  }
})

export const getHistory = operation(getHistoryContract, async (deps, caller, { params }) => {
  const { id } = await getPipeline(deps, caller, params.id)
  const points = deps.history.pointsOf(id).map(({ at, ...point }) => ({ at: new Date(at), ...point }))
  return { status: 200, body: { pipeline_id: id, interval_seconds: 10 as const, points } }
})
