/** Records that are pushed: what each operation answers. */
import { createHmac } from 'node:crypto'
import { beforeAll } from 'vitest'
import * as ingestApi from '../../../shared/api/ingest.ts'
import { LIMITS } from '../../../shared/model/limits.ts'
import { describeAnswers } from '../../harness/answers.ts'
import { anonymous, loggedIn, service, unique, type Client } from '../../harness/client.ts'
import { contractsOf } from '../../harness/contract-check.ts'
import { makeOneOfEach, type OneOfEach } from '../../harness/one-of-each.ts'
import { createPipeline } from '../../harness/pipelines.ts'

let client: Client
let resources: OneOfEach
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  resources = await makeOneOfEach(client)
})

const SECRET = 'a key of theirs'
let path: string
beforeAll(async () => {
  const name = unique('hook')
  await client.call('POST', '/v1/secrets', { name, value: SECRET })
  const source = (more: object) => ({ connector_id: 'conn_webhook', config: { secret: { $secret: name }, ...more } })
  path = `/v1/ingest/${await createPipeline(client, '', [], resources.sink!, { source: source({ header: 'X-Signature' }) })}`
})

const sign = (body: string): string => `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`
const push = (body: string, headers: Record<string, string> = {}) =>
  anonymous().call('POST', path, body, { 'X-Signature': sign(body), ...headers })

describeAnswers(contractsOf(ingestApi), {
  client: () => client,
  resources: () => resources,
  cases: {
    ingest: [
      [202, 'with how many there were', () => push('{"a":"x"}')],
      [400, 'to a signed body that is not JSON', () => push('{"')],
      [
        409,
        'to another body under a key that was used',
        async () => {
          const headers = { 'Idempotency-Key': unique('key') }
          await push('{"a":"x"}', headers)
          return push('{"a":"y"}', headers)
        },
      ],
      [413, 'to a body that is too large', () => push(`${' '.repeat(LIMITS.body_bytes_max)}{}`)],
      [415, 'to a body of another type', () => push('x', { 'Content-Type': 'image/png' })],
    ],
  },
  unshown: { ingest: [200, 'Slack asks for its challenge (test/integration/webhook.test.ts)'] },
})
