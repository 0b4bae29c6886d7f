/** A pipeline's source or sink resolved: a stream of the account, or a connector with a checked config. */
import type { PipelineRequest } from '../../../../shared/api/pipelines.ts'
import { findConnector } from '../../../../shared/connectors/catalogue.ts'
import { kindOf } from '../../../../shared/connectors/connector.ts'
import { secretsIn } from '../../../../shared/connectors/secret.ts'
import { bucketConnector } from '../../../../shared/connectors/storage-bucket/connector.ts'
import { TableSinkConfig, tableConnector } from '../../../../shared/connectors/table/connector.ts'
import { StreamConfig, streamConnector } from '../../../../shared/connectors/stream/connector.ts'
import type { Detail } from '../../../../shared/errors/service-error.ts'
import type { PipelineDefinition } from '../../../../shared/model/definition.ts'
import { LIMITS } from '../../../../shared/model/limits.ts'
import { schemaTextOf } from '../../../../shared/model/schema-text.ts'
import type { Queryable } from '../../../../shared/store/database.ts'
import type { Use } from '../../../../shared/store/pipelines.ts'
import { lockSecret } from '../../../../shared/store/secrets.ts'
import { lockStream, type StreamRow, type StreamSchemaRow } from '../../../../shared/store/streams.ts'
import { validated } from '../../middleware/validate.ts'

type Endpoint = PipelineRequest['source']

export type ResolvedEndpoint =
  | { kind: 'stream'; stream: StreamRow }
  /** `fields`: types of the members that its records have, where that is known. `secretIds` are in use from now on. */
  | {
      kind: 'connector'
      connector_id: string
      config: Record<string, unknown>
      fields: Record<string, string> | undefined
      secretIds: string[]
    }

/** The id of the connector, which may have been named. */
export const connectorIdOf = ({ connector_id }: { connector_id: string }): string => findConnector(connector_id)?.id ?? connector_id

/** The config as the connector's schema gives it out; faults are added to `details`. No database, no network. */
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
      message: connector ? `the connector is no ${side}, only a ${kindOf(connector)}` : 'is not the id or name of a connector',
    })
    return undefined
  }
  const config = validated(direction.config, endpoint.config, `${at}/config`)
  if ('value' in config) return config.value
  details.push(...config.details)
  return undefined
}

/** Locks what is named against deletion until the transaction ends; faults are added to `details`. */
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
      else details.push({ path: `/${side}/config${path}/$secret`, message: 'is not the name of a secret of this account' })
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

/** How a chain reads and writes the values of streams that are no JSON. */
export function sourceCodecOf(
  { name, format }: StreamRow,
  schemas: ReadonlyMap<number, StreamSchemaRow>,
): Pick<PipelineDefinition, 'source_codec'> {
  if (format === 'json') return {}
  const texts = [...schemas].map(([id, schema]) => [String(id), schemaTextOf({ name, format, ...schema })])
  return { source_codec: { format, schemas: Object.fromEntries(texts) } }
}
export const bytesMaxOf = ({ batch_bytes_max }: StreamRow): number => batch_bytes_max ?? LIMITS.topic_batch_bytes_max
export function sinkCodecOf(stream: StreamRow): Pick<PipelineDefinition, 'sink_codec'> {
  return { sink_codec: stream.format === 'json' ? undefined : { format: stream.format, schema: schemaTextOf(stream) } }
}

/** What a definition says of its sink. `rest`: of a connector's. */
export function sinkPartOf(
  sink: ResolvedEndpoint,
  streamConfig: unknown,
  deadLetterTopic: string,
  rest: Pick<NonNullable<PipelineDefinition['sink']>, 'fields' | 'origin' | 'on_error'>,
): Pick<PipelineDefinition, 'sink_topic' | 'sink_schema_id' | 'sink_bytes_max' | 'compression' | 'sink_codec' | 'sink'> {
  if (sink.kind === 'connector') {
    const { connector_id, config } = sink
    const place = { sink_topic: deadLetterTopic, sink_schema_id: 0, sink_bytes_max: LIMITS.topic_batch_bytes_max }
    return { ...place, compression: 'none', sink: { connector_id, config, ...rest } }
  }
  const { stream } = sink
  return {
    sink_topic: stream.topic,
    sink_schema_id: stream.schema_id ?? 0,
    sink_bytes_max: bytesMaxOf(stream),
    compression: StreamConfig.parse(streamConfig).compression ?? 'none',
    ...sinkCodecOf(stream),
  }
}

/** Streams and secrets that the endpoints keep from being deleted. */
export const usesOf = (endpoints: readonly ResolvedEndpoint[]): Use[] =>
  endpoints.flatMap((each): Use[] =>
    each.kind === 'stream'
      ? [{ kind: 'stream', used_id: each.stream.id }]
      : each.secretIds.map((used_id): Use => ({ kind: 'secret', used_id })),
  )

/** Built-in SmartModules that leave a record's members as they are, but for one that they may add. */
const KEEPS_FIELDS = new Set(['dps/filter', 'dps/text-classifier'])

/** Types of the members that records have behind the chain; undefined when a step may have made anything of them. */
export function fieldsBehind(source: ResolvedEndpoint, steps: PipelineDefinition['steps']): Record<string, string> | undefined {
  const fields = source.kind === 'stream' ? source.stream.schema : source.fields
  if (!fields || !steps.every(({ name }) => KEEPS_FIELDS.has(name))) return undefined
  const added = steps.flatMap(({ config }) => (typeof config.output_field === 'string' ? [[config.output_field, 'string'] as const] : []))
  return { ...fields, ...Object.fromEntries(added) }
}

/**
 * The source's config, with a key where the sink needs an order: objects of a bucket are read side by side, and the last of those that
 * change one row must win.
 */
export function orderedForSink(source: ResolvedEndpoint, sink: ResolvedEndpoint): ResolvedEndpoint {
  if (source.kind === 'stream' || sink.kind === 'stream') return source
  if (source.connector_id !== bucketConnector.id || sink.connector_id !== tableConnector.id || source.config.key !== undefined)
    return source
  const { mode, key } = TableSinkConfig.parse(sink.config)
  return mode === 'insert' || key === undefined ? source : { ...source, config: { ...source.config, key: key[0] } }
}
