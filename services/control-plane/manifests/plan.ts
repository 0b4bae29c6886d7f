/** What applying a manifest would change. Reads only; what of it can't be done is found in `routes/manifests/examine-plan.ts`. */
import { createHash } from 'node:crypto'
import type { Difference } from '../../../shared/api/common.ts'
import {
  FittingModulePart,
  FittingStreamPart,
  MEMBER_KINDS,
  type Manifest,
  type MemberKind,
  type PlannedChange,
} from '../../../shared/api/manifests.ts'
import { findConnector } from '../../../shared/connectors/catalogue.ts'
import type { Detail } from '../service-error.ts'
import { findKnown, idOf, memberKey, ownedBy, type Known } from './known.ts'
import { modulePart, moduleWanted, pipelinePart, pipelineWanted, streamPart, STREAM_CHANGES, streamWanted, type NewestOf } from './parts.ts'
import { pointer } from '../../../shared/model/json-pointer.ts'
import { abridged, differences } from '../definitions/differences.ts'
import { movedMembers, needsOtherOrder } from '../definitions/resolve-endpoint.ts'
import { validated } from '../middleware/validate.ts'
import type { Queryable } from '../store/database.ts'
import { listPipelinesUsingEach } from '../store/uses.ts'
import type { PipelineRow } from '../store/pipelines.ts'
import { findVersion } from '../store/smartmodules.ts'

export type Asked = { manifest: Manifest; prune: boolean; replace: readonly string[] }
/** `faults`: why it can't be applied, as far as what it names and what there is say it. */
export type ManifestPlan = { set: string; hash: string; changes: PlannedChange[]; unchanged: number; known: Known; faults: Detail[] }

type Part = Record<string, unknown>

/** As JSON holds it: -0 is 0 there. */
const plain = (part: Part): Part => JSON.parse(JSON.stringify(part)) as Part

/** Compared as a whole: a member that is left out is gone. */
const WHOLE: readonly string[] = ['with', 'schema', 'parameters']

/** The JSON pointer to the member in a request. */
export const pointerTo = (kind: MemberKind, name: string): string => pointer([`${kind}s`, name], '/manifest')

/** The members of the manifest, by kind and name. */
const partsOf = ({ streams, smartmodules, pipelines }: Manifest) => ({ stream: streams, smartmodule: smartmodules, pipeline: pipelines })

/** Whether the sink's change moves the place that keeps its position. */
function movesSink(before: Part, after: Part): boolean {
  if ('stream' in before || 'stream' in after) return 'stream' in before !== 'stream' in after
  if (before.connector !== after.connector) return true
  return movedMembers(String(after.connector), before.with as Part, after.with as Part).length > 0
}

/** Whether the sink would need another order of the records than the source was opened with. */
function needsOrder({ definition }: PipelineRow, { source, sink }: Part): boolean {
  const [from, to] = [source, sink].map((end) => {
    const { connector, with: config } = end as Part
    const found = findConnector(String(connector))
    return found && { kind: 'connector' as const, connector_id: found.id, config: config as Part, fields: undefined, secretIds: [] }
  })
  return from !== undefined && to !== undefined && needsOtherOrder(definition, from, to)
}

function effectOf(
  { streams }: Pick<Known, 'streams'>,
  row: PipelineRow,
  found: readonly Difference[],
  before: Part,
  after: Part,
): 'live' | 'reopen' | 'replace' {
  const changes = (member: string) => found.some(({ path }) => path.split('/')[1] === member)
  const { stream } = before.source as Part
  // An adopted topic may have got more since the pipeline was made.
  const { partitions } = streams.get(String(stream)) ?? row.definition.source
  // Only where they change: a topic may have been made anew with fewer.
  const isBeyond = changes('tasks') && partitions > 0 && Number(after.tasks) > partitions
  if (changes('source') || isBeyond || movesSink(before.sink as Part, after.sink as Part) || needsOrder(row, after)) return 'replace'
  // An external sink gets the types of the steps' output.
  return changes('sink') || (changes('steps') && 'connector' in (after.sink as Part)) ? 'reopen' : 'live'
}

/** A resource of the account that another set owns can't be changed by this one. */
function ownerFault(known: Known, set: string, kind: MemberKind, name: string): Detail[] {
  const id = idOf(known, kind, name)
  const owner = id === undefined ? undefined : known.members.get(memberKey(kind, id))?.set_name
  return owner === undefined || owner === set ? [] : [{ path: pointerTo(kind, name), message: `belongs to the set ${owner}` }]
}

/** The manifest without the streams and SmartModules whose members don't fit each other; `details` gets their faults. */
function fitting(manifest: Manifest, details: Detail[]): Manifest {
  const keep = <T>(kind: MemberKind, parts: Record<string, T>, schema: typeof FittingStreamPart | typeof FittingModulePart) =>
    Object.fromEntries(
      Object.entries(parts).filter(([name, part]) => {
        const answer = validated(schema, part, pointerTo(kind, name))
        if ('details' in answer) details.push(...answer.details)
        return 'value' in answer
      }),
    )
  const { streams, smartmodules } = manifest
  return {
    ...manifest,
    streams: keep('stream', streams, FittingStreamPart),
    smartmodules: keep('smartmodule', smartmodules, FittingModulePart),
  }
}

/** What may be replaced must be a pipeline of the manifest: another name is a slip. */
const replaceFaults = ({ manifest, replace }: Asked): Detail[] =>
  replace.flatMap((name, index) =>
    Object.hasOwn(manifest.pipelines, name) ? [] : [{ path: `/replace/${index}`, message: 'is not a pipeline of this manifest' }],
  )

/** What the pipelines use must be of the manifest or of the account. */
function useFaults({ streams, smartmodules, pipelines }: Manifest, known: Known): Detail[] {
  return Object.entries(pipelines).flatMap(([name, { source, steps, sink }]) => {
    const at = pointerTo('pipeline', name)
    const ends = [['source', source] as const, ['sink', sink] as const].flatMap(([side, end]) =>
      'stream' in end && !Object.hasOwn(streams, end.stream) && !known.streams.has(end.stream)
        ? [{ path: `${at}/${side}/stream`, message: 'is not a stream of this manifest, nor of the account' }]
        : [],
    )
    const modules = steps.flatMap(({ module }, index) =>
      Object.hasOwn(smartmodules, module) || known.modules.has(module)
        ? []
        : [{ path: `${at}/steps/${index}/module`, message: 'is not a SmartModule of this manifest, of the account, or a built-in' }],
    )
    const isOwn = 'stream' in source && 'stream' in sink && source.stream === sink.stream
    return [...ends, ...modules, ...(isOwn ? [{ path: `${at}/sink/stream`, message: 'must not be the source' }] : [])]
  })
}

/** The change of a member that has these differences; undefined where it is a member already and stays as it is. */
function changeOf(
  known: Known,
  kind: MemberKind,
  name: string,
  found: Difference[],
  effect: PlannedChange['effect'] = 'live',
): PlannedChange | undefined {
  const id = idOf(known, kind, name)
  if (id === undefined) return { kind, name, action: 'create', effect: null, adopts: false, differences: [] }
  const adopts = !known.members.has(memberKey(kind, id))
  if (found.length > 0)
    return { kind, name, action: effect === 'replace' ? 'replace' : 'update', effect, adopts, differences: found.map(abridged) }
  return adopts ? { kind, name, action: 'adopt', effect: null, adopts, differences: [] } : undefined
}

function streamChanges({ streams }: Manifest, known: Known, details: Detail[]): (PlannedChange | undefined)[] {
  return Object.entries(streams).map(([name, asked]) => {
    const row = known.streams.get(name)
    const found = row ? differences(streamPart(row), plain(streamWanted(asked, row)), WHOLE) : []
    if (row && row.status !== 'active')
      details.push({ path: pointerTo('stream', name), message: `the stream is ${row.status}, not active` })
    for (const { path, before } of found)
      if (!STREAM_CHANGES.includes(path.split('/')[1]!))
        details.push({ path: `${pointerTo('stream', name)}${path}`, message: `can't be changed: it is ${JSON.stringify(before)}` })
    return changeOf(known, 'stream', name, found)
  })
}

/** Sources and tests are compared one SmartModule at a time: those of a set may be gigabytes. */
async function moduleChanges(db: Queryable, { smartmodules }: Manifest, known: Known): Promise<(PlannedChange | undefined)[]> {
  const changes: (PlannedChange | undefined)[] = []
  for (const [name, asked] of Object.entries(smartmodules)) {
    const module = known.modules.get(name)
    const newest = module && (await findVersion(db, module.id, module.version))
    const fingerprint = module && known.members.get(memberKey('smartmodule', module.id))?.fingerprint
    const wanted = moduleWanted(asked)
    const found = newest ? differences(modulePart(module, newest, fingerprint ?? null, wanted.binary), plain(wanted), WHOLE) : []
    changes.push(changeOf(known, 'smartmodule', name, found))
  }
  return changes
}

/** Whether the change needs a next version of a SmartModule: one of the description alone does not. */
export const isDeployed = ({ kind, action, differences: found }: PlannedChange): boolean =>
  kind === 'smartmodule' && (action === 'create' || found.some(({ path }) => path !== '/description'))

/** The names of the SmartModules that get a next version. */
export const deployedIn = (changes: readonly PlannedChange[]): Set<string> => new Set(changes.filter(isDeployed).map(({ name }) => name))

function pipelineChanges(
  { manifest, replace }: Asked,
  known: Known,
  modules: readonly (PlannedChange | undefined)[],
  details: Detail[],
): (PlannedChange | undefined)[] {
  const deployed = deployedIn(modules.filter((change) => change !== undefined))
  const newestOf: NewestOf = (module) => (deployed.has(module) ? null : known.modules.get(module)?.version)
  return Object.entries(manifest.pipelines).map(([name, asked]) => {
    const row = known.pipelines.get(name)
    const before = row && pipelinePart(known, row)
    const after = pipelineWanted(asked, before, newestOf, details, pointerTo('pipeline', name))
    const found = before ? differences(before, plain(after), WHOLE) : []
    const effect = row && before && found.length > 0 ? effectOf(known, row, found, before, after) : 'live'
    if (effect === 'replace' && !replace.includes(name))
      details.push({
        path: pointerTo('pipeline', name),
        message: `can't be changed in place (${found.map(({ path }) => path).join(', ')}): name it in "replace" to delete it and make it anew, which loses its position`,
      })
    return changeOf(known, 'pipeline', name, found, effect)
  })
}

/** Members that the manifest no longer names, last what others use. */
function deletions({ manifest, prune }: Asked, known: Known): PlannedChange[] {
  if (!prune) return []
  const owned = ownedBy(known, manifest.set)
  const named = partsOf(manifest)
  return MEMBER_KINDS.toReversed().flatMap((kind) =>
    owned[kind]
      .filter((name) => !Object.hasOwn(named[kind], name))
      .map((name): PlannedChange => ({ kind, name, action: 'delete', effect: null, adopts: false, differences: [] })),
  )
}

/** What is to be deleted must not be used by what stays. */
async function inUseFaults(db: Queryable, { manifest }: Asked, known: Known, gone: readonly PlannedChange[]): Promise<Detail[]> {
  const ends = Object.entries(manifest.pipelines).flatMap(([name, { source, steps, sink }]) => [
    ...[source, sink].flatMap((end) => ('stream' in end ? [[name, 'stream', end.stream] as const] : [])),
    ...steps.map(({ module }) => [name, 'smartmodule', module] as const),
  ])
  const endsOn = Map.groupBy(ends, ([, kind, name]) => `${kind}/${name}`)
  const users = await listPipelinesUsingEach(
    db,
    gone.flatMap(({ kind, name }) => idOf(known, kind, name) ?? []),
  )
  const goes = new Set(gone.flatMap(({ kind, name }) => (kind === 'pipeline' ? [name] : [])))
  return gone.flatMap(({ kind, name }) => {
    const own = (endsOn.get(`${kind}/${name}`) ?? []).map(([pipeline]) => pipeline)
    // Those of the manifest will use what it says.
    const others = (users.get(idOf(known, kind, name) ?? '') ?? [])
      .map((pipeline) => pipeline.name)
      .filter((pipeline) => !goes.has(pipeline) && !Object.hasOwn(manifest.pipelines, pipeline))
    const all = [...new Set([...own, ...others])]
    return all.length > 0 ? [{ path: '/prune', message: `the ${kind} "${name}" is used by: ${all.join(', ')}` }] : []
  })
}

/** What is there now under the name, of which a deletion has no differences. */
function partNow(known: Known, kind: MemberKind, name: string): unknown {
  const [stream, module, pipeline] = [known.streams.get(name), known.modules.get(name), known.pipelines.get(name)]
  if (kind === 'stream') return stream && streamPart(stream)
  if (kind === 'smartmodule') return module && [module.version, module.description]
  return pipeline && [pipeline.revision, pipelinePart(known, pipeline)]
}

/** What a change depends on beside itself: the ids and versions of what a pipeline uses, and what is lost. */
function stampOf({ manifest }: Asked, known: Known, { kind, name, action }: PlannedChange): unknown[] {
  const part = kind === 'pipeline' && Object.hasOwn(manifest.pipelines, name) ? manifest.pipelines[name] : undefined
  const streams = part ? [part.source, part.sink].map((end) => ('stream' in end ? (known.streams.get(end.stream)?.id ?? null) : null)) : []
  const versions = part ? part.steps.map(({ module }) => known.modules.get(module)?.version ?? null) : []
  const lost = action === 'delete' || action === 'replace' ? partNow(known, kind, name) : null
  return [kind, name, idOf(known, kind, name) ?? null, streams, versions, lost]
}

/** The plan of a manifest. Where it has `faults`, it is not to be applied, and its changes lack the members whose own members don't fit. */
export async function planOf(db: Queryable, accountId: string, asked: Asked): Promise<ManifestPlan> {
  const { manifest } = asked
  const known = await findKnown(db, accountId, manifest)
  const details = [...replaceFaults(asked), ...useFaults(manifest, known)]
  const sound = fitting(manifest, details)
  const named = partsOf(manifest)
  for (const kind of MEMBER_KINDS) for (const name of Object.keys(named[kind])) details.push(...ownerFault(known, manifest.set, kind, name))
  const streams = streamChanges(sound, known, details)
  const modules = await moduleChanges(db, sound, known)
  const pipelines = pipelineChanges(asked, known, modules, details)
  const gone = deletions(asked, known)
  details.push(...(await inUseFaults(db, asked, known, gone)))
  const members = [...streams, ...modules, ...pipelines]
  const made = members.filter((each) => each !== undefined)
  const changes = [...made, ...gone]
  // The ids tell a resource from a later one of the same name.
  const stamps = changes.map((change) => stampOf(asked, known, change))
  const hash = createHash('sha256')
    .update(JSON.stringify([asked, changes, stamps]))
    .digest('hex')
  return { set: manifest.set, hash, changes, unchanged: members.length - made.length, known, faults: details }
}
