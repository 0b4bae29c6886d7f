/** Records as they pass a place of a pipeline, for a client that listens. */
import { tailPipelineContract } from '../../../../shared/api/tail.ts'
import { findPipeline } from '../../store/pipelines.ts'
import { filterStep, placeInPipeline } from '../../tail/places.ts'
import { tail } from '../../tail/tail.ts'
import { getPipeline } from '../own-pipeline.ts'
import { operation } from '../operation.ts'

export const tailPipelineOperation = operation(tailPipelineContract, async (deps, caller, { params, query }) => {
  const { definition } = await getPipeline(deps, caller, params.id)
  await placeInPipeline(deps.db, definition, query.at)
  const filter = query.filter === undefined ? undefined : await filterStep(deps, caller, query.filter)
  const place = async () => {
    const row = await findPipeline(deps.db, caller.accountId, params.id)
    return row ? placeInPipeline(deps.db, row.definition, query.at) : undefined
  }
  return { status: 200, events: tail(deps, { accountId: caller.accountId, filter, last: query.last, place }) }
})
