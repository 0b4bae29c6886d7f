/**
 * Membership in a consumer group without consuming: the client library joins, heartbeats and rejoins; its assignments are taken as
 * frozen values. No other code reads the client's current generation: for some milliseconds of each rebalance it shows the new
 * generation with the old partitions, and a commit made then would be accepted for another member's partition.
 */
import { Consumer, type ConnectionOptions } from './client-library.ts'
import { errorOf } from '../errors/reason-of.ts'

/** The partitions a member owns in one generation: valid until `onRevoked` is called or the next assignment arrives. */
export type Assignment = Readonly<{ memberId: string; generationId: number; partitions: readonly number[] }>

/** The group to join for `topic`, its timing, and the callbacks that follow the membership. */
export type MembershipOptions = {
  brokers: string[]
  clientId: string
  groupId: string
  topic: string
  connection?: ConnectionOptions
  sessionTimeoutMs: number
  heartbeatMs: number
  onAssigned: (assignment: Assignment) => void
  /** Called when the last assignment becomes void. */
  onRevoked: (reason: string) => void
  onError: (error: Error) => void
}

/** An open membership; `close` leaves the group. */
export type Membership = { close(): Promise<void> }

/** How long a rebalance waits for a live member that is slow to rejoin. */
const REBALANCE_TIMEOUT_MS = 10_000

/** A membership that is kept until closed; resolves after the first join, rejects when that fails. */
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
  // A heartbeat error that requires no rejoin voids nothing: the library tries again, and the broker refuses a commit made under a
  // membership that has ended.
  consumer.on('consumer:heartbeat:stalled', () => {
    revoke('heartbeats stopped')
    join()
  })
  consumer.on('consumer:group:leave', () => revoke('left the group'))
  consumer.on('error', (error: Error) => {
    revoke(error.message)
    options.onError(error)
    // The library gives up after its retries; while the membership is open, join again.
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
          options.onError(errorOf(error))
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
