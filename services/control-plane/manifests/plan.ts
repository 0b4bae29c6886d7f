/** What applying a manifest would change. Reads only; throws 400 naming everything that can't be done. */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { MEMBER_KINDS, type Manifest, type MemberKind, type PlannedChange } from '../../../shared/api/manifests.ts'
import { findConnector } from '../../../shared/connectors/catalogue.ts'
import { invalidRequest, type Detail } from '../service-error.ts'
import { findKnown, idOf, memberKey, ownedBy, type Known } from './known.ts'
import { modulePart, moduleWanted, pipelinePart, pipelineWanted, streamPart, STREAM_CHANGES, streamWanted, type NewestOf } from './parts.ts'
import type { Queryable } from '../store/database.ts'

export type Asked = { manifest: Manifest; prune: boolean; replace: readonly string[] }
export type Planned = { set: string; hash: string; changes: PlannedChange[]; unchanged: number; known: Known }

type Part = Record<string, unknown>
type Difference = PlannedChange['differences'][number]

/** Texts beyond this are shown by their hash. */
const SHOWN_CHARACTERS = 500

const isPlain = (value: unknown): value is Part => typeof value === 'object' && value !== null && !Array.isArray(value)

function shown(value: unknown): unknown {
  if (typeof value === 'string' && value.length > SHOWN_CHARACTERS) return `sha256:${createHash('sha256').update(value).digest('hex')}`
  return value ?? null
}

/** Where `after` differs from `before`, in members that `after` has. */
function differences(before: Part, after: Part, at = ''): Difference[] {
  return Object.entries(after).flatMap(([name, value]): Difference[] => {
    const path = `${at}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`
    const old = before[name]
    if (isDeepStrictEqual(old ?? null, value ?? null)) return []
    // A config or a schema as a whole: a member that is left out is gone.
    if (isPlain(old) && isPlain(value) && name !== 'with' && name !== 'schema') return differences(old, value, path)
    return [{ path, before: shown(old), after: shown(value) }]
  })
}

/** Where a manifest has the member. */
export const pointer = (kind: MemberKind, name: string): string => `/manifest/${kind}s/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`

/** Whether the sink's change moves the place that keeps its position. */
function movesSink(before: Part, after: Part): boolean {
  if ('stream' in before || 'stream' in after) return 'stream' in before !== 'stream' in after
  if (before.connector !== after.connector) return true
  const { holdsPosition = [] } = findConnector(String(after.connector))?.sink ?? {}
  return holdsPosition.some((member) => !isDeepStrictEqual((before.with as Part)[member], (after.with as Part)[member]))
}

function effectOf(found: readonly Difference[], before: Part, after: Part): 'live' | 'reopen' | 'replace' {
  if (found.some(({ path }) => path.startsWith('/source')) || movesSink(before.sink as Part, after.sink as Part)) return 'replace'
  return found.some(({ path }) => path.startsWith('/sink')) ? 'reopen' : 'live'
}

/** A resource of the account that another set owns can't be changed by this one. */
function ownerFault(known: Known, set: string, kind: MemberKind, name: string): Detail[] {
  const id = idOf(known, kind, name)
  const owner = id === undefined ? undefined : known.members.get(memberKey(kind, id))?.set_name
  return owner === undefined || owner === set ? [] : [{ path: pointer(kind, name), message: `belongs to the set ${owner}` }]
}

/** What the pipelines use must be of the manifest or of the account. */
function useFaults({ streams, smartmodules, pipelines }: Manifest, known: Known): Detail[] {
  return Object.entries(pipelines).flatMap(([name, { source, steps, sink }]) => {
    const at = pointer('pipeline', name)
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
  if (id === undefined) return { kind, name, action: 'create', effect: null, differences: [] }
  if (found.length > 0) return { kind, name, action: effect === 'replace' ? 'replace' : 'update', effect, differences: found }
  return known.members.has(memberKey(kind, id)) ? undefined : { kind, name, action: 'adopt', effect: null, differences: [] }
}

function streamChanges({ streams }: Manifest, known: Known, details: Detail[]): (PlannedChange | undefined)[] {
  return Object.entries(streams).map(([name, asked]) => {
    const row = known.streams.get(name)
    const found = row ? differences(streamPart(row), streamWanted(asked, row)) : []
    for (const { path, before } of found)
      if (!STREAM_CHANGES.includes(path.split('/')[1]!))
        details.push({ path: `${pointer('stream', name)}${path}`, message: `can't be changed: it is ${JSON.stringify(before)}` })
    return changeOf(known, 'stream', name, found)
  })
}

function moduleChanges({ smartmodules }: Manifest, known: Known): (PlannedChange | undefined)[] {
  return Object.entries(smartmodules).map(([name, asked]) => {
    const existing = known.modules.get(name)
    if (!existing) return changeOf(known, 'smartmodule', name, [])
    const fingerprint = known.members.get(memberKey('smartmodule', existing.module.id))?.fingerprint ?? null
    const wanted = moduleWanted(asked)
    return changeOf(known, 'smartmodule', name, differences(modulePart(existing, fingerprint, wanted.binary), wanted))
  })
}

function pipelineChanges(
  { manifest, replace }: Asked,
  known: Known,
  modules: readonly (PlannedChange | undefined)[],
  details: Detail[],
): (PlannedChange | undefined)[] {
  // A change of the description alone deploys nothing.
  const deployed = new Set(
    modules.flatMap((change) =>
      change && (change.action === 'create' || change.differences.some(({ path }) => path !== '/description')) ? [change.name] : [],
    ),
  )
  const newestOf: NewestOf = (module) => (deployed.has(module) ? null : known.modules.get(module)?.module.version)
  return Object.entries(manifest.pipelines).map(([name, asked]) => {
    const row = known.pipelines.get(name)
    const before = row && pipelinePart(known, row)
    const after = pipelineWanted(asked, before, newestOf, details, pointer('pipeline', name))
    const found = before ? differences(before, after) : []
    const effect = before && found.length > 0 ? effectOf(found, before, after) : 'live'
    if (effect === 'replace' && !replace.includes(name))
      details.push({
        path: pointer('pipeline', name),
        message: `can't be changed in place (${found.map(({ path }) => path).join(', ')}): name it in "replace" to delete it and make it anew, which loses its position`,
      })
    return changeOf(known, 'pipeline', name, found, effect)
  })
}

/** Members that the manifest no longer names, last what others use. */
function deletions({ manifest, prune }: Asked, known: Known): PlannedChange[] {
  if (!prune) return []
  const owned = ownedBy(known, manifest.set)
  const named = { stream: manifest.streams, smartmodule: manifest.smartmodules, pipeline: manifest.pipelines }
  return MEMBER_KINDS.toReversed().flatMap((kind) =>
    owned[kind]
      .filter((name) => !Object.hasOwn(named[kind], name))
      .map((name): PlannedChange => ({ kind, name, action: 'delete', effect: null, differences: [] })),
  )
}

export async function planOf(db: Queryable, accountId: string, asked: Asked): Promise<Planned> {
  const { manifest } = asked
  const known = await findKnown(db, accountId, manifest)
  const details = useFaults(manifest, known)
  const named = { stream: manifest.streams, smartmodule: manifest.smartmodules, pipeline: manifest.pipelines }
  for (const kind of MEMBER_KINDS) for (const name of Object.keys(named[kind])) details.push(...ownerFault(known, manifest.set, kind, name))
  const streams = streamChanges(manifest, known, details)
  const modules = moduleChanges(manifest, known)
  const pipelines = pipelineChanges(asked, known, modules, details)
  if (details.length > 0) throw invalidRequest(details)
  const made = [...streams, ...modules, ...pipelines]
  const changes = [...made.filter((each) => each !== undefined), ...deletions(asked, known)]
  // The ids tell a resource from one that was deleted and made anew under its name.
  const stamps = changes.map(({ kind, name }) => [kind, name, idOf(known, kind, name) ?? null])
  const hash = createHash('sha256')
    .update(JSON.stringify([asked, changes, stamps]))
    .digest('hex')
  return { set: manifest.set, hash, changes, unchanged: made.length - made.filter((each) => each !== undefined).length, known }
}
