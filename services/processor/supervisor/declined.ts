/**
 * Tasks that a member of the fleet could not start. The member declines on `dps.fleet`, and the next member in hash order takes the task.
 * A decline holds for five minutes, and only for that attempt and revision. Once all members have declined a task, all may try again.
 */
import { z } from 'zod'
import { taskName, type TaskId } from '../../../shared/model/task.ts'
import { openFleetRecords, type FleetTopic } from './fleet-records.ts'

const Decline = z.object({
  member: z.string(),
  run_id: z.string(),
  /** `taskName`; a number in what earlier versions wrote. */
  task: z.union([z.string(), z.number().transform(String)]),
  attempt: z.number(),
  revision: z.number(),
  at: z.number(),
})
type Decline = z.infer<typeof Decline>

export type Declined = {
  /** Members that may run the task: those that have not declined it, or all when every member has. */
  eligible(members: readonly string[], runId: string, task: TaskId, attempt: number, revision: number): readonly string[]
  decline(runId: string, task: TaskId, attempt: number, revision: number): void
  /** Removes declines that have expired, and writes what could not be written so far. */
  update(): void
  caughtUp: Promise<void>
  close(): Promise<void>
}

const HOLDS_MS = 5 * 60_000

export function openDeclined(around: FleetTopic, member: string): Declined {
  const { now } = around
  const declines = openFleetRecords({ ...around, purpose: 'fleet-declines', prefix: 'declined/', schema: Decline })
  const keyOf = (decline: Pick<Decline, 'member' | 'run_id' | 'task'>) => `${decline.run_id}/${decline.task}/${decline.member}`
  /**
   * A member removes its own. Those of a member that is gone are left to the others, which wait for twice as long, so that none of them
   * removes what a member has just renewed.
   */
  const isOver = (decline: Decline) => now() - decline.at > (decline.member === member ? HOLDS_MS : 2 * HOLDS_MS)
  return {
    eligible(members, runId, task, attempt, revision) {
      if (declines.values.size === 0) return members
      const left = members.filter((each) => {
        const decline = declines.values.get(keyOf({ member: each, run_id: runId, task: taskName(task) }))
        return !decline || decline.attempt !== attempt || decline.revision !== revision || now() - decline.at > HOLDS_MS
      })
      return left.length > 0 ? left : members
    },
    decline(runId, task, attempt, revision) {
      const decline: Decline = { member, run_id: runId, task: taskName(task), attempt, revision, at: now() }
      declines.put(keyOf(decline), decline)
    },
    update() {
      for (const [key, decline] of declines.values) if (isOver(decline)) declines.remove(key)
      declines.write()
    },
    caughtUp: declines.caughtUp,
    close: declines.close,
  }
}
