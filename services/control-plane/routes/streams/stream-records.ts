/** A stream's records as they are in its topic: partition, offset, time, key, headers and bytes. */
import { getStreamRecordsContract } from '../../../../shared/api/stream-records.ts'
import type { StreamPlace } from '../../../../shared/api/pipeline-requests.ts'
import { openValueDecoder } from '../../../../shared/codecs/codecs.ts'
import type { Cluster, TopicLayout } from '../../../../shared/kafka/cluster.ts'
import { shownBytes } from '../../shown/bytes.ts'
import { printJson } from '../../shown/print-json.ts'
import type { Decode } from '../../shown/records.ts'
import type { Pace } from '../../concurrency/pacing.ts'
import { invalidRequest } from '../../service-error.ts'
import { encodeCursor } from '../../stream-data/cursor.ts'
import type { Spans } from '../../trace/choose-records.ts'
import { sizeOf } from '../../trace/source-records.ts'
import { recordsOf, type CursorEdge } from '../../trace/stream-records.ts'
import { showPlaced, type SourceRecord } from '../../trace/trace.ts'
import { withDeadline } from '../../concurrency/with-deadline.ts'
import { operation } from '../operation.ts'
import { activeStream } from './active-stream.ts'
import { JSON_TYPE } from './stream-data.ts'

const COMMA = Buffer.from(',')

/** Says where records are, as `before` and `after` do. */
const PLACES = ['offset', 'timestamp', 'key', 'after'] as const

type Places = { [name in (typeof PLACES)[number] | 'before']?: string | number | undefined } & {
  before?: string | undefined
  after?: string | undefined
}

/** The edge of another answer's page; undefined where none is given. Throws 400 beside another place. */
function edgeOf(query: Places): CursorEdge | undefined {
  const { before, after } = query
  const name = before === undefined ? 'after' : 'before'
  const other = (before ?? after) === undefined ? undefined : PLACES.find((each) => each !== name && query[each] !== undefined)
  if (other) throw invalidRequest([{ path: `/query/${other}`, message: `can’t be combined with ${name}` }])
  return before !== undefined ? { before } : after === undefined ? undefined : { after }
}

/** Where the records before and behind these begin, each where there is something. */
async function edgesAround(cluster: Cluster, layout: TopicLayout, streamId: string, spans: Spans) {
  const bounds = await cluster.bounds(layout, [...spans.keys()])
  const edge = (side: 'low' | 'high'): string =>
    encodeCursor(
      streamId,
      layout.leaders.map((_, each) => spans.get(each)?.[side] ?? 0n),
    )
  const isOlder = [...spans].some(([each, { low }]) => low > bounds.get(each)!.start)
  const isNewer = [...spans].some(([each, { high }]) => high < bounds.get(each)!.end)
  return { ...(isOlder ? { older: edge('low') } : {}), ...(isNewer ? { newer: edge('high') } : {}) }
}

export const getStreamRecordsOperation = operation(getStreamRecordsContract, async (deps, caller, { params, query }) => {
  const stream = await activeStream(deps.db, caller.accountId, params.id)
  const { partition, offset, timestamp, limit, key } = query
  const edge = edgeOf(query)
  if (offset !== undefined && partition === undefined)
    throw invalidRequest([{ path: '/query/partition', message: 'is required with an offset' }])
  if (offset !== undefined && timestamp !== undefined)
    throw invalidRequest([{ path: '/query/timestamp', message: 'can’t be combined with an offset' }])
  if (partition !== undefined && partition >= stream.partitions)
    throw invalidRequest([{ path: '/query/partition', message: `must be below ${stream.partitions}` }])
  const place: StreamPlace =
    offset !== undefined ? { offsets: { [partition!]: offset } } : timestamp !== undefined ? { timestamp } : query.from
  const asked = edge
    ? { from: edge, limit, partition }
    : { from: { place }, limit, partition, key: key === undefined ? undefined : Buffer.from(key) }
  const read = async (pace: Pace) => {
    const found = await recordsOf(deps, stream, asked, 0, pace)
    return { ...found, edges: found.spans ? await edgesAround(deps.cluster, found.layout, stream.id, found.spans) : {} }
  }
  const answer = async (pace: Pace) => {
    const { records, codec, isCut, isWhole, edges } = await read(pace)
    const around = { ...edges, ...(isCut ? { truncated: true as const } : {}), ...(isWhole ? {} : { incomplete: true as const }) }
    return printed(records, codec && openValueDecoder(codec), around, pace)
  }
  return {
    status: 200,
    body: await deps.readPacer.during(caller.accountId, (pace) => withDeadline(answer(pace), 'reading the stream')),
    headers: { 'Content-Type': JSON_TYPE },
  }
})

/** The answer as bytes, made in turns: as one object, megabytes of it would be printed at once. */
async function printed(
  records: readonly SourceRecord[],
  decode: Decode | undefined,
  around: Record<string, unknown>,
  pace: Pace,
): Promise<Buffer> {
  const room = shownBytes()
  const parts: Uint8Array[] = [Buffer.from('{"records":[')]
  await pace.turns(records.length, (index) => {
    const source = records[index]!
    if (index > 0) parts.push(COMMA)
    parts.push(printJson(showPlaced(source, room, decode)))
    return sizeOf(source)
  })
  const behind = JSON.stringify(around)
  parts.push(Buffer.from(behind === '{}' ? ']}' : `],${behind.slice(1)}`))
  return Buffer.concat(parts)
}
