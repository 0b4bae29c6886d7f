/** Reads a stream's records in pages, and writes records, all or none. */
import { getStreamDataContract, writeStreamDataContract } from '../../../../shared/api/stream-records.ts'
import { invalidRequest } from '../../service-error.ts'
import { withDeadline } from '../../concurrency/with-deadline.ts'
import { operation } from '../operation.ts'
import { activeStream } from './active-stream.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'

export const getStreamDataOperation = operation(getStreamDataContract, async ({ db, streamData, readPacer }, caller, { params, query }) => {
  const stream = await activeStream(db, caller.accountId, params.id)
  if (query.cursor !== undefined && (query.partition !== undefined || query.order === 'desc' || (query.page ?? 1) > 1)) {
    throw invalidRequest([
      { path: '/query/cursor', message: 'walks all partitions, oldest first: it can’t be combined with partition, order or page' },
    ])
  }
  if (query.partition !== undefined && query.partition >= stream.partitions)
    throw invalidRequest([{ path: '/query/partition', message: `must be below ${stream.partitions}` }])
  return {
    status: 200,
    body: await readPacer.during(caller.accountId, (pace) => withDeadline(streamData.readPage(stream, query, pace), 'reading the stream')),
    headers: { 'Content-Type': JSON_TYPE },
  }
})

export const writeStreamDataOperation = operation(writeStreamDataContract, async ({ db, streamData }, caller, { params }) => {
  const stream = await activeStream(db, caller.accountId, params.id)
  return { status: 201, body: await withDeadline(streamData.write(stream, caller.records!, caller.keyed), 'writing to the stream') }
})
