/** Settings of topics: of those that this service did not create, and the one that it changes of its own. */
import { incrementalAlterConfigsV1, type Connection } from '../client-library.ts'
import kafkajs from 'kafkajs'
import type { KafkaAdmin } from './admin.ts'

/** A topic's retention in milliseconds, its largest batch in bytes, and whether it is compacted. */
export type TopicConfig = { retention_ms: number; batch_bytes_max: number; is_compacted: boolean }

/** The topic's settings from the broker. Throws an Error when it reports no `retention.ms` or `max.message.bytes`. */
export async function describeTopicConfig(admin: KafkaAdmin, topic: string): Promise<TopicConfig> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [
      { type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames: ['retention.ms', 'max.message.bytes', 'cleanup.policy'] },
    ],
  })
  const entryOf = (name: string): string | undefined =>
    resources[0]?.configEntries.find(({ configName }) => configName === name)?.configValue
  const numberOf = (name: string): number => {
    const value = Number(entryOf(name))
    if (!Number.isFinite(value)) throw new Error(`the broker does not report ${name} of the topic`)
    return value
  }
  return {
    retention_ms: numberOf('retention.ms'),
    batch_bytes_max: numberOf('max.message.bytes'),
    is_compacted: (entryOf('cleanup.policy') ?? '').includes('compact'),
  }
}

const TOPIC = 2
const SET = 0

/** Sets the topic's `max.message.bytes`, and nothing else. Throws the broker's error, as where the topic does not exist. */
export async function setBatchBytesMax(connection: Connection, topic: string, bytes: number): Promise<void> {
  const configs = [{ name: 'max.message.bytes', configOperation: SET, value: String(bytes) } as const]
  await incrementalAlterConfigsV1.api.async(connection, [{ resourceType: TOPIC, resourceName: topic, configs }], false)
}
