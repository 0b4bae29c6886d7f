/** The requests that make a plan's changes, and their faults by the manifest's paths. */
import type { ModulePart, MemberKind, PipelinePart, PlannedChange, StreamPart } from '../../../../shared/api/manifests.ts'
import { PipelineRequest } from '../../../../shared/api/pipeline-requests.ts'
import { StreamRequest } from '../../../../shared/api/streams.ts'
import { streamConnector } from '../../../../shared/connectors/stream/connector.ts'
import type { Caller, Deps } from '../../deps.ts'
import { pointerTo } from '../../manifests/plan.ts'
import type { Detail } from '../../service-error.ts'
import { listStreamsByName } from '../../store/manifests.ts'

/** Whether the change is one of the member. */
export const differsIn = (change: PlannedChange, member: string): boolean =>
  change.differences.some(({ path }) => path.split('/')[1] === member)

/** Only the values of members that differ. */
const changedIn = <T extends object>(change: PlannedChange, values: T): Partial<T> =>
  Object.fromEntries(Object.entries(values).filter(([member]) => differsIn(change, member))) as Partial<T>

/** What makes the stream. */
export const streamRequest = (name: string, part: StreamPart): StreamRequest => StreamRequest.parse({ name, ...part })

/** What changes the stream. */
export const streamUpdate = (change: PlannedChange, { description, schema, schema_id }: StreamPart) =>
  changedIn(change, { description, ...(schema ? { schema } : {}), ...(schema_id === undefined ? {} : { schema_id }) })

/** What deploys the SmartModule, or its next version. */
export const moduleRequest = (name: string, part: ModulePart) => ({ name, ...part })

/** An end as a request names it; `id`: of its stream. */
export function endpointOf(end: PipelinePart['source' | 'sink'], id?: string): PipelineRequest['source'] {
  if ('connector' in end) return { connector_id: end.connector, config: end.with }
  const compression = 'compression' in end && end.compression !== undefined ? { compression: end.compression } : {}
  return { connector_id: streamConnector.id, config: { stream_id: id, ...compression } }
}

/** What makes the pipeline. Streams that are not there yet have no id in it. */
export async function pipelineRequest(
  { db }: Pick<Deps, 'db'>,
  { accountId }: Caller,
  name: string,
  part: PipelinePart,
): Promise<PipelineRequest> {
  const { source, steps, sink, ...rest } = part
  const names = [source, sink].flatMap((end) => ('stream' in end ? [end.stream] : []))
  const ids = new Map((await listStreamsByName(db, accountId, { names, ids: [] })).map((row) => [row.name, row.id]))
  const endpoint = (end: PipelinePart['source' | 'sink']) => endpointOf(end, 'stream' in end ? ids.get(end.stream) : undefined)
  return PipelineRequest.parse({
    name,
    ...rest,
    source: endpoint(source),
    processors: steps.map(({ module, with: config, ...step }) => ({ module_id: module, config, ...step })),
    sink: endpoint(sink),
  })
}

/** What changes the pipeline to that. */
export function pipelineUpdate(change: PlannedChange, request: PipelineRequest) {
  const { description, processors, sink, tasks, on_error, failure_threshold, on_lost_position } = request
  return {
    ...changedIn(change, { description, sink, tasks, on_error, failure_threshold, on_lost_position }),
    ...(differsIn(change, 'steps') ? { processors } : {}),
  }
}

/** The members of requests that have other names in a manifest. */
const NAMES = [
  [/^\/processors\/(\d+)\/config/, '/steps/$1/with'],
  [/^\/processors\/(\d+)\/module_id/, '/steps/$1/module'],
  [/^\/processors/, '/steps'],
  [/^\/(source|sink)\/connector_id/, '/$1/connector'],
  [/^\/(source|sink)\/config\/stream_id/, '/$1/stream'],
  [/^\/(source|sink)\/config/, '/$1/with'],
] as const
const inManifest = (path: string): string => NAMES.reduce((text, [member, name]) => text.replace(member, name), path)

/** The faults of a request, by the manifest's paths. */
export const faultsInManifest = (kind: MemberKind, name: string, details: readonly Detail[]): Detail[] =>
  details.map(({ path, ...rest }) => ({ path: `${pointerTo(kind, name)}${kind === 'pipeline' ? inManifest(path) : path}`, ...rest }))
