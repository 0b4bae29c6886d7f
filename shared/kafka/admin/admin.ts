/** Administration of the cluster through kafkajs: topics, groups, offsets. Every function may be repeated without harm. */
import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Admin, type Kafka } from 'kafkajs'
import type { KafkaSecurity } from './security.ts'

export type KafkaAdmin = Admin

const TOPIC_EXISTS = 'TOPIC_ALREADY_EXISTS'
const UNKNOWN_TOPIC = 'UNKNOWN_TOPIC_OR_PARTITION'
const LEADER_NOT_AVAILABLE = 'LEADER_NOT_AVAILABLE'

/** A kafkajs client; it connects lazily and gives up after a few seconds, so that a dead cluster becomes a 503 and not a hang. */
export function createKafka(brokers: string[], clientId: string, security: KafkaSecurity['kafkajs'] = {}): Kafka {
  return new kafkajs.Kafka({
    clientId,
    brokers,
    logLevel: kafkajs.logLevel.NOTHING,
    connectionTimeout: 3000,
    requestTimeout: 10_000,
    ...security,
    retry: { retries: 3, initialRetryTime: 200, maxRetryTime: 1000 },
  })
}

/** Error type of the broker's answer inside a kafkajs error, also where several topics were asked for. */
export function errorTypes(error: unknown): string[] {
  if (typeof error !== 'object' || error === null) return []
  const { type, errors, cause } = error as { type?: unknown; errors?: unknown; cause?: unknown }
  const nested = Array.isArray(errors) ? errors.flatMap(errorTypes) : []
  return [...(typeof type === 'string' ? [type] : []), ...nested, ...(cause === undefined ? [] : errorTypes(cause))]
}

export type TopicSpec = { topic: string; partitions: number; replicationFactor: number; config?: Record<string, string> }

const LEADERS_MS = 8000
const LEARNT_AFTER_MS = 20

/** Until the brokers know the topic and who leads its partitions: one that was asked too early says that it does not exist. */
async function waitForLeaders(admin: KafkaAdmin, topic: string): Promise<void> {
  // A broker knows of it a moment after the controller; one that is asked before costs kafkajs's own, longer wait.
  await sleep(LEARNT_AFTER_MS)
  for (const deadline = Date.now() + LEADERS_MS; ; await sleep(100)) {
    try {
      const [found] = (await admin.fetchTopicMetadata({ topics: [topic] })).topics
      if (found?.partitions.every(({ leader }) => leader >= 0)) return
    } catch (error) {
      const types = errorTypes(error)
      if (!types.includes(UNKNOWN_TOPIC) && !types.includes(LEADER_NOT_AVAILABLE)) throw error
    }
    if (Date.now() > deadline) throw new kafkajs.KafkaJSError(`the topic ${topic} has no leaders after ${LEADERS_MS / 1000} s`)
  }
}

/** Makes the topics that do not exist yet, and waits until they can be used. */
export async function ensureTopics(admin: KafkaAdmin, topics: TopicSpec[]): Promise<void> {
  for (const { topic, partitions, replicationFactor, config } of topics) {
    try {
      await admin.createTopics({
        // kafkajs's own way of waiting gives up at a broker that has not heard of the topic yet.
        waitForLeaders: false,
        timeout: 8000,
        topics: [
          {
            topic,
            numPartitions: partitions,
            replicationFactor,
            configEntries: Object.entries(config ?? {}).map(([name, value]) => ({ name, value })),
          },
        ],
      })
    } catch (error) {
      if (!errorTypes(error).includes(TOPIC_EXISTS)) throw error
    }
    await waitForLeaders(admin, topic)
  }
}

/** Deletes topics that may already be gone. */
export async function removeTopics(admin: KafkaAdmin, topics: string[]): Promise<void> {
  for (const topic of topics) {
    try {
      await admin.deleteTopics({ topics: [topic], timeout: 8000 })
    } catch (error) {
      if (!errorTypes(error).includes(UNKNOWN_TOPIC)) throw error
    }
  }
}

/** The service's own topics: definitions and observations (compacted), and the one that the fleet's group stands on. */
export async function ensureServiceTopics(
  admin: KafkaAdmin,
  names: { definitions: string; observed: string; fleet: string; ledger: string },
  replicationFactor: number,
): Promise<void> {
  const compacted = { 'cleanup.policy': 'compact', 'max.message.bytes': String(16 << 20) }
  await ensureTopics(admin, [
    { topic: names.definitions, partitions: 1, replicationFactor, config: compacted },
    { topic: names.observed, partitions: 1, replicationFactor, config: { 'cleanup.policy': 'compact', 'segment.ms': '600000' } },
    { topic: names.fleet, partitions: 1, replicationFactor, config: compacted },
    { topic: names.ledger, partitions: 1, replicationFactor, config: compacted },
  ])
}

/** True while anybody is in the group. */
export async function hasMembers(admin: KafkaAdmin, groupId: string): Promise<boolean> {
  const { groups } = await admin.describeGroups([groupId])
  return (groups[0]?.members.length ?? 0) > 0
}

/** Deletes a group that may already be gone. */
export async function removeGroup(admin: KafkaAdmin, groupId: string): Promise<void> {
  try {
    await admin.deleteGroups([groupId])
  } catch (error) {
    if (!errorTypes(error).some((type) => type === 'GROUP_ID_NOT_FOUND')) {
      const groups = (error as { groups?: { errorCode?: number }[] }).groups
      // 69: the group id does not exist.
      if (!groups?.every(({ errorCode }) => errorCode === 69)) throw error
    }
  }
}
