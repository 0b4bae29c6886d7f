/**
 * The newest records of a topic, a few at a time: what came since the last look, or, where that is more than one look shows, the last of
 * it. One request for the ends of all partitions tells which of them have something new.
 */
import type { Cluster, TopicLayout } from '../../../shared/kafka/cluster.ts'
import { decodeCursor, encodeCursor } from '../stream-data/cursor.ts'
import { fitting, type SourceReader } from '../trace/source-records.ts'
import type { SourceRecord } from '../trace/trace.ts'

/** `dropped`: offsets that were left out since the last look. `id`: where a client that has seen this goes on. */
export type Look = { records: SourceRecord[]; dropped: number; id: string }

export type TopicReader = {
  /** Up to about `limit` records. Undefined where nothing is new. */
  look(limit: number): Promise<Look | undefined>
}

/** Partitions that one look reads; the others have their turn at the next looks. */
const PARTITIONS_MAX = 8
const BYTES_MAX = 1 << 20
/** A transaction's marker takes the last offset, and a sample of one offset would see it alone. */
const SAMPLE_MIN = 5n

const max = (a: bigint, b: bigint): bigint => (a > b ? a : b)

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
  layout: TopicLayout,
  lastId: string | undefined,
  last: number,
): Promise<TopicReader> {
  const partitions = [...layout.leaders.keys()]
  const ends = await cluster.offsets(layout, partitions, 'latest')
  // Twice as many offsets: every second one may be a marker.
  const back = BigInt(Math.ceil(last / partitions.length) * 2)
  const positions = positionsIn(lastId, layout) ?? partitions.map((partition) => max((ends.get(partition) ?? 0n) - back, 0n))
  let turn = 0

  return {
    async look(limit) {
      const [starts, now] = await Promise.all([
        cluster.offsets(layout, partitions, 'earliest'),
        cluster.offsets(layout, partitions, 'latest'),
      ])
      const fresh = partitions.filter((partition) => {
        const end = now.get(partition) ?? 0n
        // A log that was emptied begins anew.
        if (positions[partition]! > end) positions[partition] = end
        return positions[partition]! < end
      })
      if (fresh.length === 0) return undefined
      const from = turn++ % fresh.length
      const chosen = [...fresh.slice(from), ...fresh.slice(0, from)].slice(0, PARTITIONS_MAX)
      const share = max(BigInt(Math.floor(limit / chosen.length)), SAMPLE_MIN)
      let dropped = 0n
      const read = await Promise.all(
        chosen.map(async (partition) => {
          const end = now.get(partition)!
          const position = max(positions[partition]!, starts.get(partition) ?? 0n)
          const begin = end - position > share ? end - share : position
          dropped += begin - position
          const { records } = await sourceReader.from(layout, partition, begin, Number(share))
          const kept = fitting(
            records.filter(({ offset }) => offset < end),
            BYTES_MAX / chosen.length,
            'last',
          )
          positions[partition] = end
          return kept
        }),
      )
      const records = read.flat().toSorted((a, b) => Number(a.timestamp - b.timestamp) || a.partition - b.partition)
      return { records, dropped: Number(dropped), id: encodeCursor(layout.topicId, positions) }
    },
  }
}
