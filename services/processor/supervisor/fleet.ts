/**
 * The fleet: the live processors, which are the members of one consumer group. A view of the group counts only while the group is Stable
 * and contains this processor; otherwise the last view stands. Two processors may then briefly run the same task: fencing makes that safe.
 */
import { describeGroupsV5 } from '../../../shared/kafka/client-library.ts'
import type { Cluster } from '../../../shared/kafka/cluster.ts'
import { openMembership } from '../../../shared/kafka/membership.ts'
import { singleRun } from './single-run.ts'

export type Fleet = {
  /** Ids of the processors in the last stable view. */
  members(): readonly string[]
  /** Whether Kafka has answered a look at the group lately. */
  isCurrent(): boolean
  close(): Promise<void>
}

export type FleetOptions = {
  cluster: Cluster
  brokers: string[]
  /** Both the group id and the name of its topic, which has one partition. */
  name: string
  processorId: string
  sessionTimeoutMs: number
  onChange: () => void
  onError: (error: Error) => void
}

const VIEW_INTERVAL_MS = 2000
/** Looks may take a while on a busy machine, and one may fail. */
const CURRENT_MS = 10_000
/** So many sessions may pass before a member that has ended is out of the group. */
const SESSIONS_PASSED = 2

export async function openFleet(options: FleetOptions): Promise<Fleet> {
  const { cluster, name, processorId } = options
  const connections = cluster.openConnections('fleet')
  let members: readonly string[] = []
  let closed = false
  let answeredAt = performance.now()
  /** Since when another member has this processor's id, and whether that was reported. */
  let twin: { since: number; isReported: boolean } | undefined

  /** After a restart under a set id the processor before may still be in the group; one that stays there is another one. */
  function lookForTwin(alive: readonly string[]): void {
    if (alive.filter((id) => id === processorId).length < 2) return void (twin = undefined)
    twin ??= { since: performance.now(), isReported: false }
    if (twin.isReported || performance.now() - twin.since < SESSIONS_PASSED * options.sessionTimeoutMs) return
    twin.isReported = true
    options.onError(new Error(`another processor has the PROCESSOR_ID ${processorId} too, and takes over what runs here: give it its own`))
  }

  const { run: look, last } = singleRun(async () => {
    if (closed) return
    const connection = await connections.leader(await cluster.groupCoordinator(name))
    const answer = await describeGroupsV5.api.async(connection, [name], false)
    answeredAt = performance.now()
    const group = answer.groups[0]
    // Processors use their id as client id, because DescribeGroups shows that of each member.
    const alive = group?.members.map(({ clientId }) => clientId) ?? []
    if (group?.groupState !== 'Stable' || !alive.includes(processorId)) return
    lookForTwin(alive)
    const next = [...new Set(alive)].sort()
    if (next.join() === members.join()) return
    members = next
    options.onChange()
  }, options.onError)

  const membership = await openMembership({
    brokers: options.brokers,
    clientId: processorId,
    groupId: name,
    topic: name,
    connection: cluster.connectionOptions,
    sessionTimeoutMs: options.sessionTimeoutMs,
    heartbeatMs: Math.min(300, Math.floor(options.sessionTimeoutMs / 6)),
    onAssigned: () => void setTimeout(() => void look(), 50),
    onRevoked: () => {},
    onError: options.onError,
  })
  const timer = setInterval(() => void look(), VIEW_INTERVAL_MS)
  void look()
  return {
    members: () => members,
    isCurrent: () => performance.now() - answeredAt < CURRENT_MS,
    async close() {
      closed = true
      clearInterval(timer)
      await last()
      await membership.close()
      await connections.close().catch(() => {})
    },
  }
}
