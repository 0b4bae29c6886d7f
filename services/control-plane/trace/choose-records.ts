/** Which records of a topic a preview or a test shows. */
import type { TopicLayout } from '../../../shared/kafka/cluster.ts'
import type { Deps } from '../deps.ts'
import { fitting } from './source-records.ts'
import type { SourceRecord } from './trace.ts'

/** How many partitions a preview reads at the same time. */
const READ_AT_ONCE = 8

/** The first `limit` records from `start` on, or the newest if there is no `start`, oldest first. `isCut`: not all of them fit. */
export async function chooseRecords(
  { sourceReader }: Pick<Deps, 'sourceReader'>,
  layout: TopicLayout,
  partitions: number[],
  start: ReadonlyMap<number, bigint> | undefined,
  limit: number,
  bytesMax: number,
): Promise<{ records: SourceRecord[]; isCut: boolean }> {
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

/** Oldest first. */
const inOrder = (records: SourceRecord[]): SourceRecord[] =>
  records.toSorted((a, b) => Number(a.timestamp - b.timestamp) || a.partition - b.partition || Number(a.offset - b.offset))
