/** Creates a pipeline: resolves the request to a definition, checks every part of it and names every fault, then sets the pipeline up. */
import { reasonOf } from '../../../../shared/errors/reason-of.ts'
import type { PipelineRequest } from '../../../../shared/api/pipeline-requests.ts'
import { createPipelineContract } from '../../../../shared/api/pipelines.ts'
import { StreamConfig, streamConnector } from '../../../../shared/connectors/stream/connector.ts'
import { layoutOf } from '../../layout-of.ts'
import { invalidRequest, ServiceError, type Detail } from '../../service-error.ts'
import type { PipelineDefinition, SourceCodec, SourceDefinition } from '../../../../shared/model/definition.ts'
import { LIMITS } from '../../../../shared/model/limits.ts'
import { newId } from '../../../../shared/model/ids.ts'
import { inTransaction, type Queryable } from '../../store/database.ts'
import { findStream } from '../../store/streams.ts'
import { insertPipeline, type PipelineRow } from '../../store/pipelines.ts'
import type { Use } from '../../store/uses.ts'
import { assertQuotas } from '../../store/quotas.ts'
import { beginUndo } from '../../store/unfinished.ts'
import type { Caller, Deps } from '../../deps.ts'
import { resolvePlace } from '../../definitions/stream-places.ts'
import { setUpPipeline, takeDownPipeline } from '../../reconciler/pipelines.ts'
import { finishOrUndo } from '../../concurrency/with-deadline.ts'
import { orNameTaken } from '../name-taken.ts'
import { operation } from '../operation.ts'
import { assertMayUse } from '../../definitions/may-use.ts'
import { checkEndpoint, type CheckDeps } from '../../definitions/check-endpoint.ts'
import { fieldsBehind } from '../../definitions/fields-behind.ts'
import {
  connectorIdOf,
  lockStreamsOf,
  orderedForSink,
  resolveConfig,
  resolveEndpoint,
  letterBytesMaxOf,
  sinkDefinitionOf,
  streamCodecOf,
  usesOf,
  type ResolvedEndpoint,
} from '../../definitions/resolve-endpoint.ts'
import { assertSameVersions, examineSteps, resolveSteps, withPolicies, type ResolvedStep } from '../../definitions/resolve-steps.ts'

/** Offset of each partition that the pipeline starts at, or what is wrong with the request's start. */
type Start = { offsets: Map<number, bigint>; faults: Detail[] }

/** Where the pipeline starts in its source's topic, asked of Kafka; undefined where the source is no stream that could be read. */
async function resolveStart(
  { db, cluster }: Pick<Deps, 'db' | 'cluster'>,
  accountId: string,
  { source, start }: PipelineRequest,
): Promise<Start | undefined> {
  const config = connectorIdOf(source) === streamConnector.id ? StreamConfig.safeParse(source.config).data : undefined
  const stream = config && (await findStream(db, accountId, config.stream_id))
  if (stream?.status !== 'active') return undefined
  const layout = await layoutOf(cluster, stream.topic, 'the source’s topic')
  try {
    return { offsets: await resolvePlace(cluster, layout, start, '/start'), faults: [] }
  } catch (error) {
    if (!(error instanceof ServiceError) || !error.details) throw error
    return { offsets: new Map(), faults: error.details }
  }
}

/** The least number of splits of an external source and of partitions of its intake topic, which limits `tasks` later. */
const INTAKE_PARTITIONS = 4

/** The topic that the chain reads: a stream's, or the intake topic that an external source is read into. */
function resolveInput(
  codec: SourceCodec | undefined,
  topicOfIntake: string,
  source: ResolvedEndpoint,
  start: Start | undefined,
  body: PipelineRequest,
  details: Detail[],
): { definition: SourceDefinition; start: Map<number, bigint> } {
  if (source.kind === 'stream') {
    const { topic, partitions } = source.stream
    if (!start) throw new ServiceError('conflict', 'the source’s stream became active meanwhile; try again')
    details.push(...start.faults)
    return { definition: { kind: 'topic', topic, partitions, codec }, start: start.offsets }
  }
  if (body.start !== 'earliest')
    details.push({ path: '/start', message: 'is only for a source that is a stream: other sources set their start in their config' })
  const partitions = Math.max(INTAKE_PARTITIONS, body.tasks)
  const { kind, connector_id, config } = source
  return {
    definition: { kind, topic: topicOfIntake, partitions, connector_id, config },
    start: new Map(Array.from({ length: partitions }, (_, partition) => [partition, 0n])),
  }
}

export type StoreDeps = Pick<Deps, 'db' | 'cacheFolder' | 'names' | 'workshop' | 'cluster'>

/** What Kafka and the workshop are asked before the transaction begins. `fields`: the types of members behind the chain. */
type Found = { faults: Detail[]; start: Start | undefined; chain: ResolvedStep[]; fields?: Record<string, string> | undefined }

/** Parts of a request that can't be looked at yet. `partitions`: of the source's stream, where it is among them and will have as many. */
export type ToCome = { ends: readonly ('source' | 'sink')[]; steps: ReadonlySet<number>; partitions?: number | undefined }
const NOTHING_TO_COME: ToCome = { ends: [], steps: new Set() }

async function findBefore(deps: StoreDeps, { accountId }: Caller, id: string, body: PipelineRequest): Promise<Found> {
  const { steps: chain, unknown, faults } = await examineSteps(deps, { id, account_id: accountId }, body.processors)
  const found = { faults, chain, start: await resolveStart(deps, accountId, body) }
  if (unknown.length > 0 || faults.length > 0) return found
  const steps = chain.map(({ definition }) => definition)
  return { ...found, fields: await fieldsBehind(deps, accountId, body, steps) }
}

/** What a request comes to. `start`: the first offset of each partition. */
type Resolved = { definition: PipelineDefinition; start: ReadonlyMap<number, bigint>; uses: Use[] }

/**
 * All parts of the request that are not `toCome`; `details` is what is wrong with them. Locks the streams, secrets and SmartModules in
 * use against deletion meanwhile.
 */
async function resolveParts(
  trx: Queryable,
  { names }: Pick<Deps, 'names'>,
  { accountId }: Caller,
  id: string,
  body: PipelineRequest,
  found: Pick<Found, 'faults' | 'start'>,
  { ends, steps: stepsToCome, partitions }: ToCome = NOTHING_TO_COME,
) {
  const details: Detail[] = []
  await lockStreamsOf(trx, accountId, [body.source, body.sink])
  const endOf = async (side: 'source' | 'sink') =>
    ends.includes(side) ? undefined : resolveEndpoint(trx, accountId, side, body[side], details)
  const asked = await endOf('source')
  const sink = await endOf('sink')
  const source = asked && sink ? orderedForSink(asked, sink) : asked
  if (source?.kind === 'stream' && sink?.kind === 'stream' && source.stream.topic === sink.stream.topic)
    details.push({ path: '/sink/config/stream_id', message: 'must not be the source: the pipeline would read its own output forever' })
  const tasksMax = source?.kind === 'stream' ? source.stream.partitions : source ? undefined : partitions
  if (tasksMax !== undefined && body.tasks > tasksMax)
    details.push({ path: '/tasks', message: `must be at most ${tasksMax}, the source's partition count` })
  const codec = source?.kind === 'stream' ? await streamCodecOf(trx, source.stream) : undefined
  const input = source && resolveInput(codec, names.intakeTopic(accountId, id), source, found.start, body, details)
  const resolved = await resolveSteps(trx, accountId, body.processors, details, stepsToCome)
  details.push(...found.faults)
  return { source, sink, input, resolved, details }
}

/** What the request comes to. Throws all that is wrong with it. */
async function resolvePipeline(
  trx: Queryable,
  deps: Pick<Deps, 'names'>,
  caller: Caller,
  id: string,
  body: PipelineRequest,
  found: Found,
): Promise<Resolved> {
  const { names } = deps
  const { source, sink, input, resolved, details } = await resolveParts(trx, deps, caller, id, body, found)
  if (details.length > 0 || !source || !sink || !input) throw invalidRequest(details)
  assertSameVersions(found.chain, resolved)
  const steps = withPolicies(
    resolved.map((step) => step.definition),
    body.processors,
    body.on_error,
  )
  const definition: PipelineDefinition = {
    pipeline_id: id,
    account_id: caller.accountId,
    name: body.name,
    revision: 1,
    attempt: 1,
    desired: body.autostart ? 'running' : 'stopped',
    tasks: body.tasks,
    source: input.definition,
    sink: sinkDefinitionOf(sink, body.sink.config, {
      fields: found.fields,
      ...(source.kind === 'stream' ? { origin: source.stream.name } : {}),
      on_error: body.on_error,
    }),
    dead_letter_topic: names.deadLetterTopic(caller.accountId, id),
    dead_letter_bytes_max: source.kind === 'stream' ? letterBytesMaxOf(source.stream) : LIMITS.dead_letter_batch_bytes_max,
    group_id: names.runGroup(id),
    steps,
    failure_threshold: body.failure_threshold,
    on_lost_position: body.on_lost_position,
    reset_revision: 0,
  }
  const uses: Use[] = [...usesOf([source, sink]), ...steps.map((step): Use => ({ kind: 'smartmodule', used_id: step.module_id }))]
  return { definition, start: input.start, uses }
}

async function insertNew(trx: Queryable, body: PipelineRequest, { definition, start, uses }: Resolved): Promise<PipelineRow> {
  const { pipeline_id, account_id, desired } = definition
  await assertQuotas(trx, account_id, { pipelines: 1, tasks: body.tasks })
  return insertPipeline(
    trx,
    {
      id: pipeline_id,
      account_id,
      name: body.name,
      description: body.description,
      status: 'creating',
      desired,
      revision: 1,
      attempt: 1,
      // Start offsets are resolved once: a create that is finished later starts where it would have started now.
      request: { ...body, resolved_start: Object.fromEntries([...start].map(([partition, offset]) => [partition, String(offset)])) },
      definition,
    },
    uses,
  )
}

/** Connects to source and sink to check them, outside of any transaction. The rest of the request was checked before. */
async function assertReachable(deps: CheckDeps, caller: Caller, body: PipelineRequest): Promise<void> {
  const faults = await Promise.all(
    (['source', 'sink'] as const).map((side) => {
      const config = resolveConfig(side, body[side], [])
      return config ? checkEndpoint(deps, caller.accountId, side, { ...body[side], config }, `/${side}/config`) : []
    }),
  )
  if (faults.flat().length > 0) throw invalidRequest(faults.flat())
}

const isExternal = ({ source, sink }: PipelineRequest): boolean =>
  [source, sink].some((endpoint) => connectorIdOf(endpoint) !== streamConnector.id)

/** Throws what is wrong with the request itself. Nothing is connected to, and what the caller may use is not asked. */
export async function assertValid(deps: StoreDeps, caller: Caller, body: PipelineRequest, toCome = NOTHING_TO_COME): Promise<void> {
  const { db, names } = deps
  const id = newId('pipeline')
  const { faults } = await examineSteps(deps, { id, account_id: caller.accountId }, body.processors, toCome.steps)
  const found = { faults, start: await resolveStart(deps, caller.accountId, body) }
  const { details } = await inTransaction(db, (trx) => resolveParts(trx, { names }, caller, id, body, found, toCome))
  if (details.length > 0) throw invalidRequest(details)
}

/** Throws what creating the pipeline would, as far as that is known before. */
export async function examinePipeline(deps: CheckDeps & StoreDeps, caller: Caller, body: PipelineRequest): Promise<void> {
  assertMayUse(caller, body)
  await assertValid(deps, caller, body)
  // Only now: a request with other faults must not cause connections. Connecting takes longer than a transaction may.
  if (isExternal(body)) await assertReachable(deps, caller, body)
}

export const createPipelineOperation = operation(createPipelineContract, async (deps, caller, { body, query }) => {
  assertMayUse(caller, body)
  const id = newId('pipeline')
  if (query.check === 'true' && isExternal(body)) await examinePipeline(deps, caller, body)
  const { db, names } = deps
  const found = await findBefore(deps, caller, id, body)
  const storing = inTransaction(db, async (trx) => insertNew(trx, body, await resolvePipeline(trx, { names }, caller, id, body, found)))
  const row = await orNameTaken('pipeline', body.name, storing)
  await finishOrUndo(setUpPipeline(deps, row), 'creating the pipeline', {
    beginUndo: () => beginUndo(db, 'pipelines', id),
    undo: () => takeDownPipeline(deps, row),
    onLeft: (reason) => deps.log.warn({ id, reason: reasonOf(reason) }, 'a pipeline will be undone later'),
  })
  return {
    status: 201,
    body: { pipeline_id: id, name: row.name, status: 'created' as const, created_at: row.created_at },
    headers: { Location: `/pipelines/${id}` },
  }
})
