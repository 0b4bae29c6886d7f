/** Records of a stream for a trial of SmartModules. */
import type { StreamPlace } from '../../../../shared/api/pipelines.ts'
import { streamCodecOf } from '../../definitions/resolve-endpoint.ts'
import type { Caller, Deps } from '../../deps.ts'
import { invalidRequest, unavailable } from '../../service-error.ts'
import { findStream, schemasOf } from '../../store/streams.ts'
import { chooseRecords, partitionsAsked } from '../../trace/choose-records.ts'

type Asked = { from: StreamPlace; partition?: number | undefined; limit: number }

/** The records that are asked for, and how their values are decoded. Throws 400 for a stream or partition that does not exist. */
export async function streamRecords(
  deps: Pick<Deps, 'cluster' | 'db' | 'sourceReader'>,
  { accountId }: Caller,
  { from, partition, limit }: Asked,
  streamId: string,
  steps: number,
) {
  const stream = await findStream(deps.db, accountId, streamId)
  if (stream?.status !== 'active') throw invalidRequest([{ path: '/stream_id', message: 'is not the id of an active stream' }])
  const layout = await deps.cluster.describeTopic(stream.topic)
  if (!layout) throw unavailable('the stream’s topic')
  const partitions = partitionsAsked(layout, from, partition, 'stream')
  const chosen = await chooseRecords(deps, layout, partitions, from, limit, steps)
  return { ...chosen, codec: streamCodecOf(stream, await schemasOf(deps.db, stream.id)) }
}
