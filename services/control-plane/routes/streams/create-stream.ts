/** Row first, then schema and topic by the reconciler's own steps; the answer waits for `active`. */
import { createStreamContract } from '../../../../shared/api/streams.ts'
import { ServiceError } from '../../../../shared/errors/service-error.ts'
import { newId } from '../../../../shared/model/ids.ts'
import { isUniqueViolation } from '../../../../shared/store/database.ts'
import { insertStream, updateStream } from '../../../../shared/store/streams.ts'
import { finishStream, undoStream } from '../../reconciler/streams.ts'
import { UNDO_TIMEOUT_MS, withDeadline } from '../../with-deadline.ts'
import { operation } from '../operation.ts'

export const createStream = operation(createStreamContract, async (deps, caller, { body }) => {
  const { db, names, log } = deps
  const id = newId('stream')
  const { name, description, schema, partitions, retention_ms, compatibility, format, key } = body
  const row = await insertStream(db, {
    id,
    account_id: caller.accountId,
    name,
    description,
    schema,
    partitions,
    retention_ms,
    compatibility,
    format,
    key_field: key ?? null,
    status: 'creating',
    topic: names.streamTopic(caller.accountId, id),
  }).catch((error: unknown) => {
    if (isUniqueViolation(error))
      throw new ServiceError('conflict', `a stream named "${name}" exists already`, {
        cause: error,
        details: [{ path: '/name', message: 'is taken' }],
      })
    throw error
  })
  try {
    await withDeadline(finishStream(deps, row), 'creating the stream')
  } catch (error) {
    // Nothing half done stays: undone now if possible, else by the reconciler.
    await updateStream(db, id, { status: 'deleting' }).catch(() => {})
    await withDeadline(undoStream(deps, row), 'undoing it', UNDO_TIMEOUT_MS).catch((reason: unknown) =>
      log.warn({ id, reason: String(reason) }, 'a stream will be undone later'),
    )
    throw error
  }
  return { status: 201, body: { id, name, status: 'active', created_at: row.created_at }, headers: { Location: `/streams/${id}` } }
})
