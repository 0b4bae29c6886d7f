/** Records of streams: what each operation answers. */
import { beforeAll } from 'vitest'
import * as streamRecordsApi from '../../../shared/api/stream-records.ts'
import { describeAnswers } from '../../harness/answers.ts'
import { loggedIn, service, unique, type Client } from '../../harness/client.ts'
import { contractsOf } from '../../harness/contract-check.ts'
import { makeOneOfEach, type OneOfEach } from '../../harness/one-of-each.ts'
import { createStream } from '../../harness/pipelines.ts'
import { setStatus } from '../../harness/rows.ts'

let client: Client
let resources: OneOfEach
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  resources = await makeOneOfEach(client)
})

const at = (rest = '') => `/v1/streams/${resources.streams}${rest}`

describeAnswers(contractsOf(streamRecordsApi), {
  client: () => client,
  resources: () => resources,
  cases: {
    getStreamData: [
      [200, 'with a page of records', () => client.call('GET', at('/data'))],
      [
        409,
        'while the stream is being created',
        async () => {
          const { id } = await createStream(client, { a: 'string' })
          await setStatus('streams', id, 'creating')
          return client.call('GET', `/v1/streams/${id}/data`)
        },
      ],
    ],
    getStreamRecords: [
      [200, 'with the newest records', () => client.call('GET', at('/records'))],
      [400, 'to an offset without a partition', () => client.call('GET', at('/records?offset=0'))],
      [400, 'to a page’s edge beside another place', () => client.call('GET', at('/records?before=a&key=b'))],
      [400, 'to what is no edge of the stream', () => client.call('GET', at('/records?after=nonsense'))],
      [
        409,
        'while the stream is being created',
        async () => {
          const { id } = await createStream(client, { a: 'string' })
          await setStatus('streams', id, 'creating')
          return client.call('GET', `/v1/streams/${id}/records`)
        },
      ],
    ],
    writeStreamData: [
      [201, 'with the place of the records', () => client.call('POST', at('/data'), { records: [{ a: 'x' }] })],
      [
        409,
        'to another body under a key that was used',
        async () => {
          const headers = { 'Idempotency-Key': unique('key') }
          await client.call('POST', at('/data'), { records: [{ a: 'x' }] }, headers)
          return client.call('POST', at('/data'), { records: [{ a: 'y' }] }, headers)
        },
      ],
    ],
  },
})
