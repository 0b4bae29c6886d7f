/** Lists, reads and deletes streams. */
import { reasonOf } from '../../../../shared/errors/reason-of.ts'
import { deleteStreamContract, getStreamContract, listStreamsContract } from '../../../../shared/api/streams.ts'
import { notFound, ServiceError } from '../../service-error.ts'
import { findStream, listStreams, lockStream, updateStream, type StreamRow } from '../../store/streams.ts'
import { listPipelineNamesUsing } from '../../store/uses.ts'
import { listJobsInto } from '../../store/jobs.ts'
import { takeDownStream } from '../../reconciler/streams.ts'
import { assertIfMatch, etagOf } from '../etags.ts'
import { listReply } from '../list-reply.ts'
import { operation } from '../operation.ts'
import { inTransaction, type Transaction } from '../../store/database.ts'
import { createOneAtATime } from '../../concurrency/one-at-a-time.ts'

const showItem = ({ id, name, description, status, status_reason, created_at, updated_at }: StreamRow) => ({
  id,
  name,
  description,
  status,
  status_reason,
  created_at,
  updated_at,
})
export const showStream = (row: StreamRow) => ({
  ...showItem(row),
  schema: row.schema,
  schema_id: row.schema_id,
  topic: row.topic,
  partitions: row.partitions,
  retention_ms: Number(row.retention_ms),
  compatibility: row.compatibility,
  format: row.format,
  key: row.key_field,
  message: row.schema_text?.message ?? null,
  is_adopted: row.is_adopted,
})

export const listStreamsOperation = operation(listStreamsContract, async ({ db }, caller, { query }) =>
  listReply('streams', await listStreams(db, caller.accountId, query), query, showItem),
)

export const getStreamOperation = operation(getStreamContract, async ({ db }, caller, { params }) => {
  const row = await findStream(db, caller.accountId, params.id)
  if (!row) throw notFound('the stream')
  return { status: 200, body: showStream(row), headers: etagOf(row) }
})

/** By stream: the registry is asked only for a change that nothing else is about to refuse. */
export const streamChanges = createOneAtATime()

export const deleteStreamOperation = operation(deleteStreamContract, async (deps, caller, { params }) => {
  const remove = async (trx: Transaction) => {
    const locked = await lockStream(trx, caller.accountId, params.id)
    if (!locked) throw notFound('the stream')
    assertIfMatch(caller, etagOf(locked))
    // Its topic might be created after the deletion has removed it.
    if (locked.status === 'creating') throw new ServiceError('conflict', 'the stream is still being created')
    const users = await listPipelineNamesUsing(trx, 'stream', locked.id)
    if (users.length > 0) throw new ServiceError('conflict', `the stream is used by: ${users.join(', ')}`)
    const jobs = await listJobsInto(trx, caller.accountId, locked.topic)
    if (jobs.length > 0) throw new ServiceError('conflict', `the stream is used by jobs that have not ended: ${jobs.join(', ')}`)
    await updateStream(trx, locked.id, { status: 'deleting' })
    return locked
  }
  const row = await streamChanges.run(params.id, () => inTransaction(deps.db, remove))
  // For clients it is gone from here on; the reconciler removes what can't be removed now.
  await takeDownStream(deps, row).catch((error: unknown) =>
    deps.log.warn({ id: row.id, reason: reasonOf(error) }, 'a stream will be removed later'),
  )
  return { status: 204 }
})
