/** Creates a stream: first the row, then schema and topic by the reconciler's own steps. The response waits until it is `active`. */
import { reasonOf } from '../../../../shared/errors/reason-of.ts'
import { createStreamContract, STREAM_DEFAULTS, type StreamRequest } from '../../../../shared/api/streams.ts'
import { invalidRequest, type Detail } from '../../service-error.ts'
import { newId } from '../../../../shared/model/ids.ts'
import { SchemaRefused } from '../../../../shared/codecs/read-schemas.ts'
import { insertStream, type NewStream } from '../../store/streams.ts'
import { beginUndo } from '../../store/unfinished.ts'
import { inTransaction, type Transaction } from '../../store/database.ts'
import { assertQuotas } from '../../store/quotas.ts'
import type { Deps } from '../../deps.ts'
import { setUpStream, takeDownStream } from '../../reconciler/streams.ts'
import { finishOrUndo } from '../../concurrency/with-deadline.ts'
import { orNameTaken } from '../name-taken.ts'
import { operation } from '../operation.ts'
import { resolveSchemaId, resolveTopic } from './adopt.ts'

type Described = Omit<NewStream, 'id' | 'account_id' | 'name' | 'description' | 'status' | 'key_field'>

/** The topic and schema that the body asks for. Throws 400 naming what can't be used. */
export async function describeStream(
  deps: Pick<Deps, 'adoption' | 'cluster' | 'names' | 'registry' | 'withAdmin'>,
  accountId: string,
  id: string,
  body: StreamRequest,
): Promise<Described> {
  const adopted = body.topic === undefined ? undefined : await resolveTopic(deps, accountId, body.topic, body.schema_id)
  const schemaId = adopted?.schema_id ?? body.schema_id
  const own = {
    topic: deps.names.streamTopic(accountId, id),
    partitions: body.partitions ?? STREAM_DEFAULTS.partitions,
    retention_ms: body.retention_ms ?? STREAM_DEFAULTS.retention_ms,
    compatibility: body.compatibility ?? STREAM_DEFAULTS.compatibility,
    schema_id: null,
    batch_bytes_max: null,
    is_compacted: false,
  }
  const place = { ...(adopted ?? own), is_adopted: adopted !== undefined }
  if (body.schema !== undefined || schemaId === undefined)
    return { ...place, format: body.format ?? 'json', schema: body.schema ?? {}, schema_text: null }
  const found = await resolveSchemaId(deps, accountId, schemaId, { topic: body.topic, message: body.message, messagePath: '/message' })
  const details: Detail[] = []
  if (body.format !== undefined && body.format !== found.format)
    details.push({ path: '/format', message: `the schema is in ${found.format}` })
  if (body.key !== undefined && !Object.hasOwn(found.schema, body.key))
    details.push({ path: '/key', message: 'must be a field of the schema' })
  if (details.length > 0) throw invalidRequest(details)
  return { ...place, ...found }
}

export const createStreamOperation = operation(createStreamContract, async (deps, caller, { body }) => {
  const { db, log } = deps
  const id = newId('stream')
  const { name, description, key } = body
  const described = await describeStream(deps, caller.accountId, id, body)
  const fresh = { id, account_id: caller.accountId, name, description, key_field: key ?? null, status: 'creating' as const, ...described }
  const insert = async (trx: Transaction) => {
    await assertQuotas(trx, caller.accountId, { streams: 1, partitions: described.partitions })
    return insertStream(trx, fresh)
  }
  const row = await orNameTaken('stream', name, inTransaction(db, insert))
  await finishOrUndo(setUpStream(deps, row), 'creating the stream', {
    beginUndo: () => beginUndo(db, 'streams', id),
    undo: () => takeDownStream(deps, row),
    onLeft: (reason) => log.warn({ id, reason: reasonOf(reason) }, 'a stream will be undone later'),
  }).catch((error: unknown) => {
    if (!(error instanceof SchemaRefused)) throw error
    const path = body.schema_id === undefined ? '/schema' : '/schema_id'
    throw invalidRequest([{ path, message: `the schema registry refuses it: ${error.message}` }])
  })
  return { status: 201, body: { id, name, status: 'active' as const, created_at: row.created_at }, headers: { Location: `/streams/${id}` } }
})
