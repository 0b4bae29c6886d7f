/** Starts and ends a pipeline's canary. */
import { isDeepStrictEqual } from 'node:util'
import { inTransaction } from '../../store/database.ts'
import type { CanaryRequest } from '../../../../shared/api/pipeline-requests.ts'
import { examineSteps } from '../../definitions/resolve-steps.ts'
import type { Caller, Deps } from '../../deps.ts'
import { invalidRequest, ServiceError } from '../../service-error.ts'
import { deleteCanary, setCanary } from '../../store/canaries.ts'
import { type PipelineRow } from '../../store/pipelines.ts'
import { canaryOf, hasCanary, storeCanaryRevision } from '../../definitions/canary-of.ts'
import { getPipeline, lockForRevision } from '../own-pipeline.ts'

/** Starts a canary, or ends it with `null`. Throws 400 naming what is wrong with it. */
export async function changeCanary(
  deps: Pick<Deps, 'db' | 'cacheFolder' | 'workshop'>,
  caller: Caller,
  id: string,
  asked: CanaryRequest | null,
): Promise<PipelineRow> {
  const pipeline = await getPipeline(deps, caller, id)
  const { definition } = pipeline
  const index = (asked?.step ?? 1) - 1
  const running = definition.steps[index]
  if (asked && !running) throw invalidRequest([{ path: '/canary/step', message: `must be at most ${definition.steps.length}` }])
  const entry = asked &&
    running && {
      module_id: running.module_id,
      ...(asked.version === undefined ? {} : { version: asked.version }),
      config: asked.config ?? running.config,
      changes_keys: running.changes_keys ?? false,
    }
  const { steps, details } = await examineSteps(deps, pipeline, entry ? [entry] : [])
  const [step] = steps
  // Of a module that the step runs already, only the version can be wrong.
  const pathOf = (path: string) => path.replace('/processors/0', '/canary').replace('/canary/module_id', '/canary/version')
  if (details.length > 0) throw invalidRequest(details.map(({ path, message }) => ({ path: pathOf(path), message })))
  return inTransaction(deps.db, async (trx) => {
    const row = await lockForRevision(trx, caller, id)
    if (!asked || !step) {
      await deleteCanary(trx, id)
      return hasCanary(row.definition) ? storeCanaryRevision(trx, row, undefined) : row
    }
    if (row.definition.steps[index]?.module_id !== step.definition.module_id)
      throw new ServiceError('conflict', 'the pipeline has got other steps meanwhile')
    const { on_error, version: running_version, config } = row.definition.steps[index]
    if (step.definition.version === running_version && isDeepStrictEqual(step.definition.config, config))
      throw invalidRequest([
        {
          path: '/canary/version',
          message: `${running_version} runs already, with this config; name another version, or give another config`,
        },
      ])
    const { max_failing, max_differing, share = null } = asked
    const definition = { ...step.definition, on_error }
    const own = { pipeline_id: id, account_id: caller.accountId, step: index, definition, running_version }
    await setCanary(trx, { ...own, max_failing, max_differing, share })
    if (share !== null) return storeCanaryRevision(trx, row, { step: index, definition: canaryOf(definition, share, max_failing) })
    return hasCanary(row.definition) ? storeCanaryRevision(trx, row, undefined) : row
  })
}
