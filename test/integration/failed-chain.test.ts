/** A pipeline whose chain has failed: its source is not read on into a topic that keeps everything. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openCluster, type Cluster } from '../../shared/kafka/cluster.ts'
import { serviceNames } from '../../shared/model/definition.ts'
import { eventually, loggedIn, service, type Client } from '../harness/client.ts'
import { connect } from '../harness/connectors.ts'
import { deployModule, filterOverN } from '../harness/modules.ts'
import { waitForStatus } from '../harness/pipelines.ts'
import { killProcessors } from '../harness/processes.ts'

let client: Client
let cluster: Cluster
beforeAll(async () => {
  client = await loggedIn(service().accounts.other)
  cluster = openCluster({ brokers: service().brokers, clientId: 'failed-chain' })
})
afterAll(() => cluster.close())

/** How many offsets the pipeline's intake has written. */
async function writtenBy(id: string): Promise<number> {
  const topic = serviceNames(service().env.DPS_PREFIX!).intakeTopic(service().accounts.other.account_id, id)
  const layout = (await cluster.describeTopic(topic))!
  const ends = await cluster.offsets(layout, [...layout.leaders.keys()], 'written')
  return [...ends.values()].reduce((sum, end) => sum + Number(end), 0)
}

type Status = { tasks: { role: string; task: number; status: string; reason: string | null }[] }
const intakesOf = async (id: string) =>
  (await client.call<Status>('GET', `/v1/pipelines/${id}/status`)).body.tasks.filter(({ role }) => role === 'intake')

it.each([
  ['the pipeline is started', async (id: string) => void (await client.call('POST', `/v1/pipelines/${id}/start`))],
  ['a processor that starts has its tasks', killProcessors],
])('is not read on until %s again, on whichever processor its intake runs', async (_, startAgain) => {
  const module = await deployModule(client, filterOverN(`if (value == 300) record.fail('no')\n  return true`))
  const generator = { connector_id: 'conn_generator', config: { records_per_second: 200 } }
  const sink = { connector_id: 'conn_blackhole', config: {} }
  const [tasks, on_error] = [4, { policy: 'fail' }]
  const other = await connect(client, generator, [], sink)
  const id = await connect(client, generator, [{ name: module.name, config: {} }], sink, { tasks, on_error })
  await waitForStatus(client, id, 'failed')
  await eventually('all intakes are stopped', async () => {
    const intakes = await intakesOf(id)
    return intakes.length === tasks && intakes.every(({ status, reason }) => status === 'stopped' && reason?.includes('chain has failed'))
  })
  expect((await client.call('GET', `/v1/pipelines/${id}/status`)).body.status_reason).toContain('no')
  const [before, otherBefore] = [await writtenBy(id), await writtenBy(other)]
  await eventually('another pipeline has read on', async () => (await writtenBy(other)) > otherBefore + 400)
  expect(await writtenBy(id)).toBe(before)

  expect((await client.call('PATCH', `/v1/pipelines/${id}`, { on_error: { policy: 'dead_letter' } })).status).toBe(200)
  await startAgain(id)
  await waitForStatus(client, id, 'running')
  await eventually('it is read on', async () => (await writtenBy(id)) > before + 400)
  // A processor that joins takes some of them over.
  await eventually('all intakes run', async () => (await intakesOf(id)).every(({ status }) => status === 'running'))
})
