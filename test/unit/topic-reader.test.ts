/** What a tail looks at: nothing is left out without a word, whatever goes wrong in between. */
import { describe, expect, it } from 'vitest'
import { openTopicReader } from '../../services/control-plane/tail/topic-reader.ts'
import type { SourceReader } from '../../services/control-plane/trace/source-records.ts'
import type { Cluster, TopicLayout } from '../../shared/kafka/cluster.ts'

type Topic = { ends: bigint[]; failing: Set<number>; asked: TopicLayout[]; bytes: number }

/** A topic without markers: every offset is a record. */
function setUp(ends: bigint[], bytes = 10) {
  const topic: Topic = { ends, failing: new Set(), asked: [], bytes }
  const layout: TopicLayout = { topic: 't', topicId: '00000000-0000-0000-0000-000000000001', leaders: ends.map(() => 1) } as TopicLayout
  const cluster = {
    offsets: async (_: TopicLayout, partitions: number[]) => new Map(partitions.map((partition) => [partition, topic.ends[partition]!])),
    bounds: async (at: TopicLayout) => {
      topic.asked.push(at)
      return new Map(at.leaders.map((_, partition) => [partition, { start: 0n, end: topic.ends[partition]! }]))
    },
  } as unknown as Cluster
  const sourceReader = {
    from: async (_: TopicLayout, partition: number, offset: bigint, limit: number) => {
      if (topic.failing.has(partition)) throw new Error('away')
      const count = Number(topic.ends[partition]! - offset)
      return {
        isCut: false,
        records: Array.from({ length: Math.min(limit, count) }, (_each, at) => ({
          partition,
          offset: offset + BigInt(at),
          timestamp: 0n,
          record: { offsetDelta: 0, timestampDelta: 0n, key: null, value: Buffer.alloc(topic.bytes), headers: [] },
        })),
      }
    },
  } as unknown as SourceReader
  return { topic, layout, open: (last = 0, id?: string) => openTopicReader({ cluster, sourceReader }, layout, id, last) }
}

describe('the reader of a tail', () => {
  it('shows everything or says how much it left out', async () => {
    const { topic, layout, open } = setUp([0n, 0n])
    const reader = await open()
    let [shown, dropped] = [0, 0]
    for (let round = 1; round <= 20; round++) {
      topic.ends = topic.ends.map((end) => end + BigInt(round * 7))
      const look = await reader.look(layout, 50)
      look?.keep()
      shown += look?.records.length ?? 0
      dropped += look?.dropped ?? 0
    }
    expect(shown + dropped).toBe(Number(topic.ends[0]! + topic.ends[1]!))
    expect(dropped).toBeGreaterThan(0)
  })

  it('counts records that are too large to be kept together', async () => {
    const { topic, layout, open } = setUp([0n], 300_000)
    const reader = await open()
    topic.ends = [10n]
    const look = (await reader.look(layout, 50))!
    expect(look.records.length).toBeLessThan(10)
    expect(look.records.length + look.dropped).toBe(10)
  })

  it('looks again at what a failed look, or one that was not kept, has seen', async () => {
    const { topic, layout, open } = setUp([0n, 0n])
    const reader = await open()
    topic.ends = [3n, 3n]
    topic.failing.add(1)
    await expect(reader.look(layout, 50)).rejects.toThrow('away')
    topic.failing.clear()
    expect((await reader.look(layout, 50))!.records).toHaveLength(6)
    const look = (await reader.look(layout, 50))!
    expect(look.records).toHaveLength(6)
    look.keep()
    expect(await reader.look(layout, 50)).toBeUndefined()
  })

  it('asks the leaders of today, and reads new partitions from their beginning', async () => {
    const { topic, layout, open } = setUp([2n])
    const reader = await open()
    topic.ends = [2n, 4n]
    const now = { ...layout, leaders: [2, 3] }
    expect((await reader.look(now, 50))!.records.map(({ partition }) => partition)).toEqual([1, 1, 1, 1])
    expect(topic.asked.at(-1)).toBe(now)
  })

  it('gives each of many partitions its turn', async () => {
    const { topic, layout, open } = setUp(Array.from({ length: 64 }, () => 0n))
    const reader = await open()
    const seen = new Set<number>()
    for (let look = 0; look < 8; look++) {
      topic.ends = topic.ends.map((end) => end + 1n)
      const found = (await reader.look(layout, 50))!
      found.keep()
      for (const { partition } of found.records) seen.add(partition)
    }
    expect(seen.size).toBe(64)
  })

  it('leaves nothing out of the first records after a quiet start', async () => {
    for (const last of [0, 3]) {
      const { topic, layout, open } = setUp([0n, 100n])
      const reader = await open(last)
      topic.ends = [20n, 125n]
      const look = (await reader.look(layout, 50))!
      expect([look.dropped, look.records.length >= 45]).toEqual([0, true])
    }
  })

  it('shows the last records of each of many partitions, whenever its turn is', async () => {
    const { layout, open } = setUp(Array.from({ length: 16 }, () => 100n))
    const reader = await open(16 * 20)
    let shown = 0
    for (let turn = 0; turn < 2; turn++) {
      const look = (await reader.look(layout, 50))!
      expect(look.dropped).toBe(0)
      shown += look.records.length
      look.keep()
    }
    expect(shown).toBeGreaterThanOrEqual(16 * 20)
  })

  it('begins with the last records as they were asked for, and goes on where a client left off', async () => {
    const { topic, layout, open } = setUp([1000n])
    const look = (await (await open(100)).look(layout, 50))!
    expect([look.records.length >= 100, look.dropped]).toEqual([true, 0])
    topic.ends = [1002n]
    const again = (await (await open(0, look.id)).look(layout, 50))!
    expect(again.records.map(({ offset }) => offset)).toEqual([1000n, 1001n])
  })
})
