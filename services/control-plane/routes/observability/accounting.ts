/** Where a pipeline's records went, by partition and by step. */
import { getPipelineAccountingContract } from '../../../../shared/api/observability.ts'
import { isBalanced, namedCounters } from '../../../../shared/model/counters.ts'
import { STEP_MEASURES, type Measure } from '../../../../shared/model/telemetry.ts'
import { layoutOf } from '../../layout-of.ts'
import { listObserved } from '../../store/observed.ts'
import type { PipelineRow } from '../../store/pipelines.ts'
import type { Deps } from '../../deps.ts'
import { accountingOf, balanceOf, measuresOf, sum, totalsOf } from './counts.ts'
import { getPipeline } from '../own-pipeline.ts'
import { operation } from '../operation.ts'

/** Also while a partition has no leader. */
async function readCommitted({ cluster }: Pick<Deps, 'cluster'>, { definition }: PipelineRow) {
  const layout = await layoutOf(cluster, definition.source.topic, 'the source’s topic', 'none')
  const committed = await cluster.committedOffsets(definition.group_id, definition.source.topic, [...layout.leaders.keys()])
  return [...committed].map(([partition, { offset, metadata }]) => ({ partition, position: Number(offset), metadata }))
}

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
      // What is in flight is on both sides of the totals' equation.
      balanced: known.every(([, metadata]) => isBalanced(totalsOf(metadata))),
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
