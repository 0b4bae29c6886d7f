/** Resolves a pipeline's source or sink to a stream of the account, or to a connector with a checked config. */
import { isDeepStrictEqual } from 'node:util'
import type { PipelineRequest } from '../../../shared/api/pipeline-requests.ts'
import { findConnector } from '../../../shared/connectors/catalogue.ts'
import { kindOf } from '../../../shared/connectors/connector.ts'
import { secretsIn } from '../../../shared/connectors/secret.ts'
import { StreamConfig, streamConnector } from '../../../shared/connectors/stream/connector.ts'
import type { Detail } from '../service-error.ts'
import type { ExternalSink, PipelineDefinition, SinkDefinition, SourceCodec, TopicSink } from '../../../shared/model/definition.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { schemaTextOf } from '../../../shared/model/schema-text.ts'
import type { Queryable } from '../store/database.ts'
import type { Use } from '../store/uses.ts'
import { lockSecret } from '../store/secrets.ts'
import { lockStream, schemasOf, type StreamRow } from '../store/streams.ts'
import { validated } from '../middleware/validate.ts'
import { secretFault } from './may-use.ts'

type Endpoint = PipelineRequest['source']

export type ResolvedEndpoint =
  | { kind: 'stream'; stream: StreamRow }
  /** `fields`: the types of its records' members, if known. `secretIds`: the secrets that its config names. */
  | {
      kind: 'connector'
      connector_id: string
      config: Record<string, unknown>
      fields: Record<string, string> | undefined
      secretIds: string[]
    }

/** The connector's id; the request may give its name instead. */
export const connectorIdOf = ({ connector_id }: { connector_id: string }): string => findConnector(connector_id)?.id ?? connector_id

/** The config as parsed by the connector's schema; faults are added to `details`. Uses no database and no network. */
export function resolveConfig(
  side: 'source' | 'sink',
  endpoint: Endpoint,
  details: Detail[],
  at = `/${side}`,
): Record<string, unknown> | undefined {
  const connector = findConnector(endpoint.connector_id)
  const direction = connector?.[side]
  if (!connector || !direction) {
    details.push({
      path: `${at}/connector_id`,
      message: connector ? `the connector is not a ${side}, only a ${kindOf(connector)}` : 'is not the id or name of a connector',
    })
    return undefined
  }
  const config = validated(direction.config, endpoint.config, `${at}/config`)
  if ('value' in config) return config.value
  details.push(...config.details)
  return undefined
}

/**
 * Locks the streams among the endpoints in the order of their ids: requests that name them in different orders don't wait for each other.
 */
export async function lockStreamsOf(trx: Queryable, accountId: string, endpoints: readonly Endpoint[]): Promise<void> {
  const ids = endpoints.flatMap((endpoint) => {
    const config = connectorIdOf(endpoint) === streamConnector.id ? StreamConfig.safeParse(endpoint.config).data : undefined
    return config ? [config.stream_id] : []
  })
  for (const id of [...new Set(ids)].toSorted()) await lockStream(trx, accountId, id)
}

/** Locks the stream or secrets that it names against deletion until the transaction ends; faults are added to `details`. */
export async function resolveEndpoint(
  trx: Queryable,
  accountId: string,
  side: 'source' | 'sink',
  endpoint: Endpoint,
  details: Detail[],
): Promise<ResolvedEndpoint | undefined> {
  const config = resolveConfig(side, endpoint, details)
  if (!config) return undefined
  const connector_id = connectorIdOf(endpoint)
  if (connector_id !== streamConnector.id) {
    const secretIds: string[] = []
    for (const { name, path } of secretsIn(config)) {
      const secret = await lockSecret(trx, accountId, name)
      if (secret) secretIds.push(secret.id)
      const fault = secretFault(secret, { connector_id, config })
      if (fault !== undefined) details.push({ path: `/${side}/config${path}/$secret`, message: fault })
    }
    return {
      kind: 'connector',
      connector_id,
      config,
      fields: side === 'source' ? findConnector(connector_id)?.source?.fields?.(config) : undefined,
      secretIds,
    }
  }
  const stream = await lockStream(trx, accountId, StreamConfig.parse(config).stream_id)
  if (stream?.status === 'active') return { kind: 'stream', stream }
  details.push({
    path: `/${side}/config/stream_id`,
    message: stream ? `the stream is ${stream.status}, not active` : 'is not the id of a stream',
  })
  return undefined
}

/** How a chain reads the stream's values; undefined where they are JSON, which is read without its schemas. */
export async function streamCodecOf(db: Queryable, { id: streamId, name, format }: StreamRow): Promise<SourceCodec | undefined> {
  if (format === 'json') return undefined
  const texts = [...(await schemasOf(db, streamId))].map(([id, schema]) => [String(id), schemaTextOf({ name, format, ...schema })])
  return { format, schemas: Object.fromEntries(texts) }
}

export const bytesMaxOf = ({ batch_bytes_max }: StreamRow): number => batch_bytes_max ?? LIMITS.topic_batch_bytes_max

/** A dead letter contains its whole record, and records of an adopted topic may be large. */
export const letterBytesMaxOf = (stream: StreamRow): number =>
  Math.max(LIMITS.dead_letter_batch_bytes_max, bytesMaxOf(stream) + LIMITS.dead_letter_headers_bytes)

/** The stream as a sink. */
export const topicSinkOf = (stream: StreamRow, { compression, on_error }: Pick<TopicSink, 'compression' | 'on_error'>): TopicSink => ({
  kind: 'topic',
  topic: stream.topic,
  schema_id: stream.schema_id ?? 0,
  bytes_max: bytesMaxOf(stream),
  compression,
  is_compacted: stream.is_compacted,
  codec: stream.format === 'json' ? undefined : { format: stream.format, schema: schemaTextOf(stream) },
  on_error,
})

/** A definition's sink. Of `rest`, a stream takes the policy alone. */
export function sinkDefinitionOf(
  sink: ResolvedEndpoint,
  streamConfig: unknown,
  rest: Pick<ExternalSink, 'fields' | 'origin' | 'on_error'>,
): SinkDefinition {
  if (sink.kind === 'stream') {
    const { compression = 'none' } = StreamConfig.parse(streamConfig)
    return topicSinkOf(sink.stream, { compression, on_error: rest.on_error })
  }
  const { kind, connector_id, config } = sink
  return { kind, connector_id, config, ...rest }
}

/** The streams and secrets that the endpoints use, so that they can't be deleted. */
export const usesOf = (endpoints: readonly ResolvedEndpoint[]): Use[] =>
  endpoints.flatMap((each): Use[] =>
    each.kind === 'stream'
      ? [{ kind: 'stream', used_id: each.stream.id }]
      : each.secretIds.map((used_id): Use => ({ kind: 'secret', used_id })),
  )

/** The source, with a key added to its config if the sink needs an order that the source alone does not keep. */
export function orderedForSink(source: ResolvedEndpoint, sink: ResolvedEndpoint): ResolvedEndpoint {
  if (source.kind === 'stream' || sink.kind === 'stream') return source
  const at = findConnector(source.connector_id)?.source?.keyMember
  const key = findConnector(sink.connector_id)?.sink?.lastWinsBy?.(sink.config)
  return at === undefined || key === undefined || source.config[at] !== undefined
    ? source
    : { ...source, config: { ...source.config, [at]: key } }
}

/** Whether the sink needs an order, by a key in the source's config, that the pipeline's source was not opened with. */
export function needsOtherOrder({ source: own }: PipelineDefinition, source: ResolvedEndpoint, sink: ResolvedEndpoint): boolean {
  const ordered = orderedForSink(source, sink)
  if (ordered === source || ordered.kind === 'stream' || own.kind !== 'connector') return false
  const at = findConnector(ordered.connector_id)?.source?.keyMember
  return at !== undefined && ordered.config[at] !== own.config[at]
}

/** The members that differ of those by which the connector's sink finds the position that it keeps. */
export const movedMembers = (connectorId: string, before: Record<string, unknown>, after: Record<string, unknown>): string[] =>
  (findConnector(connectorId)?.sink?.holdsPosition ?? []).filter((member) => !isDeepStrictEqual(before[member], after[member]))
