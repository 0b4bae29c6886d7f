/** Streams: what each operation answers. */
import { beforeAll } from 'vitest'
import * as streamsApi from '../../../shared/api/streams.ts'
import { describeAnswers } from '../../harness/answers.ts'
import { loggedIn, service, unique, type Client } from '../../harness/client.ts'
import { contractsOf } from '../../harness/contract-check.ts'
import { makeOneOfEach, type OneOfEach } from '../../harness/one-of-each.ts'
import { createStream } from '../../harness/pipelines.ts'

let client: Client
let resources: OneOfEach
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  resources = await makeOneOfEach(client)
})

const body = (more: object = {}) => ({ name: unique('stream'), description: '', schema: { a: 'string' }, ...more })
const at = (rest = '') => `/v1/streams/${resources.streams}${rest}`

describeAnswers(contractsOf(streamsApi), {
  client: () => client,
  resources: () => resources,
  cases: {
    createStream: [
      [201, 'with the new stream', () => client.call('POST', '/v1/streams', body())],
      [
        409,
        'for a name that is taken',
        async () => {
          const taken = body()
          await client.call('POST', '/v1/streams', taken)
          return client.call('POST', '/v1/streams', taken)
        },
      ],
    ],
    listStreams: [[200, 'with a page', () => client.call('GET', '/v1/streams')]],
    getStream: [[200, 'with the stream', () => client.call('GET', at())]],
    updateStream: [
      [200, 'with the changed stream', () => client.call('PATCH', at(), { description: 'changed' })],
      [
        409,
        'to a schema that lacks the key',
        async () => {
          const { id } = await createStream(client, { a: 'string', b: 'string' }, { key: 'a' })
          return client.call('PATCH', `/v1/streams/${id}`, { schema: { b: 'string' } })
        },
      ],
    ],
    listStreamSchemas: [[200, 'with the current one', () => client.call('GET', at('/schemas'))]],
    checkStreamSchema: [
      [200, 'with what it would break', () => client.call('POST', at('/schemas/check'), { schema: { b: 'string' } })],
      [400, 'to a schema and a schema’s id', () => client.call('POST', at('/schemas/check'), { schema: { b: 'string' }, schema_id: 1 })],
    ],
    deleteStream: [
      [204, 'for one without use', async () => client.call('DELETE', `/v1/streams/${(await createStream(client, { a: 'string' })).id}`)],
      [409, 'for one that a pipeline uses', () => client.call('DELETE', at())],
    ],
  },
})
