/**
 * Streams, SmartModules and pipelines in one form, whether they are asked for or exist: with every default filled in, so that they can be
 * compared member by member.
 */
import type { ModulePart, PipelinePart, StreamPart } from '../../../shared/api/manifests.ts'
import { PipelineRequest } from '../../../shared/api/pipeline-requests.ts'
import { STREAM_DEFAULTS } from '../../../shared/api/streams.ts'
import { findConnector } from '../../../shared/connectors/catalogue.ts'
import { streamConnector } from '../../../shared/connectors/stream/connector.ts'
import { resolveConfig } from '../definitions/resolve-endpoint.ts'
import type { Detail } from '../service-error.ts'
import { sha256Of, type ListedSmartModule, type VersionRow } from '../store/smartmodules.ts'
import type { PipelineRow } from '../store/pipelines.ts'
import type { StreamRow } from '../store/streams.ts'
import type { Known } from './known.ts'

type Part = Record<string, unknown>

export function streamWanted({ topic, ...asked }: StreamPart, existing: StreamRow | undefined): Part {
  const { description, key = null, message = null, schema_id } = asked
  const common = { topic: topic ?? null, description, key, message, ...(schema_id === undefined ? {} : { schema_id }) }
  if (topic !== undefined) return common
  const { partitions, retention_ms, compatibility } = { ...STREAM_DEFAULTS, ...asked }
  // The format of a schema in the registry is the schema's.
  const format = asked.format ?? (schema_id === undefined ? 'json' : existing?.format)
  return { ...common, ...(asked.schema ? { schema: asked.schema } : {}), partitions, retention_ms, compatibility, format }
}

/** A stream as it is. */
export const streamPart = (row: StreamRow): Part => ({
  topic: row.is_adopted ? row.topic : null,
  description: row.description,
  key: row.key_field,
  message: row.schema_text?.message ?? null,
  schema_id: row.schema_id,
  schema: row.schema,
  partitions: row.partitions,
  retention_ms: Number(row.retention_ms),
  compatibility: row.compatibility,
  format: row.format,
})

/** What of a stream can be changed; all else is for its creation. */
export const STREAM_CHANGES: readonly string[] = ['description', 'schema', 'schema_id']

/** What a binary was, and what version it became: the service may store another one. */
export const fingerprintOf = (sha256: string, version: string): string => `${sha256} ${version}`
export const hashOfBinary = (wasm: string): string => sha256Of(Buffer.from(wasm, 'base64'))

export function moduleWanted(asked: ModulePart): Part {
  const { config, description, source, tests, wasm_binary } = asked
  const { input_format, output_format, parameters, allowed_hosts } = config
  return {
    ...(description === undefined ? {} : { description }),
    ...(source ? { code: source.code } : { binary: hashOfBinary(wasm_binary ?? '') }),
    input_format,
    output_format,
    allowed_hosts: allowed_hosts ?? null,
    // A source's own class Settings may have made them.
    ...(parameters || !source ? { parameters: parameters ?? null } : {}),
    ...(tests ? { tests } : {}),
  }
}

/** A SmartModule as it is. Its binary is `wanted` where that is what was uploaded, or what is stored. */
export const modulePart = ({ description }: ListedSmartModule, newest: VersionRow, fingerprint: string | null, wanted: unknown): Part => ({
  description,
  code: newest.source?.code,
  binary: fingerprint === fingerprintOf(String(wanted), newest.version) ? wanted : newest.sha256,
  input_format: newest.input_format,
  output_format: newest.output_format,
  parameters: newest.config.parameters,
  allowed_hosts: newest.config.allowed_hosts ?? null,
  tests: newest.tests ?? [],
})

type End = { stream: string; compression?: string | undefined } | { connector: string; with: Record<string, unknown> }

/** Faults of a connector's config are added to `details`. */
function endOf(side: 'source' | 'sink', end: End, details: Detail[], at: string): Part {
  if ('stream' in end) return { stream: end.stream, ...(side === 'sink' ? { compression: end.compression ?? 'none' } : {}) }
  if (findConnector(end.connector)?.id === streamConnector.id)
    details.push({ path: `${at}/connector`, message: 'is said as {stream: name}' })
  const found: Detail[] = []
  const config = resolveConfig(side, { connector_id: end.connector, config: end.with }, found, at)
  details.push(
    ...found.map(({ path, ...rest }) => ({
      ...rest,
      path: path.replace(`${at}/connector_id`, `${at}/connector`).replace(`${at}/config`, `${at}/with`),
    })),
  )
  return { connector: findConnector(end.connector)?.name ?? end.connector, with: config ?? end.with }
}

/** The newest version of the SmartModule when the plan is done; `null` for one that is still to come. */
export type NewestOf = (module: string) => string | null | undefined

export function pipelineWanted(asked: PipelinePart, existing: Part | undefined, newestOf: NewestOf, details: Detail[], at: string): Part {
  const before = (existing?.steps ?? []) as Part[]
  return {
    description: asked.description,
    source: endOf('source', asked.source, details, `${at}/source`),
    steps: asked.steps.map(({ module, version, with: config, on_error, timeout_ms = null, changes_keys }, index) => ({
      module,
      version: version ?? newestOf(module) ?? 'the next one',
      with: config,
      on_error: on_error ?? asked.on_error,
      timeout_ms,
      changes_keys: changes_keys ?? before[index]?.changes_keys ?? false,
    })),
    sink: endOf('sink', asked.sink, details, `${at}/sink`),
    tasks: asked.tasks,
    on_error: asked.on_error,
    failure_threshold: asked.failure_threshold,
    on_lost_position: asked.on_lost_position,
  }
}

/** How a request names an end, as a manifest does. */
export function endPart(known: Pick<Known, 'streamNames'>, { connector_id, config }: PipelineRequest['source']): End {
  const connector = findConnector(connector_id)
  if (connector?.id !== streamConnector.id) return { connector: connector?.name ?? connector_id, with: config }
  const { stream_id, compression } = config
  return {
    stream: known.streamNames.get(String(stream_id)) ?? String(stream_id),
    ...(compression === undefined ? {} : { compression: String(compression) }),
  }
}

/** The request that the pipeline was made and changed by. */
export const requestOf = ({ request }: PipelineRow): PipelineRequest => request as PipelineRequest

/** A pipeline as it is. */
export function pipelinePart(known: Known, row: PipelineRow): Part {
  const { source, sink, on_error } = requestOf(row)
  const { steps, tasks, failure_threshold, on_lost_position } = row.definition
  return {
    description: row.description,
    source: endOf('source', endPart(known, source), [], ''),
    steps: steps.map((step) => ({
      module: step.name,
      version: step.version,
      with: step.config,
      on_error: step.on_error,
      timeout_ms: step.timeout_ms ?? null,
      changes_keys: step.changes_keys,
    })),
    sink: endOf('sink', endPart(known, sink), [], ''),
    tasks,
    on_error,
    failure_threshold,
    on_lost_position,
  }
}
