/** A pipeline's positions, and where its records went: read from Kafka's committed offsets, which are exact even if nothing else runs. */
import { chainRate, type Counters, type ObservedTask } from '../../../../shared/model/observed.ts'
import {
  getPipelineAccountingContract,
  getPipelineHistoryContract,
  getPipelineLedgerContract,
  getPipelineMetricsContract,
  getPipelineOffsetsContract,
} from '../../../../shared/api/observability.ts'
import { addUp, isOfStepTimes, STEP_MEASURES, type Measure } from '../../../../shared/model/telemetry.ts'
import { layoutOf } from '../../layout-of.ts'
import { COUNTER_COUNT, namedCounters } from '../../../../shared/model/counters.ts'
import { parseCommitMetadata, type CommitMetadata } from '../../../../shared/model/commit-metadata.ts'
import { listLedger, listObserved } from '../../store/observed.ts'
import { listRevisions, type PipelineRow } from '../../store/pipelines.ts'
import type { Deps } from '../../deps.ts'
import { getPipeline } from '../own-pipeline.ts'
import { operation } from '../operation.ts'

export async function readOffsets({ cluster }: Pick<Deps, 'cluster'>, { definition }: PipelineRow) {
  const layout = await layoutOf(cluster, definition.source.topic, 'the source’s topic')
  const partitions = layout.leaders.map((_, partition) => partition)
  const [bounds, committed] = await Promise.all([
    cluster.bounds(layout),
    cluster.committedOffsets(definition.group_id, definition.source.topic, partitions),
  ])
  return [...bounds].map(([partition, { start, end }]) => {
    const { offset, metadata } = committed.get(partition) ?? { offset: 0n, metadata: '' }
    const position = Number(offset)
    return { partition, start: Number(start), position, end: Number(end), lag: Math.max(0, Number(end) - position), metadata }
  })
}

export const getPipelineOffsetsOperation = operation(getPipelineOffsetsContract, async (deps, caller, { params }) => {
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

type Committed = { partition: number; position: number; metadata: string }

/** Also while a partition has no leader. */
async function readCommitted({ cluster }: Pick<Deps, 'cluster'>, { definition }: PipelineRow): Promise<Committed[]> {
  const layout = await layoutOf(cluster, definition.source.topic, 'the source’s topic', 'none')
  const committed = await cluster.committedOffsets(definition.group_id, definition.source.topic, [...layout.leaders.keys()])
  return [...committed].map(([partition, { offset, metadata }]) => ({ partition, position: Number(offset), metadata }))
}

function accountingOf(committed: readonly Committed[], observed: readonly ObservedTask[]) {
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

const totalsOf = (metadata: CommitMetadata | undefined): Counters => (metadata?.t ? namedCounters(metadata.t) : ZERO)

/** How long a step took for a record on the average; null where none has run. */
function nanosecondsOf(step: number, measures: readonly Measure[]): number | null {
  const sumOf = (wanted: string): number => measures.find((each) => each.step === step && each.name === wanted)?.sum ?? 0
  const records = sumOf(STEP_MEASURES.records)
  return records > 0 ? Math.round(sumOf(STEP_MEASURES.nanoseconds) / records) : null
}

export const getPipelineAccountingOperation = operation(getPipelineAccountingContract, async (deps, caller, { params }) => {
  const pipeline = await getPipeline(deps, caller, params.id)
  const [committed, observed] = await Promise.all([readCommitted(deps, pipeline), listObserved(deps.db, pipeline.id)])
  const { known, totals } = accountingOf(committed, observed)
  const { steps } = pipeline.definition
  const measures = measuresOf(pipeline, observed)
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
        nanoseconds: nanosecondsOf(index + 1, measures),
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

export const getPipelineMetricsOperation = operation(getPipelineMetricsContract, async (deps, caller, { params }) => {
  const pipeline = await getPipeline(deps, caller, params.id)
  const [offsets, observed] = await Promise.all([readOffsets(deps, pipeline), listObserved(deps.db, pipeline.id)])
  return {
    status: 200,
    body: {
      pipeline_id: pipeline.id,
      records_per_second: chainRate(observed),
      lag: offsets.reduce((all, { lag }) => all + lag, 0),
      totals: accountingOf(offsets, observed).totals,
      modules: measuresOf(pipeline, observed).filter(({ name }) => !isOfStepTimes(name)),
      observed_at:
        observed
          .map(({ at }) => at)
          .toSorted()
          .at(-1) ?? null,
    },
  }
})

export const getPipelineLedgerOperation = operation(getPipelineLedgerContract, async (deps, caller, { params }) => {
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

export const getPipelineHistoryOperation = operation(getPipelineHistoryContract, async (deps, caller, { params }) => {
  const { id } = await getPipeline(deps, caller, params.id)
  const points = deps.history.pointsOf(id).map(({ at, ...point }) => ({ at: new Date(at), ...point }))
  return { status: 200, body: { pipeline_id: id, interval_seconds: 10 as const, points } }
})
