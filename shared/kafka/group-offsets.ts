/** What consumer groups have committed. */
import { offsetCommitV9, offsetFetchV9 } from './client-library.ts'
import { COORDINATOR_GROUP, type Brokers } from './brokers.ts'

/** A group's committed offset of one partition: the next offset to read, and the metadata committed with it. */
export type CommittedOffset = { offset: bigint; metadata: string }

/** Reads committed offsets, and commits for groups that have no members. */
export function openGroupOffsets(brokers: Brokers) {
  return {
    /** Committed offsets by partition, once no open transaction can change them (KIP-447 `require_stable`). Missing ones are left out. */
    async committedOffsets(groupId: string, topic: string, partitions: number[]): Promise<Map<number, CommittedOffset>> {
      const answer = await brokers.retry(async () => {
        const connection = await brokers.connectionTo(await brokers.coordinatorOf(COORDINATOR_GROUP, groupId))
        return offsetFetchV9.api.async(
          connection,
          [{ groupId, memberId: null, memberEpoch: -1, topics: [{ name: topic, partitionIndexes: partitions }] }],
          true,
        )
      })
      const found = new Map<number, CommittedOffset>()
      for (const { partitionIndex, committedOffset, metadata } of answer.groups[0]?.topics[0]?.partitions ?? []) {
        if (committedOffset >= 0n) found.set(partitionIndex, { offset: committedOffset, metadata: metadata ?? '' })
      }
      return found
    },

    /** Commits offsets for a group without members; the broker refuses it while the group has any. */
    async commitFromOutside(groupId: string, topic: string, positions: ReadonlyMap<number, CommittedOffset>): Promise<void> {
      const offsets = [...positions].map(([partitionIndex, { offset, metadata }]) => ({
        partitionIndex,
        committedOffset: offset,
        committedLeaderEpoch: -1,
        committedMetadata: metadata,
      }))
      await brokers.retry(async () => {
        const connection = await brokers.connectionTo(await brokers.coordinatorOf(COORDINATOR_GROUP, groupId))
        // Generation -1 and no member id: a commit by a non-member, accepted only while the group is empty.
        return offsetCommitV9.api.async(connection, groupId, -1, '', null, [{ name: topic, partitions: offsets }])
      })
    },
  }
}
