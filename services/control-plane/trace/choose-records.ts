/** Which records of a topic a preview or a test shows. */
import type { StreamPlace } from '../../../shared/api/pipeline-requests.ts'
import type { Cluster, TopicLayout } from '../../../shared/kafka/cluster.ts'
import { resolvePlace } from '../definitions/stream-places.ts'
import { createOneAtATime } from '../concurrency/one-at-a-time.ts'
import { invalidRequest, ServiceError } from '../service-error.ts'
import type { Deps } from '../deps.ts'
import { UNPACED, type Pace } from '../concurrency/pacing.ts'
import { fitting, type Span } from './source-records.ts'
import type { SourceRecord } from './trace.ts'

/** How many partitions a preview reads at the same time. */
const READ_AT_ONCE = 8

/** Limit for the records and what the steps make of them, which stay in memory until the response is built. */
export const BYTES_MAX = 8 << 20

/** A place of the stream; or, by partition, right before the records at these offsets, or from them on. */
export type From = { place: StreamPlace } | { before: readonly bigint[] } | { after: readonly bigint[] }

/** By partition: every record from `low` up to `high` is among those chosen. */
export type Spans = Map<number, Span>

/** The partitions to read. Throws 400 for one that the topic of `whose` does not have. */
export function partitionsAsked(layout: TopicLayout, from: From, partition: number | undefined, whose: string): number[] {
  const count = layout.leaders.length
  if (partition !== undefined && partition >= count)
    throw invalidRequest([{ path: '/partition', message: `must be below ${count}, the ${whose}’s partition count` }])
  if (partition !== undefined) return [partition]
  if ('place' in from && typeof from.place === 'object' && 'offsets' in from.place) return Object.keys(from.place.offsets).map(Number)
  return [...layout.leaders.keys()]
}

/** Where reading goes on; a partition's first records may be gone by now, or the topic recreated. */
async function afterPage(
  cluster: Cluster,
  layout: TopicLayout,
  partitions: number[],
  after: readonly bigint[],
): Promise<Map<number, bigint>> {
  const bounds = await cluster.bounds(layout, partitions)
  return new Map(
    [...bounds].map(([partition, { start, end }]) => {
      const asked = after[partition] ?? 0n
      return [partition, asked < start ? start : asked > end ? end : asked]
    }),
  )
}

/** From where on to read each partition; undefined where the newest are wanted. */
async function startsOf(cluster: Cluster, layout: TopicLayout, partitions: number[], from: From): Promise<Map<number, bigint> | undefined> {
  if ('after' in from) return afterPage(cluster, layout, partitions, from.after)
  if ('before' in from || from.place === 'latest') return undefined
  return resolvePlace(cluster, layout, from.place, '/from')
}

/**
 * Up to `limit` records of all partitions together, oldest first: the first of them, or the last. Records of one partition stay in the
 * order of their offsets, whatever their times, so that none between two chosen ones is missing.
 */
function merged(lists: readonly (readonly SourceRecord[])[], limit: number, side: 'first' | 'last'): SourceRecord[] {
  const at = lists.map((list) => (side === 'first' ? 0 : list.length - 1))
  const isSooner = (a: SourceRecord, b: SourceRecord): boolean => (side === 'first' ? byTime(a, b) < 0 : byTime(a, b) > 0)
  const taken: SourceRecord[] = []
  while (taken.length < limit) {
    let best: number | undefined
    for (const [list, index] of at.entries()) {
      const record = lists[list]![index]
      if (record && (best === undefined || isSooner(record, lists[best]![at[best]!]!))) best = list
    }
    if (best === undefined) break
    taken.push(lists[best]![at[best]!]!)
    at[best]! += side === 'first' ? 1 : -1
  }
  return side === 'first' ? taken : taken.toReversed()
}

/**
 * The first `limit` records from a place on, or the newest for `latest` and before a page; oldest first. `isCut`: not all of them fit
 * beside what steps make.
 */
export async function chooseRecords(
  { cluster, sourceReader }: Pick<Deps, 'cluster' | 'sourceReader'>,
  layout: TopicLayout,
  partitions: number[],
  from: From,
  limit: number,
  stepCount: number,
  pace: Pace = UNPACED,
): Promise<{ records: SourceRecord[]; isCut: boolean; spans: Spans }> {
  const before = 'before' in from ? from.before : undefined
  const start = await startsOf(cluster, layout, partitions, from)
  const side = start ? 'first' : 'last'
  const bytesMax = BYTES_MAX / (1 + stepCount)
  const spans: (Span & { partition: number; found: number })[] = []
  let records: SourceRecord[] = []
  let isCut = false
  for (let next = 0; next < partitions.length; next += READ_AT_ONCE) {
    const some = partitions.slice(next, next + READ_AT_ONCE)
    const read = await Promise.all(
      some.map((each) =>
        start
          ? sourceReader.from(layout, each, start.get(each) ?? 0n, limit, pace)
          : sourceReader.newest(layout, each, limit, before?.[each], pace),
      ),
    )
    some.forEach((partition, at) => spans.push({ partition, low: read[at]!.low, high: read[at]!.high, found: read[at]!.records.length }))
    const known = [...Map.groupBy(records, ({ partition }) => partition).values()]
    const wanted = merged([...known, ...read.map((each) => each.records)], limit, side)
    records = fitting(wanted, bytesMax, side)
    isCut ||= records.length < wanted.length || (records.length < limit && read.some((each) => each.isCut))
  }
  return { records, isCut, spans: new Map(spans.map((each) => [each.partition, spanOf(each, records, side)])) }
}

/** What of a partition's span is left where some of its records had no room among the `limit` of all. */
function spanOf(
  { partition, low, high, found }: Span & { partition: number; found: number },
  records: readonly SourceRecord[],
  side: 'first' | 'last',
): Span {
  const own = records.filter((record) => record.partition === partition)
  if (own.length === found) return { low, high }
  if (side === 'first') return { low, high: own.length === 0 ? low : own.at(-1)!.offset + 1n }
  return { low: own[0]?.offset ?? high, high }
}

/** How long one request may search for a key. */
const SEARCH_MS = 4000
/** A search keeps the event loop busy in short turns, so each account has one at a time. */
const searches = createOneAtATime()

/**
 * The newest `limit` records with this key, or the first from a place on; oldest first. `isWhole` is false where the search ended before it
 * had looked at all records. Throws 429 while the account has another search under way.
 */
export async function findByKey(
  { cluster, sourceReader }: Pick<Deps, 'cluster' | 'sourceReader'>,
  layout: TopicLayout,
  accountId: string,
  { key, partitions, place, limit }: { key: Buffer; partitions: number[]; place: StreamPlace; limit: number },
  pace: Pace,
): Promise<{ records: SourceRecord[]; isCut: boolean; isWhole: boolean }> {
  if (searches.isBusy(accountId))
    throw new ServiceError('rate_limit_exceeded', 'the account has another search for a key under way', {
      headers: { 'Retry-After': '1' },
    })
  return searches.run(accountId, async () => {
    const start = await startsOf(cluster, layout, partitions, { place })
    const until = performance.now() + SEARCH_MS
    const isSpent = () => performance.now() > until
    let [records, isCut, isWhole]: [SourceRecord[], boolean, boolean] = [[], false, true]
    // A partition at a time: where the search ends early, the first ones were looked at whole.
    for (const partition of partitions) {
      const search = { key, start: start && (start.get(partition) ?? 0n), limit, isSpent }
      const found = await sourceReader.withKey(layout, partition, search, pace)
      const ordered = inOrder([...records, ...found.records])
      const wanted = start ? ordered.slice(0, limit) : ordered.slice(-limit)
      records = fitting(wanted, BYTES_MAX, start ? 'first' : 'last')
      isCut ||= found.isCut || records.length < wanted.length
      isWhole &&= found.isWhole
    }
    return { records, isCut, isWhole }
  })
}

const byTime = (a: SourceRecord, b: SourceRecord): number =>
  Number(a.timestamp - b.timestamp) || a.partition - b.partition || Number(a.offset - b.offset)
/** Oldest first. */
const inOrder = (records: SourceRecord[]): SourceRecord[] => records.toSorted(byTime)
