/** The service's own topics take a record whatever the clock of its writer shows: a broker's default refuses more than an hour ahead. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createKafka, ensureServiceTopics, removeTopics, type KafkaAdmin } from '../../shared/kafka/admin/admin.ts'
import { appendRecords } from '../../shared/kafka/append.ts'
import { openCluster, type Cluster } from '../../shared/kafka/cluster.ts'
import { serviceNames } from '../../shared/model/definition.ts'
import { loggedIn, service, unique } from '../harness/client.ts'
import { connect } from '../harness/connectors.ts'

const DAY_MS = 86_400_000
let admin: KafkaAdmin
let cluster: Cluster
beforeAll(async () => {
  admin = createKafka(service().brokers, 'clock-ahead').admin()
  await admin.connect()
  cluster = openCluster({ brokers: service().brokers, clientId: 'clock-ahead' })
})
afterAll(async () => {
  await admin.disconnect()
  await cluster.close()
})

/** Writes to each topic as a processor does whose clock is a day ahead, and answers with those that refused. */
async function refusing(topics: readonly string[]): Promise<string[]> {
  const connections = cluster.openConnections('clock-ahead')
  const refused: string[] = []
  for (const topic of topics)
    await appendRecords(cluster, connections, topic, [{ key: 'k', value: Buffer.from('v') }], Date.now() + DAY_MS).catch((error: unknown) =>
      refused.push(`${topic}: ${String(error)}`),
    )
  await connections.close()
  return refused
}

it('the topics that all pipelines share take records of a processor whose clock is a day ahead', async () => {
  const { definitions, observed, fleet, ledger, logs } = serviceNames(unique('ahead'))
  const topics = { definitions, observed, fleet, ledger, logs }
  await ensureServiceTopics(admin, topics, 1)
  expect(await refusing(Object.values(topics))).toEqual([])
  await removeTopics(admin, Object.values(topics))
})

it('the topics of a pipeline take records of a processor whose clock is a day ahead', async () => {
  const { other } = service().accounts
  const names = serviceNames(service().env.DPS_PREFIX!)
  const source = { connector_id: 'conn_generator', config: { records_max: 1 } }
  const sink = { connector_id: 'conn_blackhole', config: {} }
  const id = await connect(await loggedIn(other), source, [], sink, { autostart: false })
  const topics = [names.intakeTopic, names.seenTopic, names.deadLetterTopic].map((nameOf) => nameOf(other.account_id, id))
  expect(await refusing(topics)).toEqual([])
})
