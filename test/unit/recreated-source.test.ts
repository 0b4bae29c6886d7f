/** A source topic that was deleted and recreated while a task was committing: the position is one of the topic before. */
import { describe, expect, it } from 'vitest'
import { interruptionOf } from '../../services/processor/interruption.ts'
import { createAccounting } from '../../services/processor/task/accounting.ts'
import { loadPositions } from '../../services/processor/task/positions.ts'
import { createFailureBook } from '../../services/processor/lane/failure-book.ts'
import { openRevisions, type RevisionsOptions } from '../../services/processor/task/revisions.ts'
import { BARE_CHAIN } from '../harness/chains.ts'
import { commitRound } from '../../services/processor/transaction/commit.ts'
import type { Producer } from '../../services/processor/transaction/producer.ts'
import type { Cluster, Connections } from '../../shared/kafka/cluster.ts'
import { KAFKA_ERRORS } from '../../shared/kafka/wire/error-codes.ts'
import { withoutPlan, withPlan } from '../../shared/model/commit-metadata.ts'
import type { PipelineDefinition } from '../../shared/model/definition.ts'
import { definitionOf } from '../harness/definitions.ts'

const OWNED = { memberId: 'm', generationId: 1, partitions: [0] }
const COUNTS = Float64Array.from([5, 5, 0, 0, 0, 0, 5])

/** What a task commits that reads the topic with this id, by a revision that has taken over from another. */
function committedOf(topicId: string, plan = false): string {
  const accounting = createAccounting(1, 1)
  accounting.begin(topicId)
  accounting.restore(0, '')
  const metadata = accounting.forRevision(2, 1).metadataWith(0, COUNTS)
  return plan ? withPlan(metadata, 9n, undefined) : metadata
}

/** Loads the position of partition 0, whose topic has the id `new` and begins at offset 2. */
async function load(metadata: string, on_lost_position: PipelineDefinition['on_lost_position']) {
  const cluster = {
    committedOffsets: async () => new Map([[0, { offset: 5n, metadata }]]),
    offsets: async (_: unknown, partitions: number[]) => new Map(partitions.map((each) => [each, 2n])),
  } as unknown as Cluster
  const layout = { topic: 'in', topicId: 'new', leaders: [1] }
  const accounting = createAccounting(2, 1)
  const definition = definitionOf('pl_a', { on_lost_position, revision: 2 })
  const { positions, planned } = await loadPositions(cluster, definition, layout, OWNED, accounting, undefined)
  return { position: positions.get(0), planned: planned.size, counted: accounting.snapshot()[0]?.totals.in }
}

describe('a position', () => {
  it('of the topic before is missing: on_lost_position decides, and no plan and no counter goes on', async () => {
    await expect(load(committedOf('old', true), 'fail')).rejects.toThrow(
      /in was deleted and recreated: the committed position of partition 0/,
    )
    expect(await load(committedOf('old', true), 'earliest')).toEqual({ position: 2n, planned: 0, counted: 0 })
  })

  it('of the topic goes on, as does one of which that is not known', async () => {
    expect(await load(committedOf('new', true), 'fail')).toEqual({ position: 5n, planned: 1, counted: 5 })
    for (const metadata of ['', withoutPlan(committedOf('old', true)), createAccounting(2, 1).metadataWith(0)])
      expect(await load(metadata, 'fail')).toMatchObject({ position: 5n, planned: 0 })
  })
})

describe('what a chain remembers of records', () => {
  it('ends with their topic, and with it the share of failed records', async () => {
    const book = createFailureBook()
    const lanes = { open: async () => ({ ...book, forget: book.clear }) }
    const phases = { createAccounting }
    const definition = definitionOf('pl_a')
    const revisions = await openRevisions({ lanes, phases, targets: {} } as unknown as RevisionsOptions, {
      definition,
      chain: BARE_CHAIN,
    })
    expect(revisions.begin('old')).toBe(false)
    const threshold = revisions.threshold()
    book.addDeadLettered(0, [50n])
    expect(revisions.begin('old')).toBe(false)
    expect([book.failedIn(0, 0n, 100n), revisions.threshold()]).toEqual([[50n], threshold])
    expect(revisions.begin('new')).toBe(true)
    expect(book.failedIn(0, 0n, 100n)).toEqual([])
    expect(revisions.threshold()).not.toBe(threshold)
  })
})

describe('offsets for a topic that is gone', () => {
  /** Answers each TxnOffsetCommit with the next of the codes. */
  async function commit(codes: number[]): Promise<{ asked: number; committed: number }> {
    const done = { asked: 0, committed: 0 }
    const connection = {
      send(...parameters: unknown[]) {
        const answer = parameters.at(-1) as (error: null, answer: unknown) => void
        answer(null, [{ partition: 0, errorCode: codes[Math.min(done.asked++, codes.length - 1)] }])
      },
    }
    const cluster = { groupCoordinator: async () => 1 } as unknown as Cluster
    const connections = { leader: async () => connection } as unknown as Connections
    const producer = { commit: async () => void done.committed++ } as unknown as Producer
    const target = { groupId: 'g', topic: 'in', assignment: OWNED }
    await commitRound(cluster, connections, { nodeId: undefined }, target, [{ partition: 0, offset: 5n, metadata: '' }], producer).catch(
      (error: unknown) => expect(interruptionOf(error).kind).toBe('transaction_broken'),
    )
    return done
  }

  it('are not offered until there is a topic of that name again', async () => {
    expect(await commit([KAFKA_ERRORS.unknownTopicOrPartition, 0])).toEqual({ asked: 1, committed: 0 })
    expect(await commit([KAFKA_ERRORS.unknownTopicId, 0])).toEqual({ asked: 1, committed: 0 })
  })

  it('are offered again to a coordinator that has moved', async () => {
    expect(await commit([KAFKA_ERRORS.notCoordinator, KAFKA_ERRORS.concurrentTransactions, 0])).toEqual({ asked: 3, committed: 1 })
  })
})
