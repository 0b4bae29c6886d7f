/** A request resolved to a definition: connectors, streams, SmartModules and configs checked, every fault named; then made real. */
import { createPipelineContract, type PipelineRequest } from '../../../../shared/api/pipelines.ts'
import { findConnector } from '../../../../shared/connectors/catalogue.ts'
import { StreamConfig, streamConnector } from '../../../../shared/connectors/stream/connector.ts'
import { invalidRequest, ServiceError, unavailable, type Detail } from '../../../../shared/errors/service-error.ts'
import type { PipelineDefinition } from '../../../../shared/model/definition.ts'
import { LIMITS } from '../../../../shared/model/limits.ts'
import { newId } from '../../../../shared/model/ids.ts'
import { isUniqueViolation, type Queryable } from '../../../../shared/store/database.ts'
import { insertPipeline, updatePipeline, type Use } from '../../../../shared/store/pipelines.ts'
import { lockStream, type StreamRow } from '../../../../shared/store/streams.ts'
import type { Caller, Deps } from '../../deps.ts'
import { resolvePlace } from '../../jobs/places.ts'
import { validated } from '../../middleware/validate.ts'
import { finishPipeline, undoPipeline } from '../../reconciler/pipelines.ts'
import { UNDO_TIMEOUT_MS, withDeadline } from '../../with-deadline.ts'
import { operation } from '../operation.ts'
import { chainFaults, resolveSteps, withPolicies } from './resolve-steps.ts'

type Endpoint = PipelineRequest['source']

/** The stream that a source or sink names; faults are added to `details`. */
async function resolveEndpoint(
  trx: Queryable,
  accountId: string,
  side: 'source' | 'sink',
  endpoint: Endpoint,
  details: Detail[],
): Promise<StreamRow | undefined> {
  const connector = findConnector(endpoint.connector_id)
  if (!connector || (connector.kind !== 'both' && connector.kind !== side)) {
    details.push({ path: `/${side}/connector_id`, message: connector ? `the connector is no ${side}` : 'is not the id of a connector' })
    return undefined
  }
  const config = validated(connector.config, endpoint.config, `/${side}/config`)
  if ('details' in config) {
    details.push(...config.details)
    return undefined
  }
  if (connector.id !== streamConnector.id) return undefined
  const stream = await lockStream(trx, accountId, StreamConfig.parse(config.value).stream_id)
  if (stream?.status === 'active') return stream
  details.push({
    path: `/${side}/config/stream_id`,
    message: stream ? `the stream is ${stream.status}, not active` : 'is not the id of a stream',
  })
  return undefined
}

/** Where the pipeline starts in each partition; faults are added to `details`. */
async function resolveStart(
  { cluster }: Deps,
  topic: string,
  start: PipelineRequest['start'],
  details: Detail[],
): Promise<Map<number, bigint> | undefined> {
  const layout = await cluster.describeTopic(topic)
  if (!layout) throw unavailable('the source’s topic')
  try {
    return await resolvePlace(cluster, layout, start, '/start')
  } catch (error) {
    if (!(error instanceof ServiceError) || !error.details) throw error
    details.push(...error.details)
    return undefined
  }
}

/** Everything checked and stored in one transaction; the streams and SmartModules in use are locked against deletion meanwhile. */
async function store(deps: Deps, caller: Caller, id: string, body: PipelineRequest) {
  const { db, names } = deps
  const unknown: Detail[] = []
  const chain = await resolveSteps(db, caller.accountId, body.processors, unknown)
  const faults = await chainFaults(db, id, chain, unknown.length > 0)
  return db.transaction(async (trx) => {
    const details: Detail[] = []
    const source = await resolveEndpoint(trx, caller.accountId, 'source', body.source, details)
    const sink = await resolveEndpoint(trx, caller.accountId, 'sink', body.sink, details)
    if (source && sink && source.id === sink.id)
      details.push({ path: '/sink/config/stream_id', message: 'must not be the source: the pipeline would read what it writes, for ever' })
    if (source && body.tasks > source.partitions)
      details.push({ path: '/tasks', message: `must be at most ${source.partitions}, the source's partitions` })
    if (body.source.config.compression !== undefined)
      details.push({ path: '/source/config/compression', message: 'is for a sink: what is read is inflated whatever its compression' })
    const start = source && (await resolveStart(deps, source.topic, body.start, details))
    const resolved = await resolveSteps(trx, caller.accountId, body.processors, details)
    details.push(...faults)
    if (details.length > 0 || !source || !sink || !start) throw invalidRequest(details)
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
      source_topic: source.topic,
      sink_topic: sink.topic,
      sink_schema_id: sink.schema_id ?? 0,
      sink_bytes_max: LIMITS.topic_batch_bytes_max,
      dead_letter_bytes_max: LIMITS.dead_letter_batch_bytes_max,
      dead_letter_topic: names.deadLetterTopic(caller.accountId, id),
      group_id: names.pipelineGroup(id),
      steps,
      source_partitions: source.partitions,
      compression: StreamConfig.parse(body.sink.config).compression ?? 'none',
      failure_threshold: body.failure_threshold,
    }
    const uses: Use[] = [
      { kind: 'stream', used_id: source.id },
      { kind: 'stream', used_id: sink.id },
      ...steps.map((step): Use => ({ kind: 'smartmodule', used_id: step.module_id })),
    ]
    return insertPipeline(
      trx,
      {
        id,
        account_id: caller.accountId,
        name: body.name,
        description: body.description,
        status: 'creating',
        desired: definition.desired,
        revision: 1,
        attempt: 1,
        // Places are resolved once: a create that is finished later starts where it would have started now.
        request: { ...body, resolved_start: Object.fromEntries([...start].map(([partition, offset]) => [partition, String(offset)])) },
        definition,
      },
      uses,
    )
  })
}

export const createPipeline = operation(createPipelineContract, async (deps, caller, { body }) => {
  const id = newId('pipeline')
  const row = await store(deps, caller, id, body).catch((error: unknown) => {
    if (isUniqueViolation(error))
      throw new ServiceError('conflict', `a pipeline named "${body.name}" exists already`, {
        cause: error,
        details: [{ path: '/name', message: 'is taken' }],
      })
    throw error
  })
  try {
    await withDeadline(finishPipeline(deps, row), 'creating the pipeline')
  } catch (error) {
    await updatePipeline(deps.db, id, { status: 'deleting', desired: 'stopped' }).catch(() => {})
    await withDeadline(undoPipeline(deps, row), 'undoing it', UNDO_TIMEOUT_MS).catch((reason: unknown) =>
      deps.log.warn({ id, reason: String(reason) }, 'a pipeline will be undone later'),
    )
    throw error
  }
  return {
    status: 201,
    body: { pipeline_id: id, name: row.name, status: 'created', created_at: row.created_at },
    headers: { Location: `/pipelines/${id}` },
  }
})
