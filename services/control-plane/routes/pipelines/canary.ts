/** Shows and promotes a pipeline's canary: another version of one of its steps, in shadow or with a share of the keys. */
import { getCanaryContract, promoteCanaryContract } from '../../../../shared/api/canary.ts'
import type { PipelineRequest } from '../../../../shared/api/pipeline-requests.ts'
import { notFound, ServiceError } from '../../service-error.ts'
import { endCanary, findCanary } from '../../store/canaries.ts'
import { listObserved } from '../../store/observed.ts'
import type { PipelineRow } from '../../store/pipelines.ts'
import { handledBy } from '../../definitions/canary-counts.ts'
import { getPipeline } from '../own-pipeline.ts'
import { pipelineEtag } from '../etags.ts'
import { operation } from '../operation.ts'
import { showPipeline } from './pipelines.ts'
import { changePipeline } from './update-pipeline.ts'

type Processors = PipelineRequest['processors']

/** The pipeline's steps as a request would name them, all of them pinned to the versions that run. */
function pinned({ definition, request }: PipelineRow): Processors {
  const asked = (request as PipelineRequest).processors
  return definition.steps.map(({ module_id, version, config, timeout_ms, changes_keys }, index) => ({
    module_id,
    version,
    config,
    changes_keys: changes_keys ?? false,
    ...(timeout_ms === undefined ? {} : { timeout_ms }),
    ...(asked[index]?.on_error ? { on_error: asked[index].on_error } : {}),
  }))
}

export const getCanaryOperation = operation(getCanaryContract, async (deps, caller, { params }) => {
  const pipeline = await getPipeline(deps, caller, params.id)
  const row = await findCanary(deps.db, pipeline.id)
  if (!row) throw notFound('a canary of the pipeline')
  const { status, status_reason, max_failing, max_differing, share, examples, created_at, updated_at } = row
  const live = handledBy(row, pipeline, await listObserved(deps.db, pipeline.id))
  return {
    status: 200,
    body: {
      pipeline_id: pipeline.id,
      step: row.step + 1,
      module: row.definition.name,
      version: row.definition.version,
      running_version: row.running_version,
      config: row.definition.config,
      shadow: share === null,
      share,
      handled: Number(row.handled ?? live.records),
      handled_failed: Number(row.handled_failed ?? live.failed),
      status,
      status_reason,
      compared: Number(row.compared),
      differing: Number(row.differing),
      failed: Number(row.failed),
      skipped: Number(row.skipped),
      max_failing,
      max_differing,
      examples,
      created_at,
      updated_at,
    },
  }
})

export const promoteCanaryOperation = operation(promoteCanaryContract, async (deps, caller, { params }) => {
  const pipeline = await getPipeline(deps, caller, params.id)
  const canary = await findCanary(deps.db, pipeline.id)
  if (!canary) throw notFound('a canary of the pipeline')
  if (canary.status === 'rolled_back')
    throw new ServiceError('conflict', `the canary was rolled back, because it ${canary.status_reason}; start another one`)
  if (canary.status === 'promoted') throw new ServiceError('conflict', 'the canary was promoted already')
  const { version, config } = canary.definition
  const processors = pinned(pipeline).map((each, index) => (index === canary.step ? { ...each, version, config } : each))
  const row = await changePipeline(deps, caller, params.id, { processors }, async (trx, locked) => {
    const { records, failed } = handledBy(canary, locked, await listObserved(trx, pipeline.id))
    const end = { status: 'promoted', status_reason: null, handled: records, handled_failed: failed } as const
    if (locked.revision !== pipeline.revision || !(await endCanary(trx, canary, end)))
      throw new ServiceError('conflict', 'the pipeline or its canary has changed meanwhile')
  })
  deps.notifyPublisher()
  return { status: 200, body: showPipeline(row, undefined), headers: pipelineEtag(row) }
})
