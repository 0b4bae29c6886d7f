/** Which member of the fleet runs which task: rendezvous hashing, so that a member joining or leaving moves only its share. Pure. */
import { createHash } from 'node:crypto'

/** The member with the largest weight gets the task. Below 2^48. */
export function weight(member: string, pipelineId: string, task: number): number {
  return createHash('sha256').update(`${member}\n${pipelineId}\n${task}`).digest().readUIntBE(0, 6)
}

/** The member with the highest weight; undefined for an empty fleet. A tie goes to the smaller name, so that all members decide alike. */
export function placeTask(members: readonly string[], pipelineId: string, task: number): string | undefined {
  let best: string | undefined
  let bestWeight = -1
  for (const member of members.toSorted()) {
    const own = weight(member, pipelineId, task)
    if (own > bestWeight) {
      best = member
      bestWeight = own
    }
  }
  return best
}
