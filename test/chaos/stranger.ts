/**
 * A member that joins a pipeline's group, owns partitions and does nothing with them. It speaks the group's own protocol: the broker turns
 * away a member that shares none (kafkajs names its assignors otherwise), and nothing would move.
 */
import { openMembership } from '../../shared/kafka/group/membership.ts'
import { sleep } from './arena.ts'

export async function visitGroup(brokers: string[], groupId: string, topic: string, stayMs: number): Promise<void> {
  const membership = await openMembership({
    brokers,
    clientId: 'stranger',
    groupId,
    topic,
    sessionTimeoutMs: 6000,
    heartbeatMs: 500,
    onAssigned: () => {},
    onRevoked: () => {},
    onError: () => {},
  })
  await sleep(stayMs)
  await membership.close()
}
