/**
 * A member that joins a pipeline's group, owns partitions and does nothing with them. It uses the group's own protocol: the broker rejects
 * a member without a protocol in common (kafkajs names its assignors differently), and then no partition would move.
 */
import { openMembership } from '../../shared/kafka/membership.ts'
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
