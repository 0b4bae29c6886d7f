/** The schemas that a stream has had, and what another one would break. */
import { checkStreamSchemaContract, listStreamSchemasContract } from '../../../../shared/api/streams.ts'
import { Endpoints } from '../../../../shared/api/pipeline-requests.ts'
import { z } from 'zod'
import { mentionedFields } from '../../definitions/mentions.ts'
import { schemaTextOf } from '../../../../shared/model/schema-text.ts'
import { subjectOf } from '../../registry/registry.ts'
import { notFound, ServiceError, type Detail } from '../../service-error.ts'
import { findRequest } from '../../store/pipelines.ts'
import { listPipelinesUsingEach } from '../../store/uses.ts'
import { findStream, listSchemas, type StreamRow } from '../../store/streams.ts'
import type { Deps } from '../../deps.ts'
import { withDeadline } from '../../concurrency/with-deadline.ts'
import { operation } from '../operation.ts'
import { changeOf, type SchemaChange } from './update-stream.ts'

export const listStreamSchemasOperation = operation(listStreamSchemasContract, async ({ db }, caller, { params }) => {
  const stream = await findStream(db, caller.accountId, params.id)
  if (!stream) throw notFound('the stream')
  const found = await listSchemas(db, stream.id, stream.schema_id)
  const schemas = found.map(({ schema_id, schema }) => ({ schema_id, schema, is_current: schema_id === stream.schema_id }))
  return { status: 200, body: { schemas } }
})

const Request = Endpoints.extend({ processors: z.array(z.object({ config: z.record(z.string(), z.unknown()) })) })

/** What the registry, which knows every version, has against the schema. */
async function registryFaults({ registry }: Pick<Deps, 'registry'>, stream: StreamRow, change: SchemaChange): Promise<Detail[]> {
  // An adopted topic's own schemas are in the registry already.
  if (stream.is_adopted && change.schema_id !== undefined) return []
  const text = schemaTextOf({ ...change, name: stream.name })
  const faults = await withDeadline(registry.faultsOf(subjectOf(stream.topic), change.format, text), 'asking the schema registry')
  return faults.map((message) => ({ path: change.schema_id === undefined ? '/schema' : '/schema_id', message }))
}

/** What prevents the change of the stream's schema, and the fields after it. Throws 400 for a schema that can't be the stream's. */
export async function schemaChangeFaults(
  deps: Pick<Deps, 'adoption' | 'registry'>,
  stream: StreamRow,
  asked: Parameters<typeof changeOf>[2],
): Promise<{ details: Detail[]; after: Record<string, string> | undefined }> {
  try {
    const change = await changeOf(deps, stream, asked)
    return { details: change ? await registryFaults(deps, stream, change) : [], after: change?.schema }
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'conflict') throw error
    return { details: error.details ?? [{ path: '', message: error.message }], after: asked.schema }
  }
}

export const checkStreamSchemaOperation = operation(checkStreamSchemaContract, async (deps, caller, { params, body }) => {
  const stream = await findStream(deps.db, caller.accountId, params.id)
  if (!stream) throw notFound('the stream')
  const { details, after } = await schemaChangeFaults(deps, stream, body)
  const changed = after ? Object.keys(stream.schema).filter((field) => after[field] !== stream.schema[field]) : []
  const users = changed.length === 0 ? [] : ((await listPipelinesUsingEach(deps.db, [stream.id])).get(stream.id) ?? [])
  const pipelines: { id: string; name: string; reads: boolean; mentions: Mention[] }[] = []
  // One after the other: a request is up to 1 MiB.
  for (const { id, name } of users) {
    const request = await findRequest(deps.db, id)
    if (request === undefined) continue
    const { source, processors, sink } = Request.parse(request)
    const configs: [path: string, config: unknown][] = [
      ...processors.map(({ config }, index): [string, unknown] => [`/processors/${index}/config`, config]),
      ['/sink/config', sink.config],
    ]
    const mentions = await mentionsIn(configs, changed)
    if (mentions.length > 0) pipelines.push({ id, name, reads: source.config.stream_id === stream.id, mentions })
  }
  return { status: 200, body: { compatible: details.length === 0, details, pipelines } }
})

type Mention = { path: string; fields: string[] }

async function mentionsIn(configs: readonly [path: string, config: unknown][], changed: readonly string[]): Promise<Mention[]> {
  const mentions: Mention[] = []
  for (const [path, config] of configs) {
    const fields = await mentionedFields(config, changed)
    if (fields.length > 0) mentions.push({ path, fields })
  }
  return mentions
}
