/** Pipelines: what each operation answers. */
import { beforeAll } from 'vitest'
import * as pipelinesApi from '../../../shared/api/pipelines.ts'
import { describeAnswers, type Case } from '../../harness/answers.ts'
import { loggedIn, service, unique, type Client } from '../../harness/client.ts'
import { contractsOf } from '../../harness/contract-check.ts'
import { makeOneOfEach, type OneOfEach } from '../../harness/one-of-each.ts'
import { createPipeline } from '../../harness/pipelines.ts'
import { setStatus } from '../../harness/rows.ts'

let client: Client
let resources: OneOfEach
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  resources = await makeOneOfEach(client)
})

const endpoint = (stream_id: string | undefined) => ({ connector_id: 'conn_stream', config: { stream_id } })
const body = () => ({
  name: unique('pipeline'),
  source: endpoint(resources.streams),
  processors: [],
  sink: endpoint(resources.sink),
  autostart: false,
})
const at = (rest = '') => `/v1/pipelines/${resources.pipelines}${rest}`
/** A pipeline that is still being set up, and so can't be changed. */
async function unfinished(): Promise<string> {
  const { pipeline_id: id } = (await client.call<{ pipeline_id: string }>('POST', '/v1/pipelines', body())).body
  await setStatus('pipelines', id, 'creating')
  return `/v1/pipelines/${id}`
}
const action = (name: string, before: readonly string[]): readonly Case[] => [
  [
    200,
    'with the pipeline',
    async () => {
      const path = `/v1/pipelines/${await createPipeline(client, resources.streams!, [], resources.sink!, { autostart: false })}`
      for (const each of before) await client.call('POST', `${path}/${each}`)
      return client.call('POST', `${path}/${name}`)
    },
  ],
  [409, 'while it is being created', async () => client.call('POST', `${await unfinished()}/${name}`)],
]

describeAnswers(contractsOf(pipelinesApi), {
  client: () => client,
  resources: () => resources,
  cases: {
    createPipeline: [
      [201, 'with the new pipeline', () => client.call('POST', '/v1/pipelines', body())],
      [
        409,
        'for a name that is taken',
        async () => {
          const taken = body()
          await client.call('POST', '/v1/pipelines', taken)
          return client.call('POST', '/v1/pipelines', taken)
        },
      ],
    ],
    listPipelines: [[200, 'with a page', () => client.call('GET', '/v1/pipelines')]],
    getPipeline: [[200, 'with the pipeline', () => client.call('GET', at())]],
    getPipelineStatus: [[200, 'with what its tasks report', () => client.call('GET', at('/status'))]],
    updatePipeline: [
      [200, 'with the changed pipeline', () => client.call('PATCH', at(), { description: 'changed' })],
      [409, 'while it is being created', async () => client.call('PATCH', await unfinished(), { description: 'changed' })],
    ],
    planPipeline: [
      [200, 'with what it would change', () => client.call('POST', at('/plan'), { description: 'planned' })],
      [409, 'while it is being created', async () => client.call('POST', `${await unfinished()}/plan`, { description: 'planned' })],
    ],
    resetOffsets: [
      [200, 'with the offsets', () => client.call('POST', at('/offsets'), { start: 'earliest' })],
      [409, 'while it is being created', async () => client.call('POST', `${await unfinished()}/offsets`, { start: 'earliest' })],
    ],
    startPipeline: action('start', []),
    pausePipeline: action('pause', ['start']),
    resumePipeline: action('resume', ['start', 'pause']),
    stopPipeline: action('stop', ['start']),
    restartPipeline: action('restart', ['start']),
    deletePipeline: [
      [
        204,
        'for one that runs nothing',
        async () =>
          client.call(
            'DELETE',
            `/v1/pipelines/${(await client.call<{ pipeline_id: string }>('POST', '/v1/pipelines', body())).body.pipeline_id}`,
          ),
      ],
      [409, 'while it is being created', async () => client.call('DELETE', await unfinished())],
    ],
  },
  unshown: { deletePipeline: [202, 'its tasks take longer than ten seconds to end'] },
})
