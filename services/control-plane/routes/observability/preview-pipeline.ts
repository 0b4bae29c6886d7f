/** Runs real records of a pipeline through its chain, or another one. Writes and commits nothing. */
import { previewPipelineContract } from '../../../../shared/api/trials.ts'
import { examineSteps } from '../../definitions/resolve-steps.ts'
import { invalidRequest } from '../../service-error.ts'
import { pipelineRecords, tracedBody } from '../../trace/pipeline-records.ts'
import { traceThrough } from '../../trace/trace.ts'
import { getPipeline } from '../own-pipeline.ts'
import { operation } from '../operation.ts'

export const previewPipelineOperation = operation(previewPipelineContract, async (deps, caller, { params, body }) => {
  const pipeline = await getPipeline(deps, caller, params.id)
  const { processors, ...choice } = body ?? { limit: 10 }
  const asked = processors && (await examineSteps(deps, pipeline, processors))
  if (asked && asked.details.length > 0) throw invalidRequest(asked.details)
  const steps = asked?.steps.map(({ definition }) => definition) ?? pipeline.definition.steps
  const chosen = await pipelineRecords(deps, pipeline, choice, steps.length)
  const traces = await traceThrough(deps, { ...pipeline.definition, steps }, chosen.records)
  return { status: 200, body: { pipeline_id: pipeline.id, ...tracedBody(chosen, traces) } }
})
