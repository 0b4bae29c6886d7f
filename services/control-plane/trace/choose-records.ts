/** Which records of a topic a preview or a test shows. */
import type { StreamPlace } from '../../../shared/api/pipelines.ts'
import type { TopicLayout } from '../../../shared/kafka/cluster.ts'
import { resolvePlace } from '../definitions/stream-places.ts'
import { createOneAtATime } from '../one-at-a-time.ts'
import { invalidRequest, ServiceError } from '../service-error.ts'
import type { Deps } from '../deps.ts'
import { fitting } from './source-records.ts'
import type { SourceRecord } from './trace.ts'

/** How many partitions a preview reads at the same time. */
const READ_AT_ONCE = 8

/** Limit for the records and what the steps make of them, which stay in memory until the response is built. */
const BYTES_MAX = 8 << 20

/** The partitions to read. Throws 400 for one that the topic of `whose` does not have. */
export function partitionsAsked(layout: TopicLayout, from: StreamPlace, partition: number | undefined, whose: string): number[] {
  const count = layout.leaders.length
  if (partition !== undefined && partition >= count)
    throw invalidRequest([{ path: '/partition', message: `must be below ${count}, the ${whose}’s partition count` }])
  if (partition !== undefined) return [partition]
  return typeof from === 'object' && 'offsets' in from ? Object.keys(from.offsets).map(Number) : [...layout.leaders.keys()]
}

/** The first `limit` records from a place on, or the newest for `latest`, oldest first. `isCut`: not all of them fit beside what steps make. */
export async function chooseRecords(
  { cluster, sourceReader }: Pick<Deps, 'cluster' | 'sourceReader'>,
  layout: TopicLayout,
  partitions: number[],
  from: StreamPlace,
  limit: number,
  stepCount: number,
): Promise<{ records: SourceRecord[]; isCut: boolean }> {
  const start = from === 'latest' ? undefined : await resolvePlace(cluster, layout, from, '/from')
  const bytesMax = BYTES_MAX / (1 + stepCount)
  let records: SourceRecord[] = []
  let isCut = false
  for (let next = 0; next < partitions.length; next += READ_AT_ONCE) {
    const some = partitions.slice(next, next + READ_AT_ONCE)
    const read = await Promise.all(
      some.map((each) =>
        start ? sourceReader.from(layout, each, start.get(each) ?? 0n, limit) : sourceReader.newest(layout, each, limit),
      ),
    )
    const ordered = inOrder([...records, ...read.flatMap((each) => each.records)])
    const wanted = start ? ordered.slice(0, limit) : ordered.slice(-limit)
    records = fitting(wanted, bytesMax, start ? 'first' : 'last')
    isCut ||= records.length < wanted.length || (records.length < limit && read.some((each) => each.isCut))
  }
  return { records, isCut }
}

/** How long one request may search for a key. */
const SEARCH_MS = 4000
/** A search keeps the event loop busy in short turns, so each account has one at a time. */
const searches = createOneAtATime()

/**
 * The newest `limit` records with this key, or the first from a place on, oldest first. `isWhole` is false where the search was ended before
 * all records were looked at. Throws 429 while the account has another search under way.
 */
export async function findByKey(
  { cluster, sourceReader }: Pick<Deps, 'cluster' | 'sourceReader'>,
  layout: TopicLayout,
  accountId: string,
  { key, partitions, from, limit }: { key: Buffer; partitions: number[]; from: StreamPlace; limit: number },
): Promise<{ records: SourceRecord[]; isCut: boolean; isWhole: boolean }> {
  if (searches.isBusy(accountId))
    throw new ServiceError('rate_limit_exceeded', 'the account has another search for a key under way', {
      headers: { 'Retry-After': '1' },
    })
  return searches.run(accountId, async () => {
    const start = from === 'latest' ? undefined : await resolvePlace(cluster, layout, from, '/from')
    const until = performance.now() + SEARCH_MS
    const isSpent = () => performance.now() > until
    let [records, isCut, isWhole]: [SourceRecord[], boolean, boolean] = [[], false, true]
    // A partition at a time: where the search ends early, the first ones were looked at whole.
    for (const partition of partitions) {
      const search = { key, start: start && (start.get(partition) ?? 0n), limit, isSpent }
      const found = await sourceReader.withKey(layout, partition, search)
      const ordered = inOrder([...records, ...found.records])
      const wanted = start ? ordered.slice(0, limit) : ordered.slice(-limit)
      records = fitting(wanted, BYTES_MAX, start ? 'first' : 'last')
      isCut ||= found.isCut || records.length < wanted.length
      isWhole &&= found.isWhole
    }
    return { records, isCut, isWhole }
  })
}

/** Oldest first. */
const inOrder = (records: SourceRecord[]): SourceRecord[] =>
  records.toSorted((a, b) => Number(a.timestamp - b.timestamp) || a.partition - b.partition || Number(a.offset - b.offset))
