/** Which records of a stream a page shows: each once, whatever their times are, and however few fit. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { chooseRecords, type From } from '../../services/control-plane/trace/choose-records.ts'
import type { SourceReader } from '../../services/control-plane/trace/source-records.ts'
import type { SourceRecord } from '../../services/control-plane/trace/trace.ts'
import type { Cluster, TopicLayout } from '../../shared/kafka/cluster.ts'

/** Partitions whose offsets have gaps, as markers make them, and whose times are in no order. */
const topic = fc.array(
  fc.array(fc.record({ gap: fc.nat({ max: 2 }), time: fc.nat({ max: 9 }), bytes: fc.nat({ max: 3 }) }), { maxLength: 12 }),
  {
    minLength: 1,
    maxLength: 10,
  },
)

function opened(partitions: { gap: number; time: number; bytes: number }[][]) {
  const records = partitions.map((each, partition) => {
    let offset = -1n
    return each.map(({ gap, time, bytes }): SourceRecord => {
      offset += BigInt(1 + gap)
      // Three of the largest have no room beside each other.
      const value = Buffer.alloc(bytes === 3 ? 3 << 20 : 10)
      return { partition, offset, timestamp: BigInt(time), record: { key: null, value, headers: [] } } as unknown as SourceRecord
    })
  })
  // One beyond the last record, for its transaction's marker.
  const ends = records.map((each) => (each.at(-1)?.offset ?? -1n) + 2n)
  const cluster = {
    offsets: async (_: TopicLayout, asked: number[]) => new Map(asked.map((each) => [each, 0n])),
    bounds: async (_: TopicLayout, asked: number[]) => new Map(asked.map((each) => [each, { start: 0n, end: ends[each]! }])),
  } as unknown as Cluster
  const sourceReader = {
    async from(_: TopicLayout, partition: number, offset: bigint, limit: number) {
      const found = records[partition]!.filter((each) => each.offset >= offset).slice(0, limit)
      return { records: found, isCut: false, low: offset, high: found.length === limit ? found.at(-1)!.offset + 1n : ends[partition]! }
    },
    async newest(_: TopicLayout, partition: number, limit: number, before = ends[partition]!) {
      const found = records[partition]!.filter((each) => each.offset < before).slice(-limit)
      return { records: found, isCut: false, low: found.length === limit ? found[0]!.offset : 0n, high: before }
    },
  } as unknown as SourceReader
  return {
    deps: { cluster, sourceReader },
    layout: { leaders: partitions.map(() => 1) } as unknown as TopicLayout,
    all: records.flat(),
    ends,
  }
}

const placeOf = ({ partition, offset }: SourceRecord): string => `${partition}:${offset}`

it.each(['forth', 'back'] as const)('a walk %s shows every record once, those of a partition in their order', async (way) => {
  await fc.assert(
    fc.asyncProperty(topic, fc.integer({ min: 1, max: 7 }), async (partitions, limit) => {
      const { deps, layout, all, ends } = opened(partitions)
      const asked = partitions.map((_, each) => each)
      const shown: SourceRecord[] = []
      let from: From = { place: way === 'forth' ? 'earliest' : 'latest' }
      for (let page = 0; page <= all.length; page++) {
        const { records, spans } = await chooseRecords(deps, layout, asked, from, limit, 0)
        shown.splice(way === 'forth' ? shown.length : 0, 0, ...records)
        const edges = asked.map((each) => (way === 'forth' ? spans.get(each)!.high : spans.get(each)!.low))
        if (edges.every((edge, each) => (way === 'forth' ? edge >= ends[each]! : edge <= 0n))) break
        expect(records.length).toBeGreaterThan(0)
        from = way === 'forth' ? { after: edges } : { before: edges }
      }
      expect(shown.map(placeOf).toSorted()).toEqual(all.map(placeOf).toSorted())
      for (const each of asked) {
        const offsets = shown.filter(({ partition }) => partition === each).map(({ offset }) => offset)
        expect(offsets).toEqual(offsets.toSorted((a, b) => Number(a - b)))
      }
    }),
  )
})

it('an edge beyond the end of a topic that was made anew is its end', async () => {
  const { deps, layout } = opened([[{ gap: 0, time: 1, bytes: 1 }]])
  const { records, spans } = await chooseRecords(deps, layout, [0], { after: [1000n] }, 10, 0)
  expect([records, spans.get(0)?.high]).toEqual([[], 2n])
})
