/** Records that the generator makes, and how the intake topic that they pass is trimmed. */
import { beforeAll, describe, expect, it } from 'vitest'
import { trimIntake } from '../../services/control-plane/upkeep/trim-intakes.ts'
import { createKafka } from '../../shared/kafka/admin/admin.ts'
import { openCluster } from '../../shared/kafka/cluster.ts'
import { serviceNames } from '../../shared/model/definition.ts'
import { eventually, loggedIn, service, type Client } from '../harness/client.ts'
import { connect, stream } from '../harness/connectors.ts'
import { createStream, readAll, waitForStatus, waitForTotal } from '../harness/pipelines.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.other)
})

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => ({ n: from + index }))

describe('the generator', () => {
  it('makes exactly records_max records, each once, even when it is paused and resumed', async () => {
    const to = await createStream(client, { n: 'integer', text: 'string' })
    const id = await connect(
      client,
      { connector_id: 'conn_generator', config: { records_per_second: 2000, records_max: 5000, seed: 7 } },
      [],
      stream(to.id),
    )
    await waitForTotal(client, to.id, 500)
    expect((await client.call('POST', `/v1/pipelines/${id}/pause`)).status).toBe(200)
    await waitForStatus(client, id, 'paused')
    expect((await client.call('POST', `/v1/pipelines/${id}/resume`)).status).toBe(200)
    await waitForTotal(client, to.id, 5000)
    const all = (await readAll(client, to.id)).map(({ n }) => n as number).sort((a, b) => a - b)
    expect(all).toEqual(numbers(0, 5000).map(({ n }) => n))
  })

  it('feeds a blackhole, and every record is accounted for', async () => {
    const id = await connect(client, { connector_id: 'conn_generator', config: { records_per_second: 5000, records_max: 2000 } }, [], {
      connector_id: 'conn_blackhole',
      config: {},
    })
    await eventually('every record is accounted for', async () => {
      const { body } = await client.call<{ totals: { out: number } }>('GET', `/v1/pipelines/${id}/accounting`)
      return body.totals?.out === 2000
    })
  })
})

describe('an intake topic', () => {
  it('is trimmed only of records that are both handled and old', async () => {
    const id = await connect(client, { connector_id: 'conn_generator', config: { records_per_second: 5000, records_max: 400 } }, [], {
      connector_id: 'conn_blackhole',
      config: {},
    })
    await eventually('everything was handled', async () => {
      const { body } = await client.call<{ totals: { out: number } }>('GET', `/v1/pipelines/${id}/accounting`)
      return body.totals?.out === 400
    })
    const names = serviceNames(service().env.DPS_PREFIX!)
    const [groupId, topic] = [names.runGroup(id), names.intakeTopic(service().accounts.other.account_id, id)]
    const cluster = openCluster({ brokers: service().brokers, clientId: 'trim' })
    const admin = createKafka(service().brokers, 'trim').admin()
    await admin.connect()
    const withAdmin = async <T>(work: (client: typeof admin) => Promise<T>) => work(admin)
    const layout = (await cluster.describeTopic(topic))!
    const partitions = [...layout.leaders.keys()]
    const left = async () => {
      const [starts, ends] = [await cluster.offsets(layout, partitions, 'earliest'), await cluster.offsets(layout, partitions, 'latest')]
      return partitions.reduce((sum, each) => sum + Number(ends.get(each)! - starts.get(each)!), 0)
    }
    const before = await left()
    expect(before).toBeGreaterThanOrEqual(400)
    await trimIntake({ cluster, withAdmin }, groupId, topic, Date.now() - 3_600_000)
    expect(await left()).toBe(before)
    await trimIntake({ cluster, withAdmin }, groupId, topic, Date.now() + 3_600_000)
    // Transaction markers after the last committed offset may stay.
    expect(await left()).toBeLessThanOrEqual(partitions.length)
    await admin.disconnect()
    await cluster.close()
  })
})
