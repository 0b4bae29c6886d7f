/** What a pipeline does, and its canary: what each operation answers. */
import { beforeAll } from 'vitest'
import * as observabilityApi from '../../../shared/api/observability.ts'
import * as logsApi from '../../../shared/api/logs.ts'
import * as canaryApi from '../../../shared/api/canary.ts'
import * as trialsApi from '../../../shared/api/trials.ts'
import { describeAnswers } from '../../harness/answers.ts'
import { loggedIn, service, type Client } from '../../harness/client.ts'
import { contractsOf } from '../../harness/contract-check.ts'
import { makeOneOfEach, moduleBody, type OneOfEach } from '../../harness/one-of-each.ts'
import { createPipeline } from '../../harness/pipelines.ts'
import { damageBinary, setStatus } from '../../harness/rows.ts'

let client: Client
let resources: OneOfEach
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  resources = await makeOneOfEach(client)
})

/** Where the record is. */
let where: { partition: number; offset: string }
beforeAll(async () => {
  type Written = { partitions: { partition: number; first_offset: string }[] }
  const { body } = await client.call<Written>('POST', `/v1/streams/${resources.streams}/data`, { records: [{ a: 'x' }] })
  where = { partition: body.partitions[0]!.partition, offset: body.partitions[0]!.first_offset }
})
const at = (rest = '') => `/v1/pipelines/${resources.pipelines}${rest}`

/** A pipeline whose SmartModule can't be run any more. */
async function damaged(): Promise<string> {
  const { id } = (await client.call<{ id: string }>('POST', '/v1/smartmodules', await moduleBody())).body
  const processors = [{ module_id: id, config: {} }]
  const pipeline = await createPipeline(client, resources.streams!, [], resources.sink!, { autostart: false, processors })
  await damageBinary(id)
  return pipeline
}

async function withCanary(): Promise<string> {
  const body = await moduleBody()
  const module = await client.call<{ id: string }>('POST', '/v1/smartmodules', { ...body, version: '1.0.0' })
  await client.call('POST', '/v1/smartmodules', { ...body, version: '1.0.1', config: { ...body.config, parameters: { type: 'object' } } })
  const processors = [{ module_id: module.body.id, version: '1.0.0', config: {} }]
  const id = await createPipeline(client, resources.streams!, [], resources.sink!, { autostart: false, processors })
  await client.call('PATCH', `/v1/pipelines/${id}`, { canary: { step: 1, version: '1.0.1' } })
  return id
}

describeAnswers([...contractsOf(observabilityApi), ...contractsOf(trialsApi), ...contractsOf(logsApi), ...contractsOf(canaryApi)], {
  client: () => client,
  resources: () => resources,
  cases: {
    getPipelineOffsets: [[200, 'with positions and lag', () => client.call('GET', at('/offsets'))]],
    getPipelineAccounting: [[200, 'with where the records went', () => client.call('GET', at('/accounting'))]],
    getPipelineMetrics: [[200, 'with rates', () => client.call('GET', at('/metrics'))]],
    getPipelineLedger: [[200, 'with revisions by offset', () => client.call('GET', at('/ledger'))]],
    getPipelineHistory: [[200, 'with the last hour', () => client.call('GET', at('/history'))]],
    getPipelineLogs: [[200, 'with lines', () => client.call('GET', at('/logs'))]],
    explainRecord: [
      [200, 'with what each step did', () => client.call('GET', at(`/explain?partition=${where.partition}&offset=${where.offset}`))],
      [
        409,
        'where the chain can’t be run',
        async () => client.call('GET', `/v1/pipelines/${await damaged()}/explain?partition=${where.partition}&offset=${where.offset}`),
      ],
    ],
    previewPipeline: [
      [200, 'with what each step would do', () => client.call('POST', at('/preview'), { from: 'earliest' })],
      [
        409,
        'where the chain can’t be run',
        async () => client.call('POST', `/v1/pipelines/${await damaged()}/preview`, { from: 'earliest' }),
      ],
    ],
    getCanary: [[200, 'with what was compared', async () => client.call('GET', `/v1/pipelines/${await withCanary()}/canary`)]],
    promoteCanary: [
      [200, 'with the next revision', async () => client.call('POST', `/v1/pipelines/${await withCanary()}/canary/promote`)],
      [
        409,
        'where it was rolled back',
        async () => {
          const id = await withCanary()
          await setStatus('canaries', id, 'rolled_back')
          return client.call('POST', `/v1/pipelines/${id}/canary/promote`)
        },
      ],
      [
        412,
        'to an If-Match that is out of date',
        async () => client.call('POST', `/v1/pipelines/${await withCanary()}/canary/promote`, undefined, { 'If-Match': '"1"' }),
      ],
    ],
    compareSmartModuleVersions: [
      [
        200,
        'with what differs',
        () =>
          client.call('POST', `/v1/smartmodules/${resources.smartmodules}/compare`, {
            stream_id: resources.streams,
            before: {},
            after: { version: '1.0.0' },
          }),
      ],
    ],
  },
  unshown: { compareSmartModuleVersions: [409, 'a chain that started to be checked does not start to be run'] },
})
