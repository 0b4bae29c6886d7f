/** PATCH of a pipeline: its next revision is checked like a new pipeline, then stored and handed to the tasks in one transaction. */
import { isDeepStrictEqual } from 'node:util'
import { updatePipelineContract, type PipelineRequest } from '../../../../shared/api/pipelines.ts'
import { invalidRequest, type Detail } from '../../service-error.ts'
import { sinkFieldsOf, type PipelineDefinition } from '../../../../shared/model/definition.ts'
import { deleteCanary } from '../../store/canaries.ts'
import { replaceUses, updatePipeline, type PipelineRow } from '../../store/pipelines.ts'
import type { Queryable } from '../../store/database.ts'
import { assertQuotas } from '../../store/quotas.ts'
import type { Caller, Deps } from '../../deps.ts'
import { publishRevision } from '../../publisher/enqueue.ts'
import { assertMayUse } from '../../definitions/may-use.ts'
import { getPipeline, lockForUpdate } from '../get-pipeline.ts'
import { etagOf } from '../list-reply.ts'
import { orNameTaken } from '../name-taken.ts'
import { operation } from '../operation.ts'
import { changeCanary } from './change-canary.ts'
import { showPipeline } from './pipelines.ts'
import { assertSinkReachable, sinkOf } from './change-sink.ts'
import { chainFaults, resolveSteps, withPolicies } from '../../definitions/resolve-steps.ts'

type Change = Partial<
  Pick<PipelineRequest, 'name' | 'description' | 'processors' | 'sink' | 'tasks' | 'on_error' | 'failure_threshold' | 'on_lost_position'>
>

/** True if the change affects what runs, not only name and description. */
const makesRevision = ({ processors, sink, tasks, on_error, failure_threshold, on_lost_position }: Change): boolean =>
  [processors, sink, tasks, on_error, failure_threshold, on_lost_position].some((member) => member !== undefined)

/** A new attempt runs a failed pipeline again, so its status becomes `starting`. */
const afterFailure = ({ status }: PipelineRow) => (status === 'failed' ? ({ status: 'starting', status_reason: null } as const) : {})

/** Makes the pipeline's next revision, where the change affects what runs. `assertAsBefore` is called with the pipeline locked. */
export async function changePipeline(
  deps: Pick<Deps, 'db' | 'cacheFolder' | 'workshop'>,
  caller: Caller,
  id: string,
  asked: Change,
  assertAsBefore: (trx: Queryable, row: PipelineRow) => Promise<void> = async () => {},
): Promise<PipelineRow> {
  await getPipeline(deps, caller, id)
  const faults: Detail[] = []
  if (asked.processors) {
    const unknown: Detail[] = []
    const resolved = await resolveSteps(deps.db, caller.accountId, asked.processors, unknown)
    faults.push(...(await chainFaults(deps, { id, account_id: caller.accountId }, resolved, unknown.length > 0)))
  }
  return deps.db.transaction(async (trx) => {
    const row = await lockForUpdate(trx, caller, id)
    await assertAsBefore(trx, row)
    const { name = row.name, description = row.description } = asked
    if (!makesRevision(asked)) return updatePipeline(trx, id, { name, description })
    const details: Detail[] = [...faults]
    const request = { ...(row.request as PipelineRequest), ...asked }
    const { definition } = row
    const { partitions } = definition.source
    if (request.tasks > partitions && partitions > 0)
      details.push({ path: '/tasks', message: `must be at most ${partitions}, the source's partition count` })
    let steps = definition.steps
    if (asked.processors) {
      const resolved = await resolveSteps(trx, caller.accountId, asked.processors, details)
      if (details.length > 0) throw invalidRequest(details)
      steps = resolved.map((step) => step.definition)
      // It was compared with a step that runs no more.
      await deleteCanary(trx, id)
      const modules = new Set(steps.map(({ module_id }) => module_id))
      await replaceUses(
        trx,
        id,
        ['smartmodule'],
        [...modules].map((used_id) => ({ kind: 'smartmodule', used_id })),
      )
    } else if (details.length > 0) throw invalidRequest(details)
    const next: PipelineDefinition = {
      ...definition,
      name,
      revision: row.revision + 1,
      tasks: request.tasks,
      failure_threshold: request.failure_threshold,
      on_lost_position: request.on_lost_position ?? 'fail',
      steps: withPolicies(steps, request.processors, request.on_error),
      sink: await sinkOf(trx, row, request, asked, steps),
    }
    // Last, as everywhere: what locks the account holds all other locks already.
    await assertQuotas(trx, caller.accountId, { tasks: request.tasks - definition.tasks })
    // The sink gets its config and the fields when it is opened: a change of either needs a new start.
    const isOpenedAnew = asked.sink !== undefined || !isDeepStrictEqual(sinkFieldsOf(next), sinkFieldsOf(definition))
    return publishRevision(trx, row, next, {
      name,
      description,
      request,
      ...(isOpenedAnew ? { attempt: row.attempt + 1, ...afterFailure(row) } : {}),
    })
  })
}

export const updatePipelineOperation = operation(updatePipelineContract, async (deps, caller, { params, query, body }) => {
  assertMayUse(caller, body.sink ? { sink: body.sink } : {})
  if (body.sink && query.check === 'true') await assertSinkReachable(deps, caller, params.id, body.sink)
  const { canary, ...change } = body
  if (canary !== undefined) {
    const row = await changeCanary(deps, caller, params.id, canary)
    deps.notifyPublisher()
    return { status: 200, body: showPipeline(row), headers: etagOf(row) }
  }
  const row = await orNameTaken('pipeline', body.name, changePipeline(deps, caller, params.id, change))
  deps.notifyPublisher()
  return { status: 200, body: showPipeline(row), headers: etagOf(row) }
})
