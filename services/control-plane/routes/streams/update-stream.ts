/** PATCH of a stream: its description, and its schema where the compatibility mode lets it. */
import { updateStreamContract } from '../../../../shared/api/streams.ts'
import { invalidRequest, notFound, ServiceError } from '../../../../shared/errors/service-error.ts'
import { jsonSchemaOf } from '../../../../shared/model/stream-schema.ts'
import { schemaTextOf, unfitFields } from '../../../../shared/model/stream-formats.ts'
import { schemaFaults, type Compatibility } from '../../../../shared/model/schema-change.ts'
import { SchemaRefused, subjectOf } from '../../../../shared/registry/registry.ts'
import type { Queryable } from '../../../../shared/store/database.ts'
import { insertRevision, listPipelinesReading, lockPipeline, updatePipeline } from '../../../../shared/store/pipelines.ts'
import { lockStream, saveStreamSchema, schemasOf, updateStream, type StreamRow } from '../../../../shared/store/streams.ts'
import { publishDefinition } from '../../publisher/enqueue.ts'
import { withDeadline } from '../../with-deadline.ts'
import { assertIfMatch, etagOf } from '../list-reply.ts'
import { operation } from '../operation.ts'
import { sourceCodecOf } from '../pipelines/resolve-endpoint.ts'
import { showStream } from './streams.ts'

/** Throws 409 naming every field that stands in the way. */
function assertCompatible(stream: StreamRow, schema: Record<string, string>): void {
  const unfit = unfitFields(stream.format, schema)
  if (unfit.length > 0)
    throw invalidRequest(
      unfit.map((field) => ({ path: `/schema/${field}`, message: `the type ${schema[field]} has no form in ${stream.format}` })),
    )
  if (stream.key_field !== null && !Object.hasOwn(schema, stream.key_field))
    throw new ServiceError('conflict', `the field "${stream.key_field}" is the stream's key`, {
      details: [{ path: `/schema/${stream.key_field}`, message: 'is the key and can’t be dropped' }],
    })
  const faults = schemaFaults(stream.schema, schema, stream.compatibility as Compatibility, stream.format)
  if (faults.length > 0)
    throw new ServiceError(
      'conflict',
      `the schema is not ${stream.compatibility} compatible: ${faults.map(({ field, message }) => `${field} ${message}`).join('; ')}`,
      {
        details: faults.map(({ field, message }) => ({ path: `/schema/${field}`, message })),
      },
    )
}

/** Pipelines that read the stream learn to read values of the new schema too: their next revision. */
async function teachReaders(trx: Queryable, stream: StreamRow): Promise<void> {
  const schemas = await schemasOf(trx, stream.id)
  const codec = sourceCodecOf(stream, schemas)
  if (!codec.source_codec) return
  for (const id of await listPipelinesReading(trx, stream.id)) {
    const row = await lockPipeline(trx, id)
    if (!row || row.status === 'deleting' || row.definition.source_topic !== stream.topic) continue
    const definition = { ...row.definition, ...codec, revision: row.revision + 1 }
    await insertRevision(trx, definition)
    const updated = await updatePipeline(trx, id, { revision: definition.revision, definition })
    if (row.status !== 'created' || row.desired === 'running') await publishDefinition(trx, updated)
  }
}

export const updateStreamOperation = operation(updateStreamContract, async (deps, caller, { params, body }) => {
  const { db, registry } = deps
  const row = await db.transaction(async (trx) => {
    const stream = await lockStream(trx, caller.accountId, params.id)
    if (!stream) throw notFound('the stream')
    assertIfMatch(caller, etagOf(stream))
    if (stream.status !== 'active') throw new ServiceError('conflict', `the stream is ${stream.status}, not active`)
    const { description = stream.description, schema } = body
    if (!schema) return updateStream(trx, stream.id, { description })
    assertCompatible(stream, schema)
    const text = stream.format === 'json' ? JSON.stringify(jsonSchemaOf(stream.name, schema)) : schemaTextOf(stream.format, schema)
    // The registry has the last word: it knows every version, and modes that look at all of them.
    const schema_id = await withDeadline(
      registry.register(subjectOf(stream.topic), stream.format, text, stream.compatibility),
      'registering the schema',
    ).catch((error: unknown) => {
      if (error instanceof SchemaRefused)
        throw new ServiceError('conflict', `the schema registry refuses the schema: ${error.message}`, { cause: error })
      throw error
    })
    const updated = await updateStream(trx, stream.id, { description, schema, schema_id })
    await saveStreamSchema(trx, stream.id, schema_id, schema)
    await teachReaders(trx, updated)
    return updated
  })
  deps.pokePublisher()
  return { status: 200, body: showStream(row), headers: etagOf(row) }
})
