/** Which member of the fleet runs which task: rendezvous hashing, so that a member joining or leaving moves only its share. Pure. */
import { createHash } from 'node:crypto'
import { taskName, type TaskId } from '../../../shared/model/task.ts'

/** A supervisor asks for the same weights several times a second. */
const WEIGHTS_MAX = 100_000
const weights = new Map<string, number>()

/** The member with the largest weight gets the task. Below 2^48. */
export function weight(member: string, runId: string, task: TaskId): number {
  const key = `${member}\n${runId}\n${taskName(task)}`
  let found = weights.get(key)
  if (found === undefined) {
    found = createHash('sha256').update(key).digest().readUIntBE(0, 6)
    if (weights.size >= WEIGHTS_MAX) weights.clear()
    weights.set(key, found)
  }
  return found
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
