/** A stream's records as they are in its topic: partition, offset, time, key, headers and bytes. */
import { getStreamRecordsContract } from '../../../../shared/api/streams.ts'
import type { StreamPlace } from '../../../../shared/api/pipelines.ts'
import { openValueDecoder } from '../../../../shared/registry/codecs.ts'
import { shownBytes } from '../../shown/bytes.ts'
import { invalidRequest } from '../../service-error.ts'
import { recordsOf } from '../../trace/stream-records.ts'
import { showPlaced } from '../../trace/trace.ts'
import { withDeadline } from '../../with-deadline.ts'
import { operation } from '../operation.ts'
import { activeStream } from './stream-data.ts'

export const getStreamRecords = operation(getStreamRecordsContract, async (deps, caller, { params, query }) => {
  const stream = await activeStream(deps.db, caller.accountId, params.id)
  const { partition, offset, timestamp, limit, key } = query
  if (offset !== undefined && partition === undefined)
    throw invalidRequest([{ path: '/query/partition', message: 'is required with an offset' }])
  if (offset !== undefined && timestamp !== undefined)
    throw invalidRequest([{ path: '/query/timestamp', message: 'can’t be combined with an offset' }])
  if (partition !== undefined && partition >= stream.partitions)
    throw invalidRequest([{ path: '/query/partition', message: `must be below ${stream.partitions}` }])
  const from: StreamPlace =
    offset !== undefined ? { offsets: { [partition!]: offset } } : timestamp !== undefined ? { timestamp } : query.from
  const asked = { from, limit, partition, key: key === undefined ? undefined : Buffer.from(key) }
  const { records, codec, isCut, isWhole } = await withDeadline(recordsOf(deps, stream, asked, 0), 'reading the stream')
  const room = shownBytes()
  const decode = codec && openValueDecoder(codec)
  return {
    status: 200,
    body: {
      records: records.map((source) => showPlaced(source, room, decode)),
      ...(isCut ? { truncated: true as const } : {}),
      ...(isWhole ? {} : { incomplete: true as const }),
    },
  }
})
