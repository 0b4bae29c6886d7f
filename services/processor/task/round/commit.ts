/**
 * Phase 4 of a round: the consumed offsets, with the counters in their metadata, join the transaction, and it is committed.
 * D5: member id, generation and producer epoch are checked by the broker; a stale owner is refused, however late it comes.
 */
import type { Cluster, Connections } from '../../../../shared/kafka/cluster.ts'
import type { Assignment } from '../../../../shared/kafka/group/membership.ts'
import { KAFKA_ERRORS, hasMoved, kafkaErrorName } from '../../../../shared/kafka/wire/error-codes.ts'
import { commitOffsetsInTransaction, type TxnOffset } from '../../../../shared/kafka/wire/txn-offset-commit.ts'
import { freezeAt, type Mutation } from '../../mutation.ts'
import { TakenOver, TransactionBroken, type Producer } from '../producer.ts'

/** The group moved on: the assignment is void, the transaction must be aborted. */
export class AssignmentLost extends Error {}

const RETRIES_MAX = 400
const LOST: ReadonlySet<number> = new Set([KAFKA_ERRORS.illegalGeneration, KAFKA_ERRORS.unknownMemberId, KAFKA_ERRORS.rebalanceInProgress])
const WAIT: ReadonlySet<number> = new Set([
  KAFKA_ERRORS.concurrentTransactions,
  KAFKA_ERRORS.coordinatorLoadInProgress,
  KAFKA_ERRORS.requestTimedOut,
])

export type GroupCoordinator = { nodeId: number | undefined }

export async function commitRound(
  cluster: Cluster,
  connections: Connections,
  coordinator: GroupCoordinator,
  target: { groupId: string; topic: string; assignment: Assignment },
  offsets: TxnOffset[],
  producer: Producer,
  mutation?: Mutation,
): Promise<void> {
  // Widens the moment in which the group may move on; fenced, it would only be refused later.
  if (mutation === 'no_member_fencing' || mutation === 'no_new_epoch') await new Promise((resolve) => setTimeout(resolve, 700))
  for (let attempt = 0; ; attempt++) {
    coordinator.nodeId ??= await cluster.groupCoordinator(target.groupId)
    const code = await commitOffsetsInTransaction(await connections.leader(coordinator.nodeId), {
      transactionalId: producer.transactionalId,
      groupId: target.groupId,
      producerId: producer.producerId,
      producerEpoch: producer.producerEpoch,
      generationId: mutation === 'no_member_fencing' ? -1 : target.assignment.generationId,
      memberId: mutation === 'no_member_fencing' ? '' : target.assignment.memberId,
      topic: target.topic,
      offsets,
    }).catch((error: unknown) => {
      throw new TransactionBroken(`no answer to TxnOffsetCommit: ${error instanceof Error ? error.message : String(error)}`)
    })
    if (code === 0) break
    if (LOST.has(code)) throw new AssignmentLost(kafkaErrorName(code))
    if (code === KAFKA_ERRORS.producerFenced) throw new TakenOver(kafkaErrorName(code))
    if (hasMoved(code)) coordinator.nodeId = undefined
    else if (!WAIT.has(code)) throw new TransactionBroken(`TxnOffsetCommit: ${kafkaErrorName(code)}`)
    if (attempt >= RETRIES_MAX) throw new TransactionBroken(`TxnOffsetCommit: ${kafkaErrorName(code)}`)
    await new Promise((resolve) => setTimeout(resolve, Math.min(1 + attempt, 50)))
  }
  freezeAt('freeze_before_commit', mutation)
  await producer.end(true)
}
