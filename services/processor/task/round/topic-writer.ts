/** Outcomes whose sink is a topic: written, with their dead letters, in the transaction that commits their offsets. */
import type { Assignment } from '../../../../shared/kafka/membership.ts'
import type { PartitionOutcome } from '../../lane/messages.ts'
import { createCommitPace } from '../../transaction/commit-pace.ts'
import type { TopicWrite } from '../../transaction/deliver.ts'
import type { Transactions } from '../../transaction/transactions.ts'
import type { ByteBudget } from '../byte-budget.ts'
import { ledgerOf } from '../ledger.ts'
import type { Running } from '../running.ts'
import type { Targets } from '../targets.ts'
import type { RoundSize } from './round-size.ts'
import type { RoundWriter } from './round-writer.ts'

export type TopicWriterOptions = {
  transactions: Transactions
  targets: Targets
  owned: Assignment
  /** By partition; moves with every commit. */
  positions: Map<number, bigint>
  size: RoundSize
  budget: ByteBudget
  onCommit(records: number): void
  /** The time that is written; what takes time is measured by a clock that is never set back. */
  now: () => number
}

/** Progress over control batches only is committed once a minute. */
const QUIET_COMMIT_MS = 60_000

const bytesOf = (batches: readonly { length: number }[]): number => batches.reduce((sum, { length }) => sum + length, 0)

export function createTopicWriter(options: TopicWriterOptions): RoundWriter {
  const { transactions, targets, owned, positions, now } = options
  const pace = createCommitPace()
  /** Next offsets that are not committed yet: of the round under way, and behind control batches. */
  const uncommitted = new Map<number, bigint>()

  async function write(running: Running, outcomes: PartitionOutcome[], inputBytes: number): Promise<void> {
    const { definition, accounting } = running
    const countsOf = new Map(outcomes.map(({ partition, counts }) => [partition, counts]))
    const offsets = [...uncommitted].map(([partition, offset]) => ({
      partition,
      offset,
      metadata: accounting.metadataWith(partition, countsOf.get(partition)),
    }))
    const ledger = ledgerOf(running, [...uncommitted.keys()], positions, now())
    const target = { groupId: definition.group_id, topic: definition.source.topic, assignment: owned }
    // D1: the offsets join the output's transaction after all output was acknowledged.
    const firstMs = await transactions.deliver(writesOf(outcomes, targets, ledger))
    await transactions.commit(target, offsets)
    pace.ended(inputBytes, firstMs)
    for (const { partition, offset } of offsets) {
      accounting.add(partition, countsOf.get(partition))
      positions.set(partition, offset)
    }
    uncommitted.clear()
    running.chain.recycle(outcomes)
  }

  const isQuietDue = () => uncommitted.size > 0 && pace.sinceMs() > QUIET_COMMIT_MS
  return {
    async take(running, outcomes, inputBytes, release) {
      for (const { partition, nextOffset } of outcomes) uncommitted.set(partition, nextOffset)
      const records = outcomes.reduce((sum, outcome) => sum + outcome.records, 0)
      if (records > 0 || isQuietDue()) {
        const bytes = outcomes.reduce((sum, { sink, deadLetters }) => sum + bytesOf(sink) + bytesOf(deadLetters), 0)
        const startedAt = performance.now()
        options.budget.use(bytes)
        try {
          await write(running, outcomes, inputBytes)
        } finally {
          options.budget.give(bytes)
          options.size.took(performance.now() - startedAt)
        }
      }
      release()
      options.onCommit(records)
    },
    isDue: isQuietDue,
    // Commit progress over control batches: if retention later moves the log start past them, that must not look like lost records; nor
    // must they look like records that wait.
    async flush(running, isAll) {
      if (isAll ? uncommitted.size > 0 : isQuietDue()) await write(running, [], 0)
    },
    waitMs: pace.waitMs,
    drop() {},
  }
}

/** Batches for the sink's topic and dead letters of each outcome, and the ledger's. */
export function writesOf(outcomes: readonly PartitionOutcome[], targets: Targets, ledger: TopicWrite['batch'] | undefined): TopicWrite[] {
  const writes: TopicWrite[] = []
  for (const { sink, deadLetters } of outcomes) {
    if (targets.sink) for (const batch of sink) writes.push({ topic: targets.sink.topic, batch })
    for (const batch of deadLetters) writes.push({ topic: targets.deadLetter.topic, batch })
  }
  if (ledger) writes.push({ topic: targets.ledger.topic, batch: ledger })
  return writes
}
