/** Where the reading of a range ends: offsets have gaps, and not every batch has a format that we read. */
import { describe, expect, it } from 'vitest'
import { openFetcher, type FetcherOptions } from '../../services/processor/task/round/fetch.ts'
import { openByteBudget } from '../../services/processor/task/byte-budget.ts'
import { encodeBatch, stampProducer } from '../../shared/kafka/protocol/record-batch.ts'
import type { FetchRequest } from '../../shared/kafka/wire/fetch.ts'

function batchAt(offset: bigint, count: number): Buffer {
  const records = Array.from({ length: count }, (_, offsetDelta) => ({
    offsetDelta,
    timestampDelta: 0n,
    key: null,
    value: Buffer.from(`${offset}/${offsetDelta}`),
    headers: [],
  }))
  const batch = encodeBatch(records, 0n, 0)
  batch.writeBigInt64BE(offset, 0)
  stampProducer(batch, -1n, -1, -1)
  return batch
}

/** A log of one partition, which answers as a broker would from an offset on. */
function logOf(batches: [offset: bigint, bytes: Buffer][], end: bigint) {
  const requests: FetchRequest[] = []
  return {
    requests,
    fetch: async (_: unknown, request: FetchRequest) => {
      requests.push(request)
      if (requests.length > 50) throw new Error('the fetcher does not stop')
      const [{ partition, offset }] = request.partitions as [FetchRequest['partitions'][number]]
      const following = batches.filter(([at, bytes]) => at + BigInt(Math.max(1, bytes.length > 60 ? bytes.readInt32BE(57) : 1)) > offset)
      const bytes = following.length > 0 ? Buffer.concat(following.map(([, each]) => each)) : undefined
      const part = { partition, errorCode: 0, highWatermark: end, lastStableOffset: end, logStartOffset: 0n, aborted: [], bytes }
      return { errorCode: 0, partitions: [part] }
    },
  }
}

async function readUntil(log: ReturnType<typeof logOf>, from: bigint, until: bigint): Promise<bigint[]> {
  const fetcher = openFetcher({
    fetch: log.fetch as FetcherOptions['fetch'],
    connections: { leader: async () => ({}) } as unknown as FetcherOptions['connections'],
    layout: { topic: 't', topicId: 'id', leaders: [1] },
    positions: new Map([[0, from]]),
    budget: openByteBudget(1 << 24),
    roundBytesMax: 1 << 20,
    until: new Map([[0, until]]),
  })
  const ends: bigint[] = []
  for (let round = await fetcher.take(); round; round = await fetcher.take()) {
    ends.push(...round.batches.map(({ nextOffset }) => nextOffset))
    round.release()
  }
  expect(fetcher.isDone()).toBe(true)
  fetcher.close()
  return ends
}

describe('a range', () => {
  it('ends at its end when the next batch starts after it', async () => {
    const log = logOf(
      [
        [0n, batchAt(0n, 3)],
        [20n, batchAt(20n, 2)],
      ],
      22n,
    )
    expect((await readUntil(log, 0n, 10n)).at(-1)).toBe(10n)
    expect(log.requests.length).toBeLessThan(4)
  })

  it('ends at once when nothing is left between its start and its end', async () => {
    const log = logOf([[20n, batchAt(20n, 2)]], 22n)
    expect(await readUntil(log, 5n, 10n)).toEqual([10n])
    expect(log.requests.length).toBe(1)
  })

  it('ends when the log itself ends in a gap', async () => {
    const log = logOf([[0n, batchAt(0n, 3)]], 22n)
    expect((await readUntil(log, 0n, 10n)).at(-1)).toBe(10n)
    expect(log.requests.length).toBeLessThan(4)
  })

  it('is refused with a reason when a batch has a retired format, however short it is', async () => {
    const old = Buffer.alloc(40)
    old.writeInt32BE(28, 8)
    old.writeInt8(1, 16)
    const log = logOf([[0n, old]], 22n)
    await expect(readUntil(log, 0n, 10n)).rejects.toThrow('the retired format v1')
  })
})
