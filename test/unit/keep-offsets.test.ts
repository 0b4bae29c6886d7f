/** Offsets that are committed again so that they don't expire: never over those of a member. */
import { describe, expect, it } from 'vitest'
import { keepOffset } from '../../services/control-plane/upkeep/keep-offsets.ts'
import type { KafkaAdmin } from '../../shared/kafka/admin/admin.ts'
import type { Cluster } from '../../shared/kafka/cluster.ts'

/** A group whose members, if it has any, commit 20 and leave right after its offset, 10, was read. */
function setUp(members: number) {
  const commits: bigint[] = []
  let left = members
  const admin = {
    describeGroups: () => Promise.resolve({ groups: [{ members: Array.from({ length: left }) }] }),
  } as unknown as KafkaAdmin
  const cluster = {
    describeTopic: () => Promise.resolve({ leaders: [0] }),
    committedOffsets() {
      if (left > 0) commits.push(20n)
      left = 0
      return Promise.resolve(new Map([[0, { offset: 10n, metadata: '' }]]))
    },
    commitFromOutside: (_group: string, _topic: string, offsets: ReadonlyMap<number, { offset: bigint }>) =>
      Promise.resolve(void commits.push(offsets.get(0)!.offset)),
  } as unknown as Cluster
  return { commits, keep: () => keepOffset({ cluster, withAdmin: (work) => work(admin) }, 'group', 'topic') }
}

describe('the offset of a group', () => {
  it('is committed again while it has no members', async () => {
    const { keep, commits } = setUp(0)
    await keep()
    expect(commits).toEqual([10n])
  })

  it('is left alone while it has a member, which may commit and leave after the read', async () => {
    const { keep, commits } = setUp(1)
    await keep()
    expect(commits).not.toContain(10n)
  })
})
