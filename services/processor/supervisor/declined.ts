/**
 * Tasks that a member of the fleet could not start. The member declines on `dps.fleet`, and the next member in hash order takes the task.
 * A decline holds for five minutes, and only for that attempt and revision. Once all members have declined a task, all may try again.
 */
import { z } from 'zod'
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import { appendRecords } from '../../../shared/kafka/append.ts'
import { parseJson } from '../../../shared/kafka/parse-json.ts'
import { taskName, type TaskId } from '../../../shared/model/task.ts'
import { followTopic } from '../../../shared/kafka/follow.ts'

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
  decline(runId: string, task: TaskId, attempt: number, revision: number): Promise<void>
  caughtUp: Promise<void>
  close(): Promise<void>
}

const HOLDS_MS = 5 * 60_000

export function openDeclined(
  cluster: Cluster,
  topic: string,
  member: string,
  now: () => number,
  onChange: () => void,
  onError: (error: Error) => void,
): Declined {
  const declines = new Map<string, Decline>()
  const connections = cluster.openConnections('declined')
  const keyOf = (decline: Pick<Decline, 'member' | 'run_id' | 'task'>) => `declined/${decline.run_id}/${decline.task}/${decline.member}`
  const following = followTopic({
    cluster,
    topic,
    purpose: 'fleet-declines',
    from: 0n,
    onRecords(records) {
      for (const { key, value } of records) {
        const decline = Decline.safeParse(parseJson(value))
        if (decline.success) declines.set(key, decline.data)
        else declines.delete(key)
      }
      for (const [key, { at }] of declines) if (now() - at > HOLDS_MS) declines.delete(key)
      onChange()
    },
    onError,
  })
  return {
    caughtUp: following.caughtUp,
    eligible(members, runId, task, attempt, revision) {
      if (declines.size === 0) return members
      const left = members.filter((each) => {
        const decline = declines.get(keyOf({ member: each, run_id: runId, task: taskName(task) }))
        return !decline || decline.attempt !== attempt || decline.revision !== revision || now() - decline.at > HOLDS_MS
      })
      return left.length > 0 ? left : members
    },
    async decline(runId, task, attempt, revision) {
      const decline: Decline = { member, run_id: runId, task: taskName(task), attempt, revision, at: now() }
      declines.set(keyOf(decline), decline)
      await appendRecords(cluster, connections, topic, [{ key: keyOf(decline), value: Buffer.from(JSON.stringify(decline)) }], now())
    },
    async close() {
      await following.close()
      await connections.close().catch(() => {})
    },
  }
}
