/** What was read of a source, written to the intake topic in the transaction that commits the position behind it. */
import { batchSteps, refuseTooLarge } from '../../../shared/connectors/block-batches.ts'
import type { Assignment } from '../../../shared/kafka/membership.ts'
import { TRANSACTIONAL } from '../../../shared/kafka/protocol/record-batch.ts'
import { createTurn, inTurns } from '../../../shared/model/turns.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { frame } from '../../../shared/model/framing.ts'
import { createCommitPace } from '../transaction/commit-pace.ts'
import type { TopicWrite } from '../transaction/deliver.ts'
import type { Transactions } from '../transaction/transactions.ts'
import { seenBatches } from './seen.ts'
import { isLong, POSITION_IN_TOPIC, withPosition } from './split-position.ts'
import type { SplitRead } from './split-reader.ts'

/** Where a split stands: the offset that its group commits, a count of its records, and the source's own position. */
export type SplitState = { next: bigint; position: string | undefined }

export type IntakeWriterOptions = {
  transactions: Transactions
  topic: string
  seenTopic: string
  groupId: string
  owned: Assignment
  /** By split; moves with every commit. */
  states: Map<number, SplitState>
  now: () => number
}

/** Values get the registry's prefix with schema id 0: every reader of the topic finds the framing that streams have. */
const INTAKE_BATCHES = { attributes: TRANSACTIONAL, prefix: frame(0, '') }

const metadataOf = (position: string | undefined): string =>
  position !== undefined && isLong(position) ? POSITION_IN_TOPIC : withPosition(position)

export function openIntakeWriter({ transactions, topic, seenTopic, groupId, owned, states, now }: IntakeWriterOptions) {
  const pace = createCommitPace()
  let lastBytes = 0
  return {
    /** How long the reads that come may gather before the next write, in milliseconds; not above 0 where they need not. */
    waitMs: () => pace.waitMs(lastBytes),
    /** Answers how many records were committed. */
    async write(reads: readonly SplitRead[]): Promise<number> {
      const partitions = transactions.layouts.of(topic).leaders.length
      const writes: TopicWrite[] = []
      const next = new Map<number, SplitState>()
      let records = 0
      const turn = createTurn()
      for (const { split, read } of reads) {
        const block = refuseTooLarge(read.block, LIMITS.topic_batch_bytes_max)
        // A block may hold a million records, and there may be hundreds of small ones.
        const steps = batchSteps(block, { ...INTAKE_BATCHES, partitions, keyless: split, nowMs: now() })
        const batches = await inTurns(steps, undefined, turn)
        for (const batch of batches) writes.push({ topic, batch })
        const before = next.get(split) ?? states.get(split)!
        next.set(split, { next: before.next + BigInt(read.block.count), position: read.position })
        records += read.block.count
      }
      for (const batch of seenBatches(reads, now())) writes.push({ topic: seenTopic, batch })
      const firstMs = await transactions.deliver(writes)
      const offsets = [...next].map(([partition, state]) => ({ partition, offset: state.next, metadata: metadataOf(state.position) }))
      await transactions.commit({ groupId, topic, assignment: owned }, offsets)
      lastBytes = writes.reduce((sum, { batch }) => sum + batch.length, 0)
      pace.ended(lastBytes, firstMs)
      for (const [split, state] of next) states.set(split, state)
      return records
    },
  }
}
