/** What an account has of what a manifest names, and of the set that it is for. */
import { MEMBER_KINDS, type Manifest, type MemberKind } from '../../../shared/api/manifests.ts'
import type { Queryable } from '../store/database.ts'
import { listPipelinesByName, listSetMembers, listStreamsByName, type Member } from '../store/manifests.ts'
import type { PipelineRow } from '../store/pipelines.ts'
import { listSmartModulesByName, type ListedSmartModule } from '../store/smartmodules.ts'
import type { StreamRow } from '../store/streams.ts'

export type Known = {
  /** By name. */
  streams: Map<string, StreamRow>
  /** Without their newest versions' sources and tests: read one at a time, where they are needed. */
  modules: Map<string, ListedSmartModule>
  pipelines: Map<string, PipelineRow>
  streamNames: Map<string, string>
  /** By kind and id. */
  members: Map<string, Member>
}

export const memberKey = (kind: MemberKind, id: string): string => `${kind}/${id}`

/** The names of what else the pipelines of a manifest use. */
function namesUsed({ pipelines }: Pick<Manifest, 'pipelines'>) {
  const parts = Object.values(pipelines)
  return {
    streams: parts.flatMap(({ source, sink }) => [source, sink].flatMap((end) => ('stream' in end ? [end.stream] : []))),
    modules: parts.flatMap(({ steps }) => steps.map(({ module }) => module)),
  }
}

const streamIdOf = (end: { config: Record<string, unknown> }): string[] =>
  typeof end.config.stream_id === 'string' ? [end.config.stream_id] : []

/** What a stored request says of its ends. */
type Stored = { source: { config: Record<string, unknown> }; sink: { config: Record<string, unknown> } }

export async function findKnown(
  db: Queryable,
  accountId: string,
  manifest: Pick<Manifest, 'set' | 'streams' | 'smartmodules' | 'pipelines'>,
): Promise<Known> {
  const all = await listSetMembers(db, accountId)
  const own = (kind: MemberKind) =>
    all.filter((each) => each.kind === kind && each.set_name === manifest.set).map(({ resource_id }) => resource_id)
  const used = namesUsed(manifest)
  const pipelines = await listPipelinesByName(db, accountId, { names: Object.keys(manifest.pipelines), ids: own('pipeline') })
  const read = pipelines.flatMap(({ request }) => [...streamIdOf((request as Stored).source), ...streamIdOf((request as Stored).sink)])
  const streams = await listStreamsByName(db, accountId, {
    names: [...Object.keys(manifest.streams), ...used.streams],
    ids: [...own('stream'), ...read],
  })
  const modules = await listSmartModulesByName(db, accountId, {
    names: [
      ...Object.keys(manifest.smartmodules),
      ...used.modules,
      ...pipelines.flatMap(({ definition }) => definition.steps.map(({ name }) => name)),
    ],
    ids: own('smartmodule'),
  })
  return {
    streams: new Map(streams.map((row) => [row.name, row])),
    modules: new Map(modules.map((module) => [module.name, module])),
    pipelines: new Map(pipelines.map((row) => [row.name, row])),
    streamNames: new Map(streams.map(({ id, name }) => [id, name])),
    members: new Map(all.map((member) => [memberKey(member.kind, member.resource_id), member])),
  }
}

/** The id of the resource with the name; undefined where there is none. A built-in is no account's. */
export function idOf(known: Known, kind: MemberKind, name: string): string | undefined {
  if (kind === 'stream') return known.streams.get(name)?.id
  if (kind === 'pipeline') return known.pipelines.get(name)?.id
  const module = known.modules.get(name)
  return module?.account_id === null ? undefined : module?.id
}

/** The names of what the set owns, in their order. */
export function ownedBy(known: Known, set: string): Record<MemberKind, string[]> {
  const names = { stream: known.streams.keys(), smartmodule: known.modules.keys(), pipeline: known.pipelines.keys() }
  const owned = (kind: MemberKind) =>
    [...names[kind]]
      .filter((name) => {
        const id = idOf(known, kind, name)
        return id !== undefined && known.members.get(memberKey(kind, id))?.set_name === set
      })
      .toSorted()
  return Object.fromEntries(MEMBER_KINDS.map((kind) => [kind, owned(kind)])) as Record<MemberKind, string[]>
}
