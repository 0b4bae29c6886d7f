/** Two processors that were given the same id take each other's tasks over without end: it must be said. */
import { expect, it } from 'vitest'
import { openFleet } from '../../services/processor/supervisor/fleet.ts'
import { openCluster } from '../../shared/kafka/cluster.ts'
import { eventually, service } from '../harness/client.ts'
import { createTopic } from '../harness/conformance.ts'
import kafkajs from 'kafkajs'

it('says that another processor has the same id, once, and nothing of one that has another', async () => {
  const { brokers } = service()
  const name = await createTopic(new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING }), 1)
  const said: string[] = []
  const opened = await Promise.all(
    ['twin', 'twin', 'other'].map(async (id) => {
      const processorId = `${id}-${name}`
      const cluster = openCluster({ brokers, clientId: processorId })
      const onError = (error: Error) => void said.push(`${id}: ${error.message}`)
      const fleet = await openFleet({ cluster, brokers, name, processorId, sessionTimeoutMs: 6000, onChange: () => {}, onError })
      return { fleet, cluster }
    }),
  )
  try {
    await eventually('both twins say it', async () => said.filter((each) => each.includes('PROCESSOR_ID')).length >= 2, 40_000)
    await new Promise((resolve) => setTimeout(resolve, 3000))
    const message = `twin: another processor has the PROCESSOR_ID twin-${name} too, and takes over what runs here: give it its own`
    expect(said.filter((each) => each.includes('PROCESSOR_ID'))).toEqual([message, message])
  } finally {
    for (const { fleet, cluster } of opened) {
      await fleet.close()
      await cluster.close()
    }
  }
})
