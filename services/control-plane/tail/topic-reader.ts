/**
 * The newest records of a topic, a few at a time: what came since the last look, or, where that is more than one look shows, the last of
 * it. One request for the ends of all partitions tells which of them have something new.
 */
import type { Cluster, TopicLayout } from '../../../shared/kafka/cluster.ts'
import { decodeCursor, encodeCursor } from '../stream-data/cursor.ts'
import { UNPACED, type Pace } from '../concurrency/pacing.ts'
import { fitting, type SourceReader } from '../trace/source-records.ts'
import type { SourceRecord } from '../trace/trace.ts'

/**
 * `dropped`: offsets and records that were left out since the last look. `id`: where a client that has seen this goes on. `keep`: the next
 * look begins after this one; without it, the same is looked at again.
 */
export type Look = { records: SourceRecord[]; dropped: number; id: string; keep(): void }

export type TopicReader = {
  /** Up to about `limit` records of the topic as its layout is now. Undefined where nothing is new. */
  look(layout: TopicLayout, limit: number, pace?: Pace): Promise<Look | undefined>
}

/** Partitions that one look reads; the others have their turn at the next looks. */
const PARTITIONS_MAX = 8
const BYTES_MAX = 1 << 20
/** A sample of one offset would see no record: the last offset is that of a transaction's marker. */
const SAMPLE_MIN = 5n

const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/** The positions that an id stands for; undefined for one of another topic, or of the same before it had more partitions. */
function positionsIn(id: string | undefined, layout: TopicLayout): bigint[] | undefined {
  try {
    return id === undefined ? undefined : decodeCursor(id, layout.topicId, layout.leaders.length)
  } catch {
    return undefined
  }
}

/** Begins after what `lastId` stands for, and otherwise about `last` records before the topic's end. */
export async function openTopicReader(
  { cluster, sourceReader }: { cluster: Cluster; sourceReader: SourceReader },
  first: TopicLayout,
  lastId: string | undefined,
  last: number,
): Promise<TopicReader> {
  const partitionsOf = ({ leaders }: TopicLayout) => [...leaders.keys()]
  const ends = await cluster.offsets(first, partitionsOf(first), 'latest')
  // Twice as many offsets: every second one may be a marker.
  const back = BigInt(Math.ceil(last / first.leaders.length) * 2)
  const positions = positionsIn(lastId, first) ?? partitionsOf(first).map((partition) => larger((ends.get(partition) ?? 0n) - back, 0n))
  /** Partitions whose last records were asked for and not looked at yet; none of these is left out. */
  const asked = new Set(lastId === undefined ? partitionsOf(first) : [])
  let turn = 0

  /** The records from `position` up to `end`, or the last `offsetsMax` offsets of them. */
  async function read(
    layout: TopicLayout,
    partition: number,
    position: bigint,
    end: bigint,
    offsetsMax: bigint,
    bytesMax: number,
    pace: Pace,
  ) {
    const begin = end - position > offsetsMax ? end - offsetsMax : position
    const found = await sourceReader.from(layout, partition, begin, Number(offsetsMax), pace)
    const whole = found.records.filter(({ offset }) => offset < end)
    const kept = fitting(whole, bytesMax, 'last')
    const reached = whole.at(-1)?.offset
    const unread = found.isCut && reached !== undefined ? end - reached - 1n : 0n
    return { partition, end, records: kept, dropped: begin - position + BigInt(whole.length - kept.length) + unread }
  }

  return {
    async look(layout, limit, pace = UNPACED) {
      const partitions = partitionsOf(layout)
      // Partitions that the topic did not have before are new as a whole.
      while (positions.length < partitions.length) positions.push(0n)
      const bounds = await cluster.bounds(layout)
      const fresh = partitions.filter((partition) => {
        const { end } = bounds.get(partition)!
        // Start over in a log that was emptied.
        if (positions[partition]! > end) positions[partition] = end
        return positions[partition]! < end
      })
      if (fresh.length === 0) return undefined
      const from = turn % fresh.length
      turn += PARTITIONS_MAX
      const chosen = [...fresh.slice(from), ...fresh.slice(0, from)].slice(0, PARTITIONS_MAX)
      // The records that were asked for may have waited: they come on top of the sample of what came since.
      const sample = larger(BigInt(Math.floor(limit / chosen.length)), SAMPLE_MIN)
      const reads = await Promise.all(
        chosen.map((partition) => {
          const { start, end } = bounds.get(partition)!
          const position = larger(positions[partition]!, start)
          return read(layout, partition, position, end, sample + (asked.has(partition) ? back : 0n), BYTES_MAX / chosen.length, pace)
        }),
      )
      const next = positions.slice()
      for (const { partition, end } of reads) next[partition] = end
      const records = reads.flatMap((each) => each.records)
      return {
        records: records.toSorted((a, b) => Number(a.timestamp - b.timestamp) || a.partition - b.partition),
        dropped: Number(reads.reduce((sum, each) => sum + each.dropped, 0n)),
        id: encodeCursor(layout.topicId, next),
        keep() {
          for (const [partition, position] of next.entries()) positions[partition] = position
          for (const { partition } of reads) asked.delete(partition)
        },
      }
    },
  }
}
