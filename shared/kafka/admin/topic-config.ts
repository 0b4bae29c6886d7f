/** Settings of a topic that somebody else made. */
import kafkajs from 'kafkajs'
import type { KafkaAdmin } from './admin.ts'

export type TopicConfig = { retention_ms: number; batch_bytes_max: number; is_compacted: boolean }

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
    if (!Number.isFinite(value)) throw new Error(`the broker does not tell ${name} of the topic`)
    return value
  }
  return {
    retention_ms: numberOf('retention.ms'),
    batch_bytes_max: numberOf('max.message.bytes'),
    is_compacted: (entryOf('cleanup.policy') ?? '').includes('compact'),
  }
}
