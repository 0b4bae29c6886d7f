/** Records of a stream as they are in its topic: for a trial of SmartModules, and to be looked at. */
import type { StreamPlace } from '../../../shared/api/pipeline-requests.ts'
import { streamCodecOf } from '../definitions/resolve-endpoint.ts'
import type { TopicLayout } from '../../../shared/kafka/cluster.ts'
import type { Caller, Deps } from '../deps.ts'
import type { Pace } from '../concurrency/pacing.ts'
import { layoutOf } from '../layout-of.ts'
import { invalidRequest } from '../service-error.ts'
import { findStream, type StreamRow } from '../store/streams.ts'
import { decodeCursor } from '../stream-data/cursor.ts'
import { chooseRecords, findByKey, partitionsAsked, type From } from './choose-records.ts'

/** The edge of another answer's page, as a cursor. */
export type CursorEdge = { before: string } | { after: string }
type Asked = { partition?: number | undefined; limit: number } & (
  | { from: { place: StreamPlace }; key?: Buffer | undefined }
  | { from: CursorEdge; key?: undefined }
)

/** The records that are asked for, and how their values are decoded. Throws 400 for a stream or partition that does not exist. */
export async function streamRecords(
  deps: Pick<Deps, 'cluster' | 'db' | 'sourceReader' | 'readPacer'>,
  { accountId }: Caller,
  { from = 'latest', partition, limit }: { from?: StreamPlace | undefined; partition?: number | undefined; limit: number },
  streamId: string,
  steps: number,
) {
  const stream = await findStream(deps.db, accountId, streamId)
  if (stream?.status !== 'active') throw invalidRequest([{ path: '/stream_id', message: 'is not the id of an active stream' }])
  const asked = { from: { place: from }, partition, limit }
  return deps.readPacer.during(accountId, (pace) => recordsOf(deps, stream, asked, steps, pace))
}

/** By the topic's partitions as they are now: those that it has got since have nothing before the edge, and all behind it. */
function fromOf(asked: Asked['from'], { id }: StreamRow, { leaders }: TopicLayout): From {
  if ('place' in asked) return asked
  return 'before' in asked
    ? { before: decodeCursor(asked.before, id, leaders.length, '/query/before') }
    : { after: decodeCursor(asked.after, id, leaders.length, '/query/after') }
}

/**
 * Records of the stream, and how their values are decoded. `isWhole` is false where a search for a key was ended early. Throws 400 for a
 * partition that it does not have, and for a cursor of another stream.
 */
export async function recordsOf(
  deps: Pick<Deps, 'cluster' | 'db' | 'sourceReader'>,
  stream: StreamRow,
  asked: Asked,
  steps: number,
  pace: Pace,
) {
  const { partition, limit } = asked
  const layout = await layoutOf(deps.cluster, stream.topic, 'the stream’s topic', partition)
  const from = fromOf(asked.from, stream, layout)
  const partitions = partitionsAsked(layout, from, partition, 'stream')
  const chosen = asked.key
    ? {
        ...(await findByKey(deps, layout, stream.account_id, { key: asked.key, partitions, place: asked.from.place, limit }, pace)),
        spans: undefined,
      }
    : { ...(await chooseRecords(deps, layout, partitions, from, limit, steps, pace)), isWhole: true }
  return { ...chosen, layout, codec: await streamCodecOf(deps.db, stream) }
}
