/** Which member of the fleet runs which task: rendezvous hashing, so that a member joining or leaving moves only its share. Pure. */
import { createHash } from 'node:crypto'
import { taskName, type TaskId } from '../../../shared/model/task.ts'

/** The member with the largest weight gets the task. Below 2^48. */
export function weight(member: string, runId: string, task: TaskId): number {
  return createHash('sha256')
    .update(`${member}\n${runId}\n${taskName(task)}`)
    .digest()
    .readUIntBE(0, 6)
}

/** The member with the highest weight; undefined for an empty fleet. A tie goes to the smaller name, so that all members decide alike. */
export function placeTask(members: readonly string[], runId: string, task: TaskId): string | undefined {
  let best: string | undefined
  let bestWeight = -1
  for (const member of members.toSorted()) {
    const own = weight(member, runId, task)
    if (own > bestWeight) {
      best = member
      bestWeight = own
    }
  }
  return best
}
