/** Makes the changes of a plan, through the same operations that requests for each of them would go through. */
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { Manifest, PlannedChange } from '../../../../shared/api/manifests.ts'
import { ERROR_CODES } from '../../../../shared/errors/codes.ts'
import type { Contract } from '../../../../shared/api/contract.ts'
import type { Audited, Caller, Deps, Reply } from '../../deps.ts'
import { createPipelineOperation, examinePipeline } from '../pipelines/create-pipeline.ts'
import { deletePipelineOperation } from '../pipelines/pipelines.ts'
import { updatePipelineOperation } from '../pipelines/update-pipeline.ts'
import { deploySmartModuleOperation } from '../smartmodules/deploy-smartmodule.ts'
import { deleteSmartModuleOperation } from '../smartmodules/smartmodules.ts'
import { createStreamOperation } from '../streams/create-stream.ts'
import { deleteStreamOperation } from '../streams/streams.ts'
import { updateStreamOperation } from '../streams/update-stream.ts'
import { toServiceError } from '../../middleware/errors.ts'
import { ServiceError } from '../../service-error.ts'
import { deleteSetMember, saveSetMember } from '../../store/manifests.ts'
import { updateDescription } from '../../store/smartmodules.ts'
import { idOf, type Known } from '../../manifests/known.ts'
import { assertMayUse } from '../../definitions/may-use.ts'
import { fingerprintOf, hashOfBinary } from '../../manifests/parts.ts'
import { isDeployed, type Asked, type ManifestPlan } from '../../manifests/plan.ts'
import {
  differsIn,
  endpointOf,
  faultsInManifest,
  moduleRequest,
  pipelineRequest,
  pipelineUpdate,
  streamRequest,
  streamUpdate,
} from './requests.ts'

/** The request is one, and so are its limits: what it leads to has neither ETags nor keys of its own. */
const plain = ({ accountId, accountType, actorId, scopes, session }: Caller): Caller => ({
  accountId,
  accountType,
  actorId,
  scopes,
  ...(session ? { session } : {}),
})

type Runs<I> = { contract: Contract; handle(deps: Deps, caller: Caller, input: I): Promise<Reply> }

/** Runs the operation with an entry of its own in the audit log. `id`: of what it changes. */
function run<I>({ deps, caller, audited }: Work, operation: Runs<I>, id: string | undefined, input: I): Promise<Reply> {
  const work = () => operation.handle(deps, caller, input)
  return audited ? audited(operation.contract, id, work) : work()
}

/** A pipeline that is deleted may drain for a while, and uses its streams and SmartModules meanwhile. */
const GONE_MAX_MS = 60_000
const GONE_LOOK_MS = 300

async function untilFree<T>(work: () => Promise<T>): Promise<T> {
  for (const deadline = performance.now() + GONE_MAX_MS; ; await sleep(GONE_LOOK_MS)) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'conflict' || performance.now() > deadline) throw error
    }
  }
}

type Work = { deps: Deps; caller: Caller; audited: Audited | undefined; manifest: Manifest; known: Known }
/** What replies say of what was made. */
const Created = z.object({ id: z.string() })
const CreatedVersion = z.object({ id: z.string(), version: z.string() })
const CreatedPipeline = z.object({ pipeline_id: z.string() })

/** The member's id afterwards, and its fingerprint. */
type Made = { id: string; fingerprint?: string }

async function applyStream(work: Work, change: PlannedChange): Promise<Made> {
  const { manifest, known } = work
  const { name, action } = change
  const asked = manifest.streams[name]!
  if (action === 'create') {
    const body = streamRequest(name, asked)
    return { id: Created.parse((await run(work, createStreamOperation, undefined, { params: {}, query: {}, body })).body).id }
  }
  const { id } = known.streams.get(name)!
  if (action === 'adopt') return { id }
  await run(work, updateStreamOperation, id, { params: { id }, query: {}, body: streamUpdate(change, asked) })
  return { id }
}

async function applyModule(work: Work, change: PlannedChange): Promise<Made> {
  const { deps, manifest, known } = work
  const { name, action } = change
  const asked = manifest.smartmodules[name]!
  const existing = known.modules.get(name)
  if (action === 'adopt') return { id: existing!.id }
  if (!isDeployed(change)) {
    await updateDescription(deps.db, existing!.id, asked.description ?? '')
    return { id: existing!.id }
  }
  const { body } = await run(work, deploySmartModuleOperation, existing?.id, { params: {}, query: {}, body: moduleRequest(name, asked) })
  const { id, version } = CreatedVersion.parse(body)
  return asked.wasm_binary === undefined ? { id } : { id, fingerprint: fingerprintOf(hashOfBinary(asked.wasm_binary), version) }
}

async function applyPipeline(work: Work, change: PlannedChange): Promise<Made> {
  const { deps, caller, manifest, known } = work
  const { name, action } = change
  const existing = known.pipelines.get(name)
  if (action === 'adopt') return { id: existing!.id }
  const request = await pipelineRequest(deps, caller, name, manifest.pipelines[name]!)
  if (action === 'update') {
    const body = pipelineUpdate(change, request)
    await run(work, updatePipelineOperation, existing!.id, { params: { id: existing!.id }, query: { check: 'true' }, body })
    return { id: existing!.id }
  }
  const make = async () => {
    const { body } = await run(work, createPipelineOperation, undefined, { params: {}, query: { check: 'true' }, body: request })
    return { id: CreatedPipeline.parse(body).pipeline_id }
  }
  if (action === 'create') return make()
  request.autostart = existing!.desired === 'running'
  // Nothing is deleted for a pipeline that could not be made.
  await examinePipeline(deps, caller, request)
  await run(work, deletePipelineOperation, existing!.id, { params: { id: existing!.id }, query: {}, body: undefined })
  await deleteSetMember(deps.db, caller.accountId, 'pipeline', existing!.id)
  return untilFree(make)
}

/** The operation, tried until what uses its resource is gone. */
const patient = <I>({ contract, handle }: Runs<I>): Runs<I> => ({
  contract,
  handle: (deps, caller, input) => untilFree(() => handle(deps, caller, input)),
})

async function remove(work: Work, { kind, name }: PlannedChange): Promise<void> {
  const { deps, caller, known } = work
  const id = idOf(known, kind, name)
  if (id === undefined) return
  const input = { params: { id }, query: {}, body: undefined }
  if (kind === 'pipeline') await run(work, deletePipelineOperation, id, input)
  else if (kind === 'smartmodule') await run(work, patient(deleteSmartModuleOperation), id, input)
  else await run(work, patient(deleteStreamOperation), id, input)
  await deleteSetMember(deps.db, caller.accountId, kind, id)
}

/** The same error with another message. */
function rephrased(
  { code, status, headers, details, internal }: Pick<ServiceError, 'code' | 'status' | 'headers' | 'details' | 'internal'>,
  message: string,
  cause: unknown,
): ServiceError {
  const more = { ...(details ? { details } : {}), ...(internal === undefined ? {} : { internal }) }
  return new ServiceError(code, message, { status, headers, cause, ...more })
}

const APPLY = { stream: applyStream, smartmodule: applyModule, pipeline: applyPipeline }

/** Makes one change, and the resource a member. Throws its own error, with the change in front and paths of the manifest. */
async function applyChange(work: Work, change: PlannedChange): Promise<void> {
  const { kind, name, action } = change
  try {
    if (action === 'delete') return await remove(work, change)
    const { id, fingerprint } = await APPLY[kind](work, change)
    const member = { kind, resource_id: id, set_name: work.manifest.set, ...(fingerprint === undefined ? {} : { fingerprint }) }
    await saveSetMember(work.deps.db, work.caller.accountId, member)
  } catch (error) {
    const known = toServiceError(error)
    const details = known.details && faultsInManifest(kind, name, known.details)
    // A client that gets 429 assumes that nothing was done, and repeats the request by itself.
    const outcome =
      known.code === 'rate_limit_exceeded'
        ? { ...known, code: 'unavailable' as const, status: ERROR_CODES.unavailable.status, details }
        : { ...known, details }
    throw rephrased(outcome, `${action} of the ${kind} "${name}": ${known.message}`, error)
  }
}

/** How many of a kind are made at once: an account has two workshops, which SmartModules need. */
const AT_ONCE = { stream: 8, smartmodule: 1, pipeline: 4 }

/** Changes that can be made at once, in their order: what others use comes before them, and deletions are made one by one. */
function partsOf(changes: readonly PlannedChange[]): PlannedChange[][] {
  const parts: PlannedChange[][] = []
  for (const change of changes) {
    const last = parts.at(-1)
    const [first] = last ?? []
    const fits = first?.kind === change.kind && change.action !== 'delete' && last!.length < AT_ONCE[change.kind]
    if (fits) last!.push(change)
    else parts.push([change])
  }
  return parts
}

/** Throws 403 where the caller may not use what the pipeline would: its operation would, but after others were done. */
function assertMayMake({ caller, manifest }: Work, change: PlannedChange): void {
  const { kind, name, action } = change
  if (kind !== 'pipeline' || action === 'delete' || action === 'adopt') return
  const { source, sink } = manifest.pipelines[name]!
  const isNew = action !== 'update'
  assertMayUse(caller, {
    ...(isNew ? { source: endpointOf(source) } : {}),
    ...(isNew || differsIn(change, 'sink') ? { sink: endpointOf(sink) } : {}),
  })
}

/**
 * Makes the changes in their order. Each is whole or not made; the first one that fails ends it with its own error, which says how many
 * were made: applying again goes on from there.
 */
export async function applyPlan(deps: Deps, caller: Caller, { manifest }: Asked, { changes, known }: ManifestPlan): Promise<void> {
  const work: Work = { deps, caller: plain(caller), audited: caller.audited, manifest, known }
  for (const change of changes) assertMayMake(work, change)
  let done = 0
  for (const part of partsOf(changes)) {
    const ended = await Promise.allSettled(part.map((change) => applyChange(work, change)))
    done += ended.filter(({ status }) => status === 'fulfilled').length
    const failed = ended.find((each) => each.status === 'rejected')?.reason
    if (failed === undefined) continue
    if (!(failed instanceof ServiceError)) throw failed
    throw rephrased(failed, `${failed.message} (${done} of ${changes.length} changes were made)`, failed)
  }
}
