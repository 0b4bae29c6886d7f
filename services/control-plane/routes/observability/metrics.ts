/** A pipeline's rate, lag and totals, and what its SmartModules have measured. */
import { getPipelineMetricsContract } from '../../../../shared/api/observability.ts'
import { chainRate } from '../../../../shared/model/observed.ts'
import { isOfStepTimes } from '../../../../shared/model/telemetry.ts'
import { listObserved } from '../../store/observed.ts'
import { accountingOf, measuresOf } from './counts.ts'
import { readOffsets } from './offsets.ts'
import { getPipeline } from '../own-pipeline.ts'
import { operation } from '../operation.ts'

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
