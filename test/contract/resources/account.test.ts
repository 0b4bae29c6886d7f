/** The account, its keys and tokens, its audit log, overview and lineage: what each operation answers. */
import { beforeAll, expect, it } from 'vitest'
import * as accountApi from '../../../shared/api/account.ts'
import * as auditApi from '../../../shared/api/audit.ts'
import * as authApi from '../../../shared/api/auth.ts'
import * as eventsApi from '../../../shared/api/events.ts'
import * as lineageApi from '../../../shared/api/lineage.ts'
import * as overviewApi from '../../../shared/api/overview.ts'
import { describeAnswers } from '../../harness/answers.ts'
import { loggedIn, service, unique, type Client } from '../../harness/client.ts'
import { contractsOf } from '../../harness/contract-check.ts'
import { answeredWithEvents } from '../../harness/events.ts'
import { makeOneOfEach, type OneOfEach } from '../../harness/one-of-each.ts'
import { openAccount } from '../../harness/operator.ts'

let client: Client
let resources: OneOfEach
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  resources = await makeOneOfEach(client)
})

describeAnswers(
  [
    ...contractsOf(accountApi),
    ...contractsOf(auditApi),
    ...contractsOf(authApi),
    ...contractsOf(overviewApi),
    ...contractsOf(lineageApi),
    ...contractsOf(eventsApi),
  ],
  {
    client: () => client,
    resources: () => resources,
    cases: {
      getAccount: [[200, 'with quotas', () => client.call('GET', '/v1/account')]],
      listAudit: [[200, 'with a page', () => client.call('GET', '/v1/audit')]],
      followEvents: [[200, 'with events', () => answeredWithEvents(client, '/v1/events')]],
      getOverview: [[200, 'with every pipeline', () => client.call('GET', '/v1/overview')]],
      getLineage: [[200, 'with every pipeline and its ends', () => client.call('GET', '/v1/lineage')]],
      createToken: [
        [
          200,
          'with a token',
          () => {
            const { api_key, api_secret } = service().accounts.enterprise
            return client.call('POST', '/v1/auth/token', { api_key, api_secret })
          },
        ],
      ],
      createKey: [
        [201, 'with the secret, shown this once', () => client.call('POST', '/v1/keys', { name: unique('key') })],
        [
          409,
          'to another body under a key that was used',
          async () => {
            const headers = { 'Idempotency-Key': unique('key') }
            await client.call('POST', '/v1/keys', { name: 'a' }, headers)
            return client.call('POST', '/v1/keys', { name: 'b' }, headers)
          },
        ],
      ],
      listKeys: [[200, 'with a page', () => client.call('GET', '/v1/keys')]],
      deleteKey: [
        [204, 'for a key', () => client.call('DELETE', `/v1/keys/${resources.keys}`)],
        [
          409,
          'for the last one that can make keys',
          async () => {
            const { account, client: alone } = await openAccount('developer')
            return alone.call('DELETE', `/v1/keys/${account.api_key}`)
          },
        ],
      ],
    },
  },
)

it('a key deletes none that may do more than itself', async () => {
  type NewKey = { id: string; api_key: string; api_secret: string }
  const make = async (scopes: string[]) => (await client.call<NewKey>('POST', '/v1/keys', { name: unique('key'), scopes })).body
  const [lesser, peer, greater] = [await make(['keys:write']), await make(['keys:write']), await make(['keys:write', 'streams:read'])]
  const asker = await loggedIn(lesser)
  const refused = await asker.call('DELETE', `/v1/keys/${greater.id}`)
  expect([refused.status, refused.body.error?.message]).toEqual([403, expect.stringContaining('streams:read')])
  expect((await client.call('DELETE', `/v1/keys/${greater.id}`)).status).toBe(204)
  expect((await asker.call('DELETE', `/v1/keys/${peer.id}`)).status).toBe(204)
  expect((await asker.call('DELETE', `/v1/keys/${greater.id}`)).status).toBe(404)
})
