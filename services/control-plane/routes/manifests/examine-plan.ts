/** What can be said of a plan's changes before any of them is made. */
import type { PlannedChange } from '../../../../shared/api/manifests.ts'
import { STREAM_DEFAULTS } from '../../../../shared/api/streams.ts'
import { LIMITS } from '../../../../shared/model/limits.ts'
import type { Caller, Deps } from '../../deps.ts'
import { deployedIn, isDeployed, pointerTo, type Asked, type ManifestPlan } from '../../manifests/plan.ts'
import { toServiceError } from '../../middleware/errors.ts'
import { invalidRequest, type Detail } from '../../service-error.ts'
import { inTransaction } from '../../store/database.ts'
import { assertQuotas } from '../../store/quotas.ts'
import { assertValid, type ToCome } from '../pipelines/create-pipeline.ts'
import { planChange } from '../pipelines/update-pipeline.ts'
import { examineUpload } from '../smartmodules/deploy-smartmodule.ts'
import { describeStream } from '../streams/create-stream.ts'
import { schemaChangeFaults } from '../streams/schemas.ts'
import { faultsInManifest, moduleRequest, pipelineRequest, pipelineUpdate, streamRequest, streamUpdate } from './requests.ts'

type Examined = Pick<
  Deps,
  'adoption' | 'cacheFolder' | 'cluster' | 'connectorDefaults' | 'db' | 'names' | 'registry' | 'withAdmin' | 'workshop'
>
/** `deployed`: the SmartModules that get a next version. */
type Work = { deps: Examined; caller: Caller; asked: Asked; planned: ManifestPlan; deployed: ReadonlySet<string> }

/** Returns what the stream adds to the account's partitions. Throws what is wrong with it. */
async function examineStream({ deps, caller, asked, planned }: Work, change: PlannedChange): Promise<number> {
  const part = asked.manifest.streams[change.name]!
  if (change.action === 'create') return (await describeStream(deps, caller.accountId, '', streamRequest(change.name, part))).partitions
  const { details } = await schemaChangeFaults(deps, planned.known.streams.get(change.name)!, streamUpdate(change, part))
  if (details.length > 0) throw invalidRequest(details)
  return 0
}

/** The streams of the pipeline that are not there yet, and the steps whose SmartModules are not, or get a next version. */
function toComeOf({ asked: { manifest }, planned: { known, faults }, deployed }: Work, { name }: PlannedChange): ToCome {
  const isToCome = (module: string) =>
    !known.modules.has(module) || deployed.has(module) || faults.some(({ path }) => path.startsWith(`${pointerTo('smartmodule', module)}/`))
  const { source, steps, sink } = manifest.pipelines[name]!
  const ends = [['source', source] as const, ['sink', sink] as const].flatMap(([side, end]) =>
    'stream' in end && !known.streams.has(end.stream) ? [side] : [],
  )
  const made = ends.includes('source') && 'stream' in source ? manifest.streams[source.stream] : undefined
  return {
    ends,
    steps: new Set(steps.flatMap(({ module }, index) => (isToCome(module) ? [index] : []))),
    // An adopted topic has its own.
    partitions: made && made.topic === undefined ? (made.partitions ?? STREAM_DEFAULTS.partitions) : undefined,
  }
}

/** Throws what is wrong with the pipeline, or with its change. What it connects to is asked when the change is made. */
async function examinePipelineChange(work: Work, change: PlannedChange): Promise<void> {
  const { deps, caller, asked, planned } = work
  const { name, action } = change
  const request = await pipelineRequest(deps, caller, name, asked.manifest.pipelines[name]!)
  const toCome = toComeOf(work, change)
  if (action !== 'update') return assertValid(deps, caller, request, toCome)
  const isOfWhatIs = toCome.ends.length === 0 && toCome.steps.size === 0
  if (isOfWhatIs) await planChange(deps, caller, planned.known.pipelines.get(name)!.id, pipelineUpdate(change, request))
  // It has started already.
  else await assertValid(deps, caller, { ...request, start: 'earliest' }, toCome)
}

/** What the change adds to the account's partitions. Throws what is wrong with it. */
async function examine(work: Work, change: PlannedChange): Promise<number> {
  const { deps, caller, asked } = work
  const { kind, name, action } = change
  if (action === 'delete' || action === 'adopt') return 0
  if (kind === 'stream') return examineStream(work, change)
  if (kind === 'pipeline') await examinePipelineChange(work, change)
  if (isDeployed(change)) await examineUpload(deps, caller.accountId, moduleRequest(name, asked.manifest.smartmodules[name]!))
  return 0
}

/** The most tasks that the changes add, made one after the other: one that gives tasks up leaves them to the next. */
function tasksAdded({ asked, planned }: Work): number {
  let [added, most] = [0, 0]
  for (const { kind, name, action } of planned.changes) {
    if (kind !== 'pipeline') continue
    const before = planned.known.pipelines.get(name)?.definition.tasks ?? 0
    added += (action === 'delete' ? 0 : asked.manifest.pipelines[name]!.tasks) - before
    most = Math.max(most, added)
  }
  return most
}

/** What is wrong with the change; other failures, as of another system that does not answer, are not the plan's. */
function faultsOf({ kind, name }: PlannedChange, error: unknown): Detail[] {
  const { code, message, details } = toServiceError(error)
  if (code !== 'invalid_request') return []
  return faultsInManifest(kind, name, details ?? [{ path: '', message }])
}

/**
 * Throws the plan's faults and all else that is wrong with its changes, as far as it shows before they are made: what depends on a stream
 * or a version that is still to come is looked at when it is its turn. Throws 403 where they would exceed a quota.
 */
export async function assertMakeable(deps: Examined, caller: Caller, asked: Asked, planned: ManifestPlan): Promise<void> {
  const work = { deps, caller, asked, planned, deployed: deployedIn(planned.changes) }
  const faults = [...planned.faults]
  // The plan's own words for a place are enough.
  const isNew = ({ path }: Detail) => !planned.faults.some((fault) => fault.path === path)
  let partitions = 0
  // One after the other: an account has two workshops, and requests of its own beside this one.
  for (const change of planned.changes) {
    if (faults.length >= LIMITS.details_max) break
    try {
      partitions += await examine(work, change)
    } catch (error) {
      faults.push(...faultsOf(change, error).filter(isNew))
    }
  }
  if (faults.length > 0) throw invalidRequest(faults.slice(0, LIMITS.details_max))
  const made = planned.changes.filter(({ action }) => action === 'create')
  const count = (kind: PlannedChange['kind']) => made.filter((change) => change.kind === kind).length
  const tasks = tasksAdded(work)
  const more = { streams: count('stream'), partitions, smartmodules: count('smartmodule'), pipelines: count('pipeline'), tasks }
  await inTransaction(deps.db, (trx) => assertQuotas(trx, caller.accountId, more))
}
