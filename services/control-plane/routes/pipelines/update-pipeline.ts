/** PATCH of a pipeline: its next revision is checked like a new pipeline, then stored and handed to the tasks in one transaction. */
import { isDeepStrictEqual } from 'node:util'
import type { PipelineRequest } from '../../../../shared/api/pipeline-requests.ts'
import { planPipelineContract, updatePipelineContract } from '../../../../shared/api/pipelines.ts'
import { invalidRequest, ServiceError, type Detail } from '../../service-error.ts'
import { sinkFieldsOf, type PipelineDefinition } from '../../../../shared/model/definition.ts'
import { deleteUnpromotedCanary, findShownCanary } from '../../store/canaries.ts'
import { updatePipeline, type PipelineRow } from '../../store/pipelines.ts'
import { findStream } from '../../store/streams.ts'
import { replaceUses } from '../../store/uses.ts'
import { inTransaction, type Queryable } from '../../store/database.ts'
import { assertQuotas } from '../../store/quotas.ts'
import type { Caller, Deps } from '../../deps.ts'
import { anew, storeRevision } from '../../publisher/enqueue.ts'
import { differences } from '../../definitions/differences.ts'
import { fieldsBehind } from '../../definitions/fields-behind.ts'
import { assertMayUse } from '../../definitions/may-use.ts'
import { getPipeline, lockForRevision } from '../own-pipeline.ts'
import { pipelineEtag } from '../etags.ts'
import { orNameTaken } from '../name-taken.ts'
import { operation } from '../operation.ts'
import { changeCanary } from './change-canary.ts'
import { showPipeline } from './pipelines.ts'
import { assertSinkReachable, sinkOf } from './change-sink.ts'
import { assertSameVersions, examineSteps, resolveSteps, withPolicies, type ResolvedStep } from '../../definitions/resolve-steps.ts'

type Change = Partial<
  Pick<PipelineRequest, 'name' | 'description' | 'processors' | 'sink' | 'tasks' | 'on_error' | 'failure_threshold' | 'on_lost_position'>
>

/** True if the change affects what runs, not only name and description. */
const makesRevision = ({ processors, sink, tasks, on_error, failure_threshold, on_lost_position }: Change): boolean =>
  [processors, sink, tasks, on_error, failure_threshold, on_lost_position].some((member) => member !== undefined)

type Changing = Pick<Deps, 'db' | 'cacheFolder' | 'workshop'>

/**
 * What workshops say of a change, before anything is locked: the faults of the steps' configs, and the types behind the steps. `revision`:
 * the one whose steps these are, where the change names none. `chain`: the steps that it names.
 */
type Examined = { faults: Detail[]; fields?: Record<string, string> | undefined; revision?: number; chain?: ResolvedStep[] }

async function examine(deps: Changing, caller: Caller, id: string, asked: Change): Promise<Examined> {
  const row = await getPipeline(deps, caller, id)
  const { source } = row.request as PipelineRequest
  const fieldsOf = (steps: PipelineDefinition['steps']) =>
    fieldsBehind(deps, caller.accountId, { source, sink: asked.sink ?? (row.request as PipelineRequest).sink }, steps)
  if (!asked.processors)
    return asked.sink ? { faults: [], fields: await fieldsOf(row.definition.steps), revision: row.revision } : { faults: [] }
  const { steps: chain, unknown, faults } = await examineSteps(deps, row, asked.processors)
  if (unknown.length > 0 || faults.length > 0) return { faults, chain }
  return { faults, fields: await fieldsOf(chain.map(({ definition }) => definition)), chain }
}

/** Makes the pipeline's next revision, where the change affects what runs. `assertAsBefore` is called with the pipeline locked. */
export async function changePipeline(
  deps: Changing,
  caller: Caller,
  id: string,
  asked: Change,
  assertAsBefore: (trx: Queryable, row: PipelineRow) => Promise<void> = async () => {},
): Promise<PipelineRow> {
  const examined = await examine(deps, caller, id, asked)
  return inTransaction(deps.db, async (trx) => {
    const row = await lockForRevision(trx, caller, id)
    await assertAsBefore(trx, row)
    return change(trx, caller, row, asked, examined)
  })
}

/** What the change would make of the pipeline. It is made, and undone with its transaction. */
export async function planChange(
  deps: Changing,
  caller: Caller,
  id: string,
  asked: Change,
): Promise<{ before: PipelineRow; after: PipelineRow }> {
  const examined = await examine(deps, caller, id, asked)
  const undone = new Error('planned')
  let planned: { before: PipelineRow; after: PipelineRow } | undefined
  await inTransaction(deps.db, async (trx) => {
    const before = await lockForRevision(trx, caller, id)
    planned = { before, after: await change(trx, caller, before, asked, examined) }
    throw undone
  }).catch((error: unknown) => {
    if (error !== undone) throw error
  })
  return planned!
}

/** Changes a pipeline that is locked. Throws ServiceError `invalid_request` with the faults, and with its own. */
async function change(trx: Queryable, caller: Caller, row: PipelineRow, asked: Change, examined: Examined): Promise<PipelineRow> {
  const { id } = row
  const { faults, fields, revision = row.revision } = examined
  if (revision !== row.revision) throw new ServiceError('conflict', 'the pipeline was changed at the same time; try again')
  const { name = row.name, description = row.description } = asked
  if (!makesRevision(asked)) return updatePipeline(trx, id, { name, description })
  const details: Detail[] = [...faults]
  const request = { ...(row.request as PipelineRequest), ...asked }
  const { definition } = row
  if (asked.tasks !== undefined) {
    const { kind, partitions: atFirst } = definition.source
    // An adopted topic may have got more since the pipeline was made.
    const stream = kind === 'topic' ? await findStream(trx, caller.accountId, String(request.source.config.stream_id)) : undefined
    const partitions = stream?.partitions ?? atFirst
    if (asked.tasks > partitions && partitions > 0)
      details.push({ path: '/tasks', message: `must be at most ${partitions}, the source's partition count` })
  }
  let steps = definition.steps
  if (asked.processors) {
    const resolved = await resolveSteps(trx, caller.accountId, asked.processors, details)
    if (details.length > 0) throw invalidRequest(details)
    assertSameVersions(examined.chain, resolved)
    steps = resolved.map((step) => step.definition)
    // It was compared with a step that runs no more.
    await deleteUnpromotedCanary(trx, id)
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
    sink: await sinkOf(trx, row, request, asked, fields),
  }
  // Lock order: the account's lock is always taken last.
  await assertQuotas(trx, caller.accountId, { tasks: request.tasks - definition.tasks })
  // The sink gets its config and the fields when it is opened: a change of either needs a new start.
  const isOpenedAnew = asked.sink !== undefined || !isDeepStrictEqual(sinkFieldsOf(next), sinkFieldsOf(definition))
  return storeRevision(trx, row, next, {
    name,
    description,
    request,
    ...(isOpenedAnew ? anew(row) : {}),
  })
}

/** Members of steps and endpoints that are compared as a whole. */
const WHOLE = ['config', 'on_error']

export const planPipelineOperation = operation(planPipelineContract, async (deps, caller, { params, body }) => {
  assertMayUse(caller, body.sink ? { sink: body.sink } : {})
  if (body.sink) await assertSinkReachable(deps, caller, params.id, body.sink)
  const { before, after } = await orNameTaken('pipeline', body.name, planChange(deps, caller, params.id, body))
  const [shownBefore, shownAfter] = [before, after].map((row) => {
    const { updated_at: _at, revision: _revision, status: _status, status_reason: _reason, ...shown } = showPipeline(row, undefined)
    return shown
  }) as [object, object]
  const effect: 'none' | 'live' | 'reopen' =
    after.attempt !== before.attempt ? 'reopen' : after.revision !== before.revision ? 'live' : 'none'
  return {
    status: 200,
    body: {
      pipeline_id: after.id,
      revision: after.revision,
      effect,
      differences: differences({ ...shownBefore }, { ...shownAfter }, WHOLE),
    },
  }
})

export const updatePipelineOperation = operation(updatePipelineContract, async (deps, caller, { params, query, body }) => {
  assertMayUse(caller, body.sink ? { sink: body.sink } : {})
  if (body.sink && query.check === 'true') await assertSinkReachable(deps, caller, params.id, body.sink)
  const { canary, ...change } = body
  const row =
    canary === undefined
      ? await orNameTaken('pipeline', body.name, changePipeline(deps, caller, params.id, change))
      : await changeCanary(deps, caller, params.id, canary)
  deps.notifyPublisher()
  return { status: 200, body: showPipeline(row, await findShownCanary(deps.db, row.id)), headers: pipelineEtag(row) }
})
