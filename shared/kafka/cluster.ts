/**
 * The data plane's access to the brokers: metadata, coordinators, and one connection per broker and purpose (answers on a connection
 * come in order, so a long-polling fetch never shares one with produces, nor one task's transaction with another's).
 * Only broker addresses are cached here; topic layouts and coordinators are looked up on every call.
 */
import {
  apiVersionsV4,
  ConnectionPool,
  findCoordinatorV6,
  initProducerIdV5,
  listOffsetsV9,
  metadataV12,
  offsetCommitV9,
  offsetFetchV9,
  type Connection,
  type ConnectionOptions,
} from '@platformatic/kafka'
import { ignoreLateErrors } from './late-errors.ts'
import { brokerErrorCode, isRetriable, KAFKA_ERRORS, kafkaErrorName } from './wire/error-codes.ts'

/** A topic's id (KIP-516) and the leader of each of its partitions. */
export type TopicLayout = {
  topic: string
  topicId: string
  /** Broker id of each partition's leader, by partition; -1 while it has none. */ leaders: number[]
}

/** A group's committed offset of one partition: the next offset to read, and the metadata committed with it. */
export type CommittedOffset = { offset: bigint; metadata: string }

/** How to reach a cluster: `brokers` are `host:port` of the bootstrap brokers, `now` returns milliseconds. */
export type ClusterOptions = {
  brokers: string[]
  clientId: string
  connection?: ConnectionOptions
  now: () => number
  /** Returns the host to connect to in place of a broker's host (bootstrap or from metadata); throws for a forbidden one. */
  resolveHost?: (host: string) => Promise<string>
}

/**
 * A request that gets no answer within this time fails, and its connection is closed. Well below the transaction timeout (15 s), and
 * above the time a broker may take for a produce request (`TIMEOUT_MS` in wire/produce.ts).
 */
const REQUEST_TIMEOUT_MS = 8000
const CONNECT_TIMEOUT_MS = 3000

/** Connections of one owner (a task, the data endpoint), which closes them. `leader` throws KafkaError for an unknown broker or -1. */
export type Connections = {
  leader(nodeId: number): Promise<Connection>
  close(): Promise<void>
}

const COORDINATOR_GROUP = 0
const COORDINATOR_TRANSACTION = 1
const LATEST = -1n
const EARLIEST = -2n

/** An open client of a cluster, see `openCluster`. */
export type Cluster = ReturnType<typeof openCluster>

type Address = { host: string; port: number }

/** A client of the cluster; it connects on first use. */
export function openCluster(options: ClusterOptions) {
  ignoreLateErrors()
  const bootstrap = options.brokers.map((broker): Address => {
    const at = broker.lastIndexOf(':')
    return { host: broker.slice(0, at), port: Number(broker.slice(at + 1)) }
  })
  const connectionOptions: ConnectionOptions = {
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectTimeout: CONNECT_TIMEOUT_MS,
    ...options.connection,
  }
  const pool = new ConnectionPool(options.clientId, connectionOptions)
  let addresses = new Map<number, Address>()

  async function resolved({ host, port }: Address): Promise<Address> {
    return { host: options.resolveHost ? await options.resolveHost(host) : host, port }
  }

  /** A connection to any broker that answers, for metadata and look-ups. */
  async function anyBroker(): Promise<Connection> {
    return pool.getFirstAvailable([...addresses.values(), ...(await Promise.all(bootstrap.map(resolved)))])
  }

  async function refreshAddresses(topics: string[]) {
    const answer = await metadataV12.api.async(await anyBroker(), topics, false, false).catch((error: unknown) => {
      // The library throws when one topic has an error, although the rest of the answer is valid.
      const { response } = error as { response?: Awaited<ReturnType<typeof metadataV12.api.async>> }
      if (!response) throw error
      return response
    })
    addresses = new Map(
      await Promise.all(answer.brokers.map(async ({ nodeId, host, port }) => [nodeId, await resolved({ host, port })] as const)),
    )
    return answer
  }

  async function addressOf(nodeId: number): Promise<Address> {
    if (!addresses.has(nodeId)) await refreshAddresses([])
    const address = addresses.get(nodeId)
    // -1 means no leader; metadata does not list a broker that is down.
    if (!address) throw new KafkaError(KAFKA_ERRORS.leaderNotAvailable)
    return address
  }

  async function coordinatorOf(type: number, key: string): Promise<number> {
    const answer = await retryBroker(async () => findCoordinatorV6.api.async(await anyBroker(), type, [key]))
    const coordinator = answer.coordinators[0]!
    addresses.set(coordinator.nodeId, await resolved(coordinator))
    return coordinator.nodeId
  }

  const cluster = {
    /** TLS and SASL, for clients that open their own connections. */
    connectionOptions: options.connection,

    openConnections(purpose: string): Connections {
      const own = new ConnectionPool(`${options.clientId}-${purpose}`, connectionOptions)
      return {
        leader: async (nodeId) => own.get(await addressOf(nodeId)),
        close: () => own.close(),
      }
    },

    /** A shared connection to any broker that answers; not for long polls. */
    anyConnection: anyBroker,

    /** The topic's id and partition leaders; undefined while the topic does not exist. */
    async describeTopic(topic: string): Promise<TopicLayout | undefined> {
      const answer = await refreshAddresses([topic])
      const found = answer.topics.find(({ name }) => name === topic)
      if (!found || found.errorCode === 3 || found.partitions.length === 0) return undefined
      const leaders: number[] = []
      for (const { partitionIndex, leaderId } of found.partitions) leaders[partitionIndex] = leaderId
      return { topic, topicId: found.topicId, leaders }
    },

    groupCoordinator: (groupId: string) => coordinatorOf(COORDINATOR_GROUP, groupId),
    transactionCoordinator: (transactionalId: string) => coordinatorOf(COORDINATOR_TRANSACTION, transactionalId),

    /** Level of a finalised cluster feature, 0 when the cluster does not have it (KIP-584). */
    async finalisedFeature(name: string): Promise<number> {
      const answer = await apiVersionsV4.api.async(await anyBroker(), 'dps', '1')
      return answer.finalizedFeatures?.find((feature) => feature.name === name)?.maxVersionLevel ?? 0
    },

    /**
     * Offsets by partition at read-committed: `earliest`, or `latest`, the end before open transactions; for a time in milliseconds, that
     * of the first record with this timestamp or a later one (-1 where there is none). `written` is the end including open transactions.
     */
    async offsets(
      layout: TopicLayout,
      partitions: number[],
      which: 'earliest' | 'latest' | 'written' | number,
    ): Promise<Map<number, bigint>> {
      const byLeader = Map.groupBy(partitions, (partition) => layout.leaders[partition]!)
      const found = new Map<number, bigint>()
      for (const [nodeId, owned] of byLeader) {
        const wanted = owned.map((partitionIndex) => ({
          partitionIndex,
          currentLeaderEpoch: -1,
          timestamp: which === 'earliest' ? EARLIEST : which === 'latest' || which === 'written' ? LATEST : BigInt(which),
        }))
        const answer = await retryBroker(async () =>
          listOffsetsV9.api.async(await pool.get(await addressOf(nodeId)), -1, which === 'written' ? 0 : 1, [
            { name: layout.topic, partitions: wanted },
          ]),
        )
        for (const { partitionIndex, offset } of answer.topics[0]?.partitions ?? []) found.set(partitionIndex, offset)
      }
      return found
    },

    /** Committed offsets by partition, once no open transaction can change them (KIP-447 `require_stable`). Missing ones are left out. */
    async committedOffsets(groupId: string, topic: string, partitions: number[]): Promise<Map<number, CommittedOffset>> {
      const answer = await retryBroker(async () => {
        const connection = await pool.get(await addressOf(await coordinatorOf(COORDINATOR_GROUP, groupId)))
        return offsetFetchV9.api.async(
          connection,
          [{ groupId, memberId: null, memberEpoch: -1, topics: [{ name: topic, partitionIndexes: partitions }] }],
          true,
        )
      })
      const found = new Map<number, CommittedOffset>()
      for (const { partitionIndex, committedOffset, metadata } of answer.groups[0]?.topics[0]?.partitions ?? []) {
        if (committedOffset >= 0n) found.set(partitionIndex, { offset: committedOffset, metadata: metadata ?? '' })
      }
      return found
    },

    /**
     * A producer's id and epoch; without a transactional id it is only idempotent (KIP-98). With (-1, -1) it takes over the transactional
     * id (a task's start). With its own id and epoch it continues, and is refused with producerFenced after a takeover (KIP-360).
     */
    async initProducer(
      connect: () => Promise<Connection>,
      transactionalId: string | null,
      timeoutMs: number,
      producerId = -1n,
      producerEpoch = -1,
    ): Promise<{ producerId: bigint; producerEpoch: number }> {
      const answer = await retryBroker(async () =>
        initProducerIdV5.api.async(await connect(), transactionalId, timeoutMs, producerId, producerEpoch),
      )
      return { producerId: answer.producerId, producerEpoch: answer.producerEpoch }
    },

    /**
     * Commits a start offset (from `start`, else the earliest) for every partition in which the group has none: a pipeline's start,
     * resolved once, while the group has no members. Partitions with a committed offset keep it.
     */
    async ensureStartOffsets(groupId: string, layout: TopicLayout, start?: ReadonlyMap<number, bigint>): Promise<void> {
      const partitions = layout.leaders.map((_, partition) => partition)
      const committed = await cluster.committedOffsets(groupId, layout.topic, partitions)
      const missing = partitions.filter((partition) => !committed.has(partition))
      if (missing.length === 0) return
      const earliest = await cluster.offsets(layout, missing, 'earliest')
      await cluster.commitFromOutside(
        groupId,
        layout.topic,
        new Map(missing.map((partition) => [partition, { offset: start?.get(partition) ?? earliest.get(partition) ?? 0n, metadata: '' }])),
      )
    },

    /** Commits offsets for a group without members; the broker refuses it while the group has any. */
    async commitFromOutside(groupId: string, topic: string, positions: ReadonlyMap<number, CommittedOffset>): Promise<void> {
      const offsets = [...positions].map(([partitionIndex, { offset, metadata }]) => ({
        partitionIndex,
        committedOffset: offset,
        committedLeaderEpoch: -1,
        committedMetadata: metadata,
      }))
      await retryBroker(async () => {
        const connection = await pool.get(await addressOf(await coordinatorOf(COORDINATOR_GROUP, groupId)))
        // Generation -1 and no member id: a commit by a non-member, accepted only while the group is empty.
        return offsetCommitV9.api.async(connection, groupId, -1, '', null, [{ name: topic, partitions: offsets }])
      })
    },

    close: () => pool.close(),
  }
  return cluster

  /** Retries retriable broker errors for up to 20 s. Throws KafkaError for a broker's error, any other error as it is. */
  async function retryBroker<T>(attempt: () => Promise<T>): Promise<T> {
    const deadline = options.now() + 20_000
    for (let waitMs = 10; ; waitMs = Math.min(waitMs * 2, 500)) {
      try {
        return await attempt()
      } catch (error) {
        const code = brokerErrorCode(error)
        if (code === undefined || !isRetriable(code) || options.now() > deadline) {
          throw code === undefined ? error : new KafkaError(code, error)
        }
        await new Promise((resolve) => setTimeout(resolve, waitMs))
      }
    }
  }
}

/** A broker's error answer; the message holds the code and its name. */
export class KafkaError extends Error {
  readonly code: number
  constructor(code: number, cause?: unknown) {
    super(kafkaErrorName(code), { cause })
    this.name = 'KafkaError'
    this.code = code
  }
}
