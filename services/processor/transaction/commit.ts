/**
 * The last phase of a round: the consumed offsets, with the counters in their metadata, join the transaction, and it is committed.
 * D5: member id, generation and producer epoch are checked by the broker; a stale owner is refused, however late it comes.
 */
import type { Cluster, Connections } from '../../../shared/kafka/cluster.ts'
import type { Assignment } from '../../../shared/kafka/membership.ts'
import { KAFKA_ERRORS, hasMoved, kafkaErrorName } from '../../../shared/kafka/wire/error-codes.ts'
import { commitOffsetsInTransaction, type TxnOffset } from '../../../shared/kafka/wire/txn-offset-commit.ts'
import { reasonOf } from '../../../shared/errors/reason-of.ts'
import { Interrupted } from '../interruption.ts'
import type { Producer } from './producer.ts'
import { refusalOf } from './refusal.ts'

const RETRIES_MAX = 400
const LOST: ReadonlySet<number> = new Set([KAFKA_ERRORS.illegalGeneration, KAFKA_ERRORS.unknownMemberId, KAFKA_ERRORS.rebalanceInProgress])
/** The topic was deleted. Asked again until it is recreated, the broker would accept the offsets for a topic that they are not of. */
const GONE: ReadonlySet<number> = new Set([KAFKA_ERRORS.unknownTopicOrPartition, KAFKA_ERRORS.unknownTopicId])
const WAIT: ReadonlySet<number> = new Set([
  KAFKA_ERRORS.concurrentTransactions,
  KAFKA_ERRORS.coordinatorLoadInProgress,
  KAFKA_ERRORS.requestTimedOut,
])

export type GroupCoordinator = { nodeId: number | undefined }

/** Whose offsets are committed: the group's in this topic, as the assignment's member. */
export type CommitTarget = { groupId: string; topic: string; assignment: Assignment }

/** Adds the offsets to the transaction and commits it. Throws `assignment_lost`, `taken_over`, `transaction_broken` or `unknown`. */
export async function commitRound(
  cluster: Cluster,
  connections: Connections,
  coordinator: GroupCoordinator,
  target: CommitTarget,
  offsets: TxnOffset[],
  producer: Producer,
): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    coordinator.nodeId ??= await cluster.groupCoordinator(target.groupId)
    const code = await commitOffsetsInTransaction(await connections.leader(coordinator.nodeId), {
      transactionalId: producer.transactionalId,
      groupId: target.groupId,
      producerId: producer.producerId,
      producerEpoch: producer.producerEpoch,
      generationId: target.assignment.generationId,
      memberId: target.assignment.memberId,
      topic: target.topic,
      offsets,
    }).catch((error: unknown) => {
      throw new Interrupted('transaction_broken', `no answer to TxnOffsetCommit: ${reasonOf(error)}`)
    })
    if (code === 0) break
    if (LOST.has(code)) throw new Interrupted('assignment_lost', kafkaErrorName(code))
    const moved = hasMoved(code) && !GONE.has(code)
    if (moved) coordinator.nodeId = undefined
    if ((!moved && !WAIT.has(code)) || attempt >= RETRIES_MAX) throw refusalOf(code, `TxnOffsetCommit: ${kafkaErrorName(code)}`)
    await new Promise((resolve) => setTimeout(resolve, Math.min(1 + attempt, 50)))
  }
  await producer.commit()
}
