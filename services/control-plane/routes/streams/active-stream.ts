/** The caller's stream, for its records. */
import { notFound, ServiceError } from '../../service-error.ts'
import type { Database } from '../../store/database.ts'
import { findStream, type StreamRow } from '../../store/streams.ts'

/** Throws 404 for a stream that does not exist or belongs to another account, 409 for one that is not active. */
export async function activeStream(db: Database, accountId: string, id: string): Promise<StreamRow> {
  const row = await findStream(db, accountId, id)
  if (!row) throw notFound('the stream')
  if (row.status !== 'active') throw new ServiceError('conflict', `the stream is ${row.status}, not active`)
  return row
}
