/**
 * Membership in a consumer group without consuming: the client library joins, heartbeats and rejoins; we take assignments from it as
 * frozen values. Nothing else ever reads the client's current generation: for some milliseconds of each rebalance it shows the new
 * generation with the old partitions, and a commit made then would be accepted for somebody else's partition.
 */
import { Consumer, type ConnectionOptions } from '@platformatic/kafka'

/** What a member owns: valid from the join that gave it until the first heartbeat error or rejoin. */
export type Assignment = Readonly<{ memberId: string; generationId: number; partitions: readonly number[] }>

export type MembershipOptions = {
  brokers: string[]
  clientId: string
  groupId: string
  topic: string
  connection?: ConnectionOptions
  sessionTimeoutMs: number
  heartbeatMs: number
  onAssigned: (assignment: Assignment) => void
  /** The last assignment is void from now on. */
  onRevoked: (reason: string) => void
  onError: (error: Error) => void
}

export type Membership = { close(): Promise<void> }

/** Longest that a rebalance waits for a member that is alive but slow to come back. */
const REBALANCE_TIMEOUT_MS = 10_000

/** Joins the group and keeps the membership until closed. Resolves after the first join. */
export async function openMembership(options: MembershipOptions): Promise<Membership> {
  const consumer = new Consumer({
    ...options.connection,
    clientId: options.clientId,
    bootstrapBrokers: options.brokers,
    groupId: options.groupId,
    autocommit: false,
    retries: 5,
    retryDelay: 200,
  })
  consumer.topics.track(options.topic)
  let closed = false
  const revoke = (reason: string) => {
    if (!closed) options.onRevoked(reason)
  }
  consumer.on('consumer:group:join', ({ memberId, generationId, assignments }) => {
    if (closed || !memberId) return
    const partitions = assignments?.find(({ topic }) => topic === options.topic)?.partitions ?? []
    options.onAssigned(
      Object.freeze({ memberId, generationId: generationId ?? 0, partitions: Object.freeze(partitions.toSorted((a, b) => a - b)) }),
    )
  })
  consumer.on('consumer:group:rebalance', () => revoke('the group is rebalancing'))
  // A heartbeat error that wants no rejoin voids nothing: the library tries again, and a commit under a membership that is gone is
  // refused by the broker.
  consumer.on('consumer:heartbeat:stalled', () => {
    revoke('heartbeats stopped')
    join()
  })
  consumer.on('consumer:group:leave', () => revoke('left the group'))
  consumer.on('error', (error: Error) => {
    revoke(error.message)
    options.onError(error)
    // The library gives up after its retries; a member that should be there tries again.
    join()
  })

  const group = { sessionTimeout: options.sessionTimeoutMs, rebalanceTimeout: REBALANCE_TIMEOUT_MS, heartbeatInterval: options.heartbeatMs }
  let joining = false
  function join(): void {
    if (closed || joining) return
    joining = true
    setTimeout(() => {
      if (closed) return
      consumer.joinGroup({ ...group }).then(
        () => (joining = false),
        (error: unknown) => {
          joining = false
          options.onError(error instanceof Error ? error : new Error(String(error)))
          join()
        },
      )
    }, 1000)
  }

  await consumer.joinGroup({ ...group }).catch(async (error: unknown) => {
    closed = true
    await consumer.close(true).catch(() => {})
    throw error
  })
  return {
    async close() {
      closed = true
      await new Promise<void>((resolve) => consumer.leaveGroup(true, () => resolve()))
      await consumer.close(true).catch(() => {})
    },
  }
}
