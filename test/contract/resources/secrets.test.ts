/** Secrets: what each operation answers. */
import { beforeAll, expect, it } from 'vitest'
import * as secretsApi from '../../../shared/api/secrets.ts'
import { describeAnswers } from '../../harness/answers.ts'
import { loggedIn, service, unique, type Client } from '../../harness/client.ts'
import { contractsOf } from '../../harness/contract-check.ts'
import { makeOneOfEach, type OneOfEach } from '../../harness/one-of-each.ts'
import { createPipeline } from '../../harness/pipelines.ts'

let client: Client
let resources: OneOfEach
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  resources = await makeOneOfEach(client)
})

const body = () => ({ name: unique('secret'), value: 'x' })
const at = () => `/v1/secrets/${resources.secrets}`

describeAnswers(contractsOf(secretsApi), {
  client: () => client,
  resources: () => resources,
  cases: {
    createSecret: [
      [201, 'with the new secret, without its value', () => client.call('POST', '/v1/secrets', body())],
      [409, 'for a name that is taken', () => client.call('POST', '/v1/secrets', { ...body(), name: resources.secretName })],
    ],
    listSecrets: [[200, 'with a page', () => client.call('GET', '/v1/secrets')]],
    getSecret: [[200, 'with the secret, without its value', () => client.call('GET', at())]],
    updateSecret: [[200, 'with the changed secret', () => client.call('PATCH', at(), { value: 'y' })]],
    deleteSecret: [
      [
        204,
        'for one without use',
        async () => client.call('DELETE', `/v1/secrets/${(await client.call<{ id: string }>('POST', '/v1/secrets', body())).body.id}`),
      ],
      [
        409,
        'for one that a pipeline uses',
        async () => {
          const { id, name } = (await client.call<{ id: string; name: string }>('POST', '/v1/secrets', body())).body
          const source = { connector_id: 'conn_webhook', config: { secret: { $secret: name } } }
          await createPipeline(client, '', [], resources.sink!, { source, autostart: false })
          return client.call('DELETE', `/v1/secrets/${id}`)
        },
      ],
    ],
  },
})

it('the list names the pipelines that use each secret, as the secret itself does', async () => {
  type Shown = { id: string; name: string; used_by: string[] }
  const make = async () => (await client.call<Shown>('POST', '/v1/secrets', body())).body
  const [used, unused] = [await make(), await make()]
  const source = { connector_id: 'conn_webhook', config: { secret: { $secret: used.name } } }
  const users = [1, 2].map(() => createPipeline(client, '', [], resources.sink!, { source, autostart: false }))
  const ids = (await Promise.all(users)).toSorted()
  const { secrets } = (await client.call<{ secrets: Shown[] }>('GET', '/v1/secrets?page_size=100&sort=-created_at')).body
  const usedBy = (id: string) => secrets.find((each) => each.id === id)?.used_by
  expect([usedBy(used.id), usedBy(unused.id)]).toEqual([ids, []])
  expect((await client.call<Shown>('GET', `/v1/secrets/${used.id}`)).body.used_by).toEqual(ids)
})
