/** The last hour of a pipeline. */
import { getPipelineHistoryContract } from '../../../../shared/api/observability.ts'
import { getPipeline } from '../own-pipeline.ts'
import { operation } from '../operation.ts'

export const getPipelineHistoryOperation = operation(getPipelineHistoryContract, async (deps, caller, { params }) => {
  const { id } = await getPipeline(deps, caller, params.id)
  const points = deps.history.pointsOf(id).map(({ at, ...point }) => ({ at: new Date(at), ...point }))
  return { status: 200, body: { pipeline_id: id, interval_seconds: 10 as const, points } }
})
