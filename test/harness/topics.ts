/** Topics that tests make and delete as other clients do, with kafkajs. */
import type kafkajs from 'kafkajs'
import { waitForLeaders, type KafkaAdmin } from '../../shared/kafka/admin/admin.ts'
import { eventually } from './client.ts'

/** Tests write records with times of their own, and a broker deletes what is older than a week, whenever it was written. */
const KEPT = { name: 'retention.ms', value: '-1' }

/**
 * Creates topics, which keep their records unless their config says otherwise, and waits until their partitions have leaders. kafkajs's own
 * wait gives up when a broker that is slow to learn of a topic answers that it does not host it.
 */
export async function makeTopics(admin: KafkaAdmin, ...topics: kafkajs.ITopicConfig[]): Promise<void> {
  const kept = topics.map((each) => ({ ...each, configEntries: withRetention(each.configEntries ?? []) }))
  await admin.createTopics({ topics: kept, waitForLeaders: false })
  for (const { topic } of topics) await waitForLeaders(admin, topic)
}

const withRetention = (entries: kafkajs.IResourceConfigEntry[]): kafkajs.IResourceConfigEntry[] =>
  entries.some(({ name }) => name === KEPT.name) ? entries : [KEPT, ...entries]

/** Deletes a topic and waits until its name is free. */
export async function deleteTopic(admin: KafkaAdmin, topic: string): Promise<void> {
  await admin.deleteTopics({ topics: [topic] })
  await eventually('the topic is gone', async () => !(await admin.listTopics()).includes(topic))
}

/** Deletes a topic and makes one of one partition with the same name, with another topic id and without its records. */
export async function recreateTopic(admin: KafkaAdmin, topic: string): Promise<void> {
  await deleteTopic(admin, topic)
  await makeTopics(admin, { topic, numPartitions: 1 })
}
