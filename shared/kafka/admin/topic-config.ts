/** Settings of a topic that somebody else made. */
import kafkajs from 'kafkajs'
import type { KafkaAdmin } from './admin.ts'

export async function describeTopicConfig(admin: KafkaAdmin, topic: string): Promise<{ retention_ms: number; batch_bytes_max: number }> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames: ['retention.ms', 'max.message.bytes'] }],
  })
  const valueOf = (name: string): number => {
    const value = Number(resources[0]?.configEntries.find(({ configName }) => configName === name)?.configValue)
    if (!Number.isFinite(value)) throw new Error(`the broker does not tell ${name} of the topic`)
    return value
  }
  return { retention_ms: valueOf('retention.ms'), batch_bytes_max: valueOf('max.message.bytes') }
}
