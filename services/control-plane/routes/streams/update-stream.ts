/** PATCH of a stream: its description, and its schema if the compatibility mode allows the change. */
import { inTransaction } from '../../store/database.ts'
import type { Input } from '../../../../shared/api/contract.ts'
import { updateStreamContract } from '../../../../shared/api/streams.ts'
import { invalidRequest, notFound, ServiceError } from '../../service-error.ts'
import { LIMITS } from '../../../../shared/model/limits.ts'
import { schemaTextOf, type SchemaText } from '../../../../shared/model/schema-text.ts'
import { unfitFields, type StreamFormat } from '../../../../shared/model/stream-formats.ts'
import { schemaFaults, type Compatibility } from '../../../../shared/model/schema-change.ts'
import { SchemaRefused } from '../../../../shared/codecs/read-schemas.ts'
import {
  findStream,
  forgetOldSchemas,
  lockStream,
  saveStreamSchema,
  schemasOf,
  updateStream,
  type StreamRow,
  type StreamSchemaRow,
} from '../../store/streams.ts'
import type { Caller, Deps } from '../../deps.ts'
import { withDeadline } from '../../concurrency/with-deadline.ts'
import { registerSchema } from '../../reconciler/streams.ts'
import { assertIfMatch, etagOf } from '../etags.ts'
import { operation } from '../operation.ts'
import { resolveSchemaId } from './adopt.ts'
import { showStream, streamChanges } from './streams.ts'
import { updateReaders } from '../../definitions/update-readers.ts'

function assertKeepsKey({ key_field }: StreamRow, schema: Record<string, string>, path: string): void {
  if (key_field !== null && !Object.hasOwn(schema, key_field))
    throw new ServiceError('conflict', `the field "${key_field}" is the stream's key`, {
      details: [{ path, message: `the field "${key_field}" is the key and can’t be dropped` }],
    })
}

/** Throws 400 for types that the format can't hold, and 409 for incompatible changes, naming every such field. */
function assertCompatible(stream: StreamRow, schema: Record<string, string>): void {
  const unfit = unfitFields(stream.format, schema)
  if (unfit.length > 0)
    throw invalidRequest(
      unfit.map((field) => ({ path: `/schema/${field}`, message: `the type ${schema[field]} has no form in ${stream.format}` })),
    )
  assertKeepsKey(stream, schema, `/schema/${stream.key_field}`)
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

/** A schema that a request asks for. */
export type SchemaChange = { format: StreamFormat; schema: Record<string, string>; schema_text: SchemaText | null; schema_id?: number }

/** The schema that the body asks for, undefined if it asks for none. Throws 400 or 409 naming what prevents the change. */
export async function changeOf(
  deps: Pick<Deps, 'adoption' | 'registry'>,
  stream: StreamRow,
  { schema, schema_id }: { schema?: Record<string, string>; schema_id?: number },
) {
  if (schema) {
    if (stream.schema_text)
      throw invalidRequest([
        { path: '/schema', message: 'must not be given: the schema came from the registry; give the schema_id of the next one instead' },
      ])
    assertCompatible(stream, schema)
    return { format: stream.format, schema, schema_text: null } satisfies SchemaChange
  }
  if (schema_id === undefined) return undefined
  const found = await resolveSchemaId(deps, stream.account_id, schema_id, {
    topic: stream.is_adopted ? stream.topic : undefined,
    message: stream.schema_text?.message,
  })
  if (found.format !== stream.format)
    throw invalidRequest([{ path: '/schema_id', message: `is a schema in ${found.format}, the stream is in ${stream.format}` }])
  assertKeepsKey(stream, found.schema, '/schema_id')
  return { ...found, schema_id } satisfies SchemaChange
}

/** The registry decides: it knows every version, and modes that compare with all of them. Returns the schema's id. */
async function register({ registry }: Pick<Deps, 'registry'>, stream: StreamRow, change: SchemaChange): Promise<number> {
  if (stream.is_adopted && change.schema_id !== undefined) return change.schema_id
  return withDeadline(registerSchema(registry, stream, change), 'registering the schema').catch((error: unknown) => {
    if (!(error instanceof SchemaRefused)) throw error
    // The registry's error is about the whole schema; add faults of single fields, as far as type names show them.
    const faults = schemaFaults(stream.schema, change.schema, stream.compatibility as Compatibility, stream.format)
    throw new ServiceError('conflict', `the schema registry refuses the schema: ${error.message}`, {
      cause: error,
      ...(faults.length > 0
        ? { details: faults.map(({ field, message }) => ({ path: '/schema_id', message: `the field "${field}" ${message}` })) }
        : {}),
    })
  })
}

/**
 * All schemas of a stream are part of what its readers run, whose size is bounded; JSON is read without them. Throws 409 where this one
 * would be too much.
 */
async function assertRoomFor({ db }: Pick<Deps, 'db'>, stream: StreamRow, asked: SchemaChange): Promise<void> {
  if (stream.format === 'json') return
  const textsOf = ({ schema, schema_text }: StreamSchemaRow) => {
    const { text, references } = schemaTextOf({ name: stream.name, format: stream.format, schema, schema_text })
    return [text, ...references.map((reference) => reference.text)]
  }
  const texts = new Set([...(await schemasOf(db, stream.id)).values(), asked].flatMap(textsOf))
  const bytes = [...texts].reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  if (bytes > LIMITS.stream_schemas_bytes_max)
    throw new ServiceError(
      'conflict',
      `all schemas that the stream has had would have more than ${LIMITS.stream_schemas_bytes_max >> 20} MiB; make another stream for this one`,
    )
}

/** Throws 404, 409 and 412 for a stream that can't be changed by this request. */
function assertChangeable(caller: Caller, stream: StreamRow | undefined): asserts stream is StreamRow {
  if (!stream) throw notFound('the stream')
  assertIfMatch(caller, etagOf(stream))
  if (stream.status !== 'active') throw new ServiceError('conflict', `the stream is ${stream.status}, not active`)
}

export const updateStreamOperation = operation(updateStreamContract, async (deps, caller, { params, body }) => {
  const row = await streamChanges.run(params.id, () => change(deps, caller, params.id, body))
  deps.notifyPublisher()
  return { status: 200, body: showStream(row), headers: etagOf(row) }
})

async function change(
  deps: Pick<Deps, 'adoption' | 'db' | 'registry'>,
  caller: Caller,
  id: string,
  body: Input<typeof updateStreamContract>['body'],
): Promise<StreamRow> {
  const { db } = deps
  // The registry is asked before the row is locked: what was found holds only for the schema that it was compared with.
  const found = await findStream(db, caller.accountId, id)
  assertChangeable(caller, found)
  const asked = await changeOf(deps, found, body)
  if (asked) await assertRoomFor(deps, found, asked)
  const schemaId = asked && (await register(deps, found, asked))
  return inTransaction(db, async (trx) => {
    const stream = await lockStream(trx, caller.accountId, id)
    assertChangeable(caller, stream)
    const { description = stream.description } = body
    if (!asked || schemaId === undefined) return updateStream(trx, stream.id, { description })
    if (stream.schema_id !== found.schema_id && stream.schema_id !== schemaId)
      throw new ServiceError('conflict', 'another request changed the schema meanwhile; try again')
    const { schema, schema_text } = asked
    const updated = await updateStream(trx, stream.id, { description, schema, schema_text, schema_id: schemaId })
    await saveStreamSchema(trx, stream.id, schemaId, asked)
    if (stream.format === 'json') await forgetOldSchemas(trx, stream.id, schemaId)
    await updateReaders(trx, updated)
    return updated
  })
}
