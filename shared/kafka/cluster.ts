/**
 * Access to the brokers for both services, as raw requests: metadata, coordinators, and one connection per broker and purpose (answers on
 * a connection come in order, so a long-polling fetch never shares one with produces, nor one task's transaction with another's).
 * Topic layouts and coordinators are looked up on every call.
 */
import { apiVersionsV4, initProducerIdV5, listOffsetsV9, type Connection } from './client-library.ts'
import { COORDINATOR_GROUP, COORDINATOR_TRANSACTION, openBrokers, type ClusterOptions } from './brokers.ts'
import { openGroupOffsets } from './group-offsets.ts'
import { KafkaError } from './kafka-error.ts'
import { brokerErrorCode, hasMoved } from './wire/error-codes.ts'

/** A topic's id (KIP-516) and the leader of each of its partitions. */
export type TopicLayout = {
  topic: string
  topicId: string
  /** Broker id of each partition's leader, by partition; -1 while it has none. */
  leaders: number[]
}

/** Connections of one owner (a task, the data endpoint), which closes them. `leader` throws KafkaError for an unknown broker or -1. */
export type Connections = {
  leader(nodeId: number): Promise<Connection>
  close(): Promise<void>
}

const LATEST = -1n
const EARLIEST = -2n

/** By partition: they are 0 and what follows it. An account's broker may tell of others, and a list by partition would never end. */
function leadersIn(topic: string, partitions: readonly { partitionIndex: number; leaderId: number }[]): number[] {
  const leaders = Array.from(partitions, () => -1)
  for (const { partitionIndex, leaderId } of partitions) {
    if (partitionIndex < 0 || partitionIndex >= leaders.length)
      throw new Error(`the broker answers that ${topic} has ${leaders.length} partitions, and a partition ${partitionIndex}`)
    leaders[partitionIndex] = leaderId
  }
  return leaders
}

/** An open client of a cluster, see `openCluster`. */
export type Cluster = ReturnType<typeof openCluster>

/** A client of the cluster; it connects on first use. */
export function openCluster(options: ClusterOptions) {
  const brokers = openBrokers(options)
  const groups = openGroupOffsets(brokers)

  const cluster = {
    ...groups,

    /** TLS and SASL, for clients that open their own connections. */
    connectionOptions: options.connection,

    openConnections: (purpose: string): Connections => brokers.openPool(purpose),

    /** A shared connection to any broker that answers; not for long polls. */
    anyConnection: brokers.anyBroker,

    /** The topic's id and partition leaders; undefined while the topic does not exist. Throws an Error for an answer that can't be. */
    async describeTopic(topic: string): Promise<TopicLayout | undefined> {
      const answer = await brokers.metadataOf([topic])
      const found = answer.topics.find(({ name }) => name === topic)
      if (!found || found.errorCode === 3 || found.partitions.length === 0) return undefined
      return { topic, topicId: found.topicId, leaders: leadersIn(topic, found.partitions) }
    },

    groupCoordinator: (groupId: string) => brokers.coordinatorOf(COORDINATOR_GROUP, groupId),
    transactionCoordinator: (transactionalId: string) => brokers.coordinatorOf(COORDINATOR_TRANSACTION, transactionalId),

    /** Level of a finalised cluster feature, 0 when the cluster does not have it (KIP-584). */
    async finalisedFeature(name: string): Promise<number> {
      const answer = await apiVersionsV4.api.async(await brokers.anyBroker(), 'dps', '1')
      return answer.finalizedFeatures?.find((feature) => feature.name === name)?.maxVersionLevel ?? 0
    },

    /**
     * Offsets by partition at read-committed: `earliest`, or `latest`, the end before open transactions; for a time in milliseconds, that
     * of the first record with this timestamp or a later one (-1 where there is none). `written` is the end including open transactions.
     * Where the leaders have changed since the layout was taken, the new ones are asked; throws KafkaError where a partition has none.
     */
    async offsets(
      layout: TopicLayout,
      partitions: number[],
      which: 'earliest' | 'latest' | 'written' | number,
    ): Promise<Map<number, bigint>> {
      const found = new Map<number, bigint>()
      const timestamp = which === 'earliest' ? EARLIEST : which === 'latest' || which === 'written' ? LATEST : BigInt(which)
      const isolation = which === 'written' ? 0 : 1
      let { leaders } = layout
      const askLeaders = async () => {
        const missing = partitions.filter((partition) => !found.has(partition))
        for (const [nodeId, owned] of Map.groupBy(missing, (partition) => leaders[partition] ?? -1)) {
          const wanted = owned.map((partitionIndex) => ({ partitionIndex, currentLeaderEpoch: -1, timestamp }))
          const topics = [{ name: layout.topic, partitions: wanted }]
          const answer = await listOffsetsV9.api.async(await brokers.connectionTo(nodeId), -1, isolation, topics)
          for (const { partitionIndex, offset } of answer.topics[0]?.partitions ?? []) found.set(partitionIndex, offset)
        }
      }
      await brokers.retry(async () => {
        try {
          await askLeaders()
        } catch (error) {
          const code = error instanceof KafkaError ? error.code : brokerErrorCode(error)
          if (code === undefined || !hasMoved(code)) throw error
          // The layout may be older than a change of leaders: the same broker would only refuse again.
          const before = leaders
          leaders = (await cluster.describeTopic(layout.topic))?.leaders ?? before
          if (partitions.every((partition) => leaders[partition] === before[partition])) throw error
          await askLeaders()
        }
      })
      return found
    },

    /** From where to where, at read-committed, each of the partitions has records: by default all of the topic. */
    async bounds(layout: TopicLayout, partitions = [...layout.leaders.keys()]): Promise<Map<number, { start: bigint; end: bigint }>> {
      const [starts, ends] = await Promise.all([
        cluster.offsets(layout, partitions, 'earliest'),
        cluster.offsets(layout, partitions, 'latest'),
      ])
      return new Map(partitions.map((each) => [each, { start: starts.get(each) ?? 0n, end: ends.get(each) ?? 0n }]))
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
      const answer = await brokers.retry(async () =>
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

    close: brokers.close,
  }
  return cluster
}
