/** What the fetches of a runner's tasks take from its byte budget while they are under way. */
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { openByteBudget, type ByteBudget } from '../../services/processor/task/byte-budget.ts'
import { openFetcher, type Fetcher, type FetcherOptions } from '../../services/processor/task/round/fetch.ts'
import { encodeBatch, stampProducer } from '../../shared/kafka/protocol/record-batch.ts'
import type { FetchAnswer, FetchRequest } from '../../shared/kafka/wire/fetch.ts'

const MIB = 1 << 20
const fetchers: Fetcher[] = []
afterEach(() => fetchers.splice(0).forEach((fetcher) => fetcher.close()))

/** A task with one partition, whose fetches are answered by hand. */
function taskWith(budget: ByteBudget) {
  const asked: { request: FetchRequest; answered: PromiseWithResolvers<FetchAnswer> }[] = []
  const fetch = (_: unknown, request: FetchRequest) => {
    const answered = Promise.withResolvers<FetchAnswer>()
    asked.push({ request, answered })
    return answered.promise
  }
  const fetcher = openFetcher({
    fetch: fetch as FetcherOptions['fetch'],
    connections: { leader: async () => ({}) } as unknown as FetcherOptions['connections'],
    layout: { topic: 't', topicId: 'id', leaders: [1] },
    positions: new Map([[0, 0n]]),
    budget,
    roundBytesMax: 32 * MIB,
  })
  fetchers.push(fetcher)
  return {
    fetcher,
    /** The size of the fetch that is under way. */
    bytesMax: () => asked.at(-1)!.request.bytesMax,
    /** The broker answers with a batch of about so many bytes, or with none; the partition ends at `end`. */
    async answer(bytes: number, end: bigint) {
      const { request, answered } = asked.at(-1)!
      const { partition, offset } = request.partitions[0]!
      const common = { partition, errorCode: 0, highWatermark: end, lastStableOffset: end, logStartOffset: 0n, aborted: [] }
      answered.resolve({ errorCode: 0, partitions: [{ ...common, bytes: bytes > 0 ? batchAt(offset, bytes) : undefined }] })
      await turn()
    },
    /** The connection is lost. */
    async fail() {
      asked.at(-1)!.answered.reject(new Error('the connection is closed'))
      await turn()
    },
    /** The round of what has arrived. */
    async round() {
      const round = await fetcher.take()
      await turn()
      return round!
    },
  }
}

function batchAt(offset: bigint, bytes: number): Buffer {
  const batch = encodeBatch([{ offsetDelta: 0, timestampDelta: 0n, key: null, value: Buffer.alloc(bytes), headers: [] }], 0n, 0)
  batch.writeBigInt64BE(offset, 0)
  stampProducer(batch, -1n, -1, -1)
  return batch
}

/** What is left of the budget. */
function left(budget: ByteBudget): number {
  const bytes = budget.take(1024 * MIB)
  budget.give(bytes)
  return bytes
}

describe('the guaranteed bytes of a fetch', () => {
  it('come out of the budget before it is sent, and are back once its round is done', async () => {
    const budget = openByteBudget(16 * MIB)
    const task = taskWith(budget)
    await turn()
    expect(left(budget)).toBe(15 * MIB)
    await task.answer(MIB, 100n)
    const round = await task.round()
    // The round's bytes, and all that is left for the next fetch.
    expect(task.bytesMax()).toBe(16 * MIB - round.bytes)
    expect(left(budget)).toBe(0)
    await task.answer(0, 1n)
    round.release()
    expect(left(budget)).toBe(16 * MIB)
  })

  it('make the fetches of others smaller', async () => {
    const budget = openByteBudget(16 * MIB)
    const task = taskWith(budget)
    await turn()
    for (let others = 0; others < 4; others++) taskWith(budget)
    await turn()
    await task.answer(MIB, 100n)
    const round = await task.round()
    expect(task.bytesMax()).toBe(12 * MIB - round.bytes)
  })

  it('are there for every task when nothing is left', async () => {
    const budget = openByteBudget(2 * MIB)
    const tasks = Array.from({ length: 4 }, () => taskWith(budget))
    await turn()
    for (const task of tasks) {
      expect(task.bytesMax()).toBe(MIB)
      await task.answer(MIB, 100n)
    }
    const rounds = await Promise.all(tasks.map((task) => task.round()))
    for (const task of tasks) {
      expect(task.bytesMax()).toBe(MIB)
      await task.answer(0, 1n)
    }
    for (const round of rounds) round.release()
    expect(left(budget)).toBe(2 * MIB)
  })

  it('are not taken by a fetch that waits at the end of its partitions: idle tasks leave the budget to busy ones', async () => {
    const budget = openByteBudget(16 * MIB)
    const idle = Array.from({ length: 1000 }, () => taskWith(budget))
    await turn()
    for (const task of idle) await task.answer(0, 0n)
    expect(left(budget)).toBe(16 * MIB)
    const busy = taskWith(budget)
    await turn()
    await busy.answer(MIB, 100n)
    const round = await busy.round()
    expect(busy.bytesMax()).toBe(16 * MIB - round.bytes)
  })

  it('are given back when the fetch fails, or its task ends', async () => {
    const budget = openByteBudget(16 * MIB)
    const [failing, ending] = [taskWith(budget), taskWith(budget)]
    await turn()
    expect(left(budget)).toBe(14 * MIB)
    ending.fetcher.close()
    await ending.answer(MIB, 100n)
    expect(left(budget)).toBe(15 * MIB)
    await failing.fail()
    expect(left(budget)).toBe(16 * MIB)
  })
})
