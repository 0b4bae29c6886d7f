/** Tasks that a member of the fleet could not start: its decline on the fleet's topic moves them to the next member. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKafka, ensureTopics } from '../../shared/kafka/admin/admin.ts'
import { openCluster, type Cluster } from '../../shared/kafka/cluster.ts'
import { followTopic } from '../../shared/kafka/follow.ts'
import { openDeclined, type Declined } from '../../services/processor/supervisor/declined.ts'
import { placeTask } from '../../services/processor/supervisor/placement.ts'
import { eventually, service, unique } from '../harness/client.ts'
import { chainTask } from '../../shared/model/task.ts'

const MEMBERS = ['a', 'b', 'c']
let cluster: Cluster
let clock = Date.now()
const opened: Declined[] = []
const topic = unique('declined')
beforeAll(async () => {
  cluster = openCluster({ brokers: service().brokers, clientId: topic })
  const admin = createKafka(service().brokers, topic).admin()
  await admin.connect()
  await ensureTopics(admin, [{ topic, partitions: 1, replicationFactor: 1, config: { 'cleanup.policy': 'compact' } }])
  await admin.disconnect()
})
afterAll(async () => {
  await Promise.all(opened.map((declined) => declined.close()))
  await cluster.close()
})

async function openAs(member: string): Promise<Declined> {
  const declined = openDeclined({ cluster, topic, now: () => clock, onChange: () => {}, onError: () => {} }, member)
  opened.push(declined)
  await declined.caughtUp
  return declined
}

/** The newest value of each key of the run on the topic; null where it is a tombstone. */
async function valuesOf(runId: string): Promise<Map<string, Buffer | null>> {
  const values = new Map<string, Buffer | null>()
  const following = followTopic({
    cluster,
    topic,
    purpose: unique('look'),
    from: 0n,
    onRecords: (records) =>
      records.filter(({ key }) => key.startsWith(`declined/${runId}/`)).forEach(({ key, value }) => values.set(key, value)),
    onError: () => {},
  })
  await following.caughtUp
  await following.close()
  return values
}

describe('a task that its member declines', () => {
  it('goes to the same next member in every view, for this attempt and revision only, and for some minutes', async () => {
    const views = await Promise.all(MEMBERS.map(openAs))
    const first = placeTask(MEMBERS, 'pl_x', chainTask(0))!
    views[MEMBERS.indexOf(first)]!.decline('pl_x', chainTask(0), 1, 1)
    for (const view of views)
      await eventually('every view knows it', async () => !view.eligible(MEMBERS, 'pl_x', chainTask(0), 1, 1).includes(first))
    const second = new Set(views.map((view) => placeTask(view.eligible(MEMBERS, 'pl_x', chainTask(0), 1, 1), 'pl_x', chainTask(0))))
    expect(second.size).toBe(1)
    expect(second).not.toContain(first)
    for (const view of views) {
      expect(view.eligible(MEMBERS, 'pl_x', chainTask(1), 1, 1)).toEqual(MEMBERS)
      expect(view.eligible(MEMBERS, 'pl_x', chainTask(0), 2, 1)).toEqual(MEMBERS)
      expect(view.eligible(MEMBERS, 'pl_x', chainTask(0), 1, 2)).toEqual(MEMBERS)
    }
    // A member that joins now learns of it too.
    expect((await openAs('d')).eligible(MEMBERS, 'pl_x', chainTask(0), 1, 1)).not.toContain(first)
    clock += 6 * 60_000
    expect(views[0]!.eligible(MEMBERS, 'pl_x', chainTask(0), 1, 1)).toEqual(MEMBERS)
  })

  it('is open to all members again when all have declined it', async () => {
    const views = await Promise.all(MEMBERS.map(openAs))
    for (const view of views) view.decline('pl_y', chainTask(0), 1, 1)
    await eventually(
      'the last decline is known',
      async () => views[0]!.eligible(['b', 'c', 'd'], 'pl_y', chainTask(0), 1, 1).join() === 'd',
    )
    expect(views[0]!.eligible(MEMBERS, 'pl_y', chainTask(0), 1, 1)).toEqual(MEMBERS)
  })
  it('leaves nothing on the topic once its decline is over: its own member removes it, later any other', async () => {
    const [own, other] = await Promise.all(['e', 'f'].map(openAs))
    own!.decline('pl_z', chainTask(0), 1, 1)
    other!.decline('pl_z', chainTask(1), 1, 1)
    await eventually('both know both', async () =>
      [own!, other!].every((view) => [0, 1].every((task) => view.eligible(['e', 'f'], 'pl_z', chainTask(task), 1, 1).length === 1)),
    )
    clock += 6 * 60_000
    own!.update()
    await eventually('the own one is removed, the other’s is left', async () => {
      const values = await valuesOf('pl_z')
      return values.get('declined/pl_z/0/e') === null && values.get('declined/pl_z/1/f') !== null
    })
    clock += 6 * 60_000
    own!.update()
    await eventually('the other’s is removed too', async () => (await valuesOf('pl_z')).get('declined/pl_z/1/f') === null)
  })
})
