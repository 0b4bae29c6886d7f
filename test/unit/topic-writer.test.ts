/** In which order a round's output and its position are written (D1). */
import { expect, it } from 'vitest'
import type { PartitionOutcome } from '../../services/processor/lane/messages.ts'
import { createTopicWriter, type TopicWriterOptions } from '../../services/processor/task/round/topic-writer.ts'
import type { Running } from '../../services/processor/task/running.ts'

const nothing = () => {}
const OUTCOME = { partition: 0, nextOffset: 7n, records: 3, sink: [], rows: [], deadLetters: [], deadLetterOffsets: [], counts: [] }
const outcome = OUTCOME as unknown as PartitionOutcome
const running = {
  definition: { group_id: 'g', source: { topic: 't' }, steps: [], job: {} },
  accounting: { metadataWith: () => '', add: nothing },
  chain: { recycle: nothing },
} as unknown as Running

function opened(deliver: () => Promise<undefined>) {
  const committed: bigint[] = []
  const positions = new Map([[0, 0n]])
  const writer = createTopicWriter({
    transactions: {
      deliver,
      commit: async (_target: unknown, offsets: { offset: bigint }[]) => void committed.push(...offsets.map(({ offset }) => offset)),
    },
    targets: { sink: undefined, deadLetter: { topic: 'l' }, ledger: { topic: 'g' } },
    owned: { memberId: 'm', generationId: 1, partitions: [0] },
    positions,
    size: { took: nothing },
    budget: { use: nothing, give: nothing },
    onCommit: nothing,
    now: Date.now,
  } as unknown as TopicWriterOptions)
  return { writer, committed, positions }
}

it('the position of a round is committed once all its output was acknowledged, and not before', async () => {
  const acknowledged = Promise.withResolvers<undefined>()
  const { writer, committed, positions } = opened(() => acknowledged.promise)
  const taking = writer.take(running, [outcome], 100, nothing)
  // Whatever would go on without the brokers' answer has done so by then.
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect([committed, positions.get(0)]).toEqual([[], 0n])
  acknowledged.resolve(undefined)
  await taking
  expect([committed, positions.get(0)]).toEqual([[7n], 7n])
})

it('the position of a round whose output was refused is not committed', async () => {
  const { writer, committed, positions } = opened(() => Promise.reject(new Error('refused')))
  await expect(writer.take(running, [outcome], 100, nothing)).rejects.toThrow('refused')
  expect([committed, positions.get(0)]).toEqual([[], 0n])
})
