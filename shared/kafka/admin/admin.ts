/** Cluster administration through kafkajs: topics and groups. Every function is safe to repeat. */
import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Admin, type Kafka } from 'kafkajs'
import { stopIdleTimers } from './idle-timers.ts'
import type { KafkaSecurity } from './security.ts'

/** The kafkajs admin client. */
export type KafkaAdmin = Admin

const TOPIC_EXISTS = 'TOPIC_ALREADY_EXISTS'
const UNKNOWN_TOPIC = 'UNKNOWN_TOPIC_OR_PARTITION'
const LEADER_NOT_AVAILABLE = 'LEADER_NOT_AVAILABLE'

/** A kafkajs client; it connects lazily and gives up after a few seconds, so that a dead cluster leads to a 503 and not to a hang. */
export function createKafka(brokers: string[], clientId: string, security: KafkaSecurity['kafkajs'] = {}): Kafka {
  stopIdleTimers()
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

/** The broker's error types in a kafkajs error, its nested errors and its cause; empty for anything else. */
function errorTypes(error: unknown): string[] {
  if (typeof error !== 'object' || error === null) return []
  const { type, errors, cause } = error as { type?: unknown; errors?: unknown; cause?: unknown }
  const nested = Array.isArray(errors) ? errors.flatMap(errorTypes) : []
  return [...(typeof type === 'string' ? [type] : []), ...nested, ...(cause === undefined ? [] : errorTypes(cause))]
}

/** A topic to create; `config` holds Kafka's topic settings by name. */
export type TopicSpec = { topic: string; partitions: number; replicationFactor: number; config?: Record<string, string> }

const LEADERS_MS = 8000
const LEARNT_AFTER_MS = 20

/**
 * Waits until all partitions of a topic have a leader: a broker that is asked too early answers that the topic does not exist. Throws
 * KafkaJSError when one has none after 8 s.
 */
export async function waitForLeaders(admin: KafkaAdmin, topic: string): Promise<void> {
  // A broker learns of the topic a moment after the controller; asking earlier costs kafkajs's own, longer retry wait.
  await sleep(LEARNT_AFTER_MS)
  for (const deadline = performance.now() + LEADERS_MS; ; await sleep(100)) {
    try {
      const [found] = (await admin.fetchTopicMetadata({ topics: [topic] })).topics
      if (found?.partitions.every(({ leader }) => leader >= 0)) return
    } catch (error) {
      const types = errorTypes(error)
      if (!types.includes(UNKNOWN_TOPIC) && !types.includes(LEADER_NOT_AVAILABLE)) throw error
    }
    if (performance.now() > deadline) throw new kafkajs.KafkaJSError(`the topic ${topic} has no leaders after ${LEADERS_MS / 1000} s`)
  }
}

/** Creates the topics that do not exist and waits until each has leaders. Throws KafkaJSError when one has none after 8 s. */
export async function ensureTopics(admin: KafkaAdmin, topics: TopicSpec[]): Promise<void> {
  for (const { topic, partitions, replicationFactor, config } of topics) {
    try {
      await admin.createTopics({
        // kafkajs's own wait fails when a broker does not know the topic yet.
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

/** The largest number of milliseconds that Kafka takes. */
const ANY_MS = '9223372036854775807'
/**
 * For the service's own topics: they take a record whatever the clock of its writer shows. A broker refuses more than an hour ahead of its
 * own by default, and pipelines would fail for the clock of the machine that they run on. Only a stream's topic has limits, as its
 * records' times are those of users.
 */
export const ANY_TIME = { 'message.timestamp.before.max.ms': ANY_MS, 'message.timestamp.after.max.ms': ANY_MS }

/** Lines of pipelines are kept for a day, the newest of them where there are many; every control plane reads what is there at its start. */
const LOGS = { 'retention.ms': String(86_400_000), 'retention.bytes': String(32 << 20), 'segment.bytes': String(8 << 20) }

/**
 * Creates the service's own topics, with one partition each: definitions, observations, the fleet's group topic and the ledger, which are
 * compacted, and the pipelines' logs.
 */
export async function ensureServiceTopics(
  admin: KafkaAdmin,
  names: { definitions: string; observed: string; fleet: string; ledger: string; logs: string },
  replicationFactor: number,
): Promise<void> {
  const compacted = { 'cleanup.policy': 'compact', 'max.message.bytes': String(16 << 20) }
  // A report of a task of 512 partitions and 16 steps has nearly a megabyte. A segment that begins with a report from the future does not
  // end by its age, and an open segment is not compacted.
  const observed = { ...compacted, 'max.message.bytes': String(4 << 20), 'segment.ms': '600000', 'segment.bytes': String(64 << 20) }
  const topics: [topic: string, config: Record<string, string>][] = [
    [names.definitions, compacted],
    [names.observed, observed],
    [names.fleet, compacted],
    [names.ledger, compacted],
    [names.logs, LOGS],
  ]
  await ensureTopics(
    admin,
    topics.map(([topic, config]) => ({ topic, partitions: 1, replicationFactor, config: { ...config, ...ANY_TIME } })),
  )
}

/** True while the group has at least one member. */
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
