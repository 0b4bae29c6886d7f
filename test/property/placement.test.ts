/** On which processor of the fleet a task runs. */
import { describe, expect, it } from 'vitest'
import { placeTask } from '../../services/processor/supervisor/placement.ts'
import { chainTask } from '../../shared/model/task.ts'

describe('placement', () => {
  it('moves only the tasks of a member that leaves, and gives every member its share', () => {
    const members = ['a', 'b', 'c', 'd']
    for (let i = 0; i < 200; i++) {
      const before = placeTask(members, `pl_${i}`, chainTask(0))!
      const after = placeTask(
        members.filter((member) => member !== 'b'),
        `pl_${i}`,
        chainTask(0),
      )!
      if (before !== 'b') expect(after).toBe(before)
    }
    const shares = Map.groupBy(
      Array.from({ length: 1000 }, (_, i) => placeTask(members, `pl_${i}`, chainTask(0))),
      (member) => member,
    )
    for (const share of shares.values()) expect(share.length).toBeGreaterThan(150)
  })
})
