/** Connectors: what each operation answers. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as connectorsApi from '../../../shared/api/connectors.ts'
import { describeAnswers } from '../../harness/answers.ts'
import { loggedIn, service, type Client } from '../../harness/client.ts'
import { contractsOf } from '../../harness/contract-check.ts'
import { openAccount } from '../../harness/operator.ts'
import { makeOneOfEach, type OneOfEach } from '../../harness/one-of-each.ts'

let client: Client
let resources: OneOfEach
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  resources = await makeOneOfEach(client)
})

describeAnswers(contractsOf(connectorsApi), {
  client: () => client,
  resources: () => resources,
  cases: {
    listConnectors: [[200, 'with a page', () => client.call('GET', '/v1/connectors')]],
    getConnector: [[200, 'with its configs’ schemas', () => client.call('GET', '/v1/connectors/conn_stream')]],
    validateConnector: [
      [
        200,
        'with the faults of a config',
        () => client.call('POST', '/v1/connectors/conn_table/validate', { side: 'sink', config: { table: 5 } }),
      ],
    ],
    checkConnector: [
      [200, 'with what the other system says', () => client.call('POST', '/v1/connectors/conn_log/check', { side: 'sink', config: {} })],
    ],
  },
})

it('shows which sides can be checked by connecting: those of which a check asks another system', async () => {
  const sidesOf = async (id: string) =>
    (await client.call<{ checkable_sides: string[] }>('GET', `/v1/connectors/${id}`)).body.checkable_sides
  expect(await Promise.all(['table', 'kafka', 'webhook', 'log', 'stream'].map(sidesOf))).toEqual([
    ['source', 'sink'],
    ['source', 'sink'],
    [],
    [],
    [],
  ])
})

describe('checks of a server that never answers', () => {
  /** It accepts connections, and says nothing. */
  const silent = createServer((socket) => void socket.on('error', () => {}))
  const answering = createServer((socket) => void socket.on('error', () => {}).end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
  beforeAll(() => Promise.all([silent, answering].map((server) => once(server.listen(0, '127.0.0.1'), 'listening'))))
  afterAll(() => [silent, answering].forEach((server) => server.close()))
  const configOf = (server: typeof silent) => ({
    side: 'sink',
    config: { url: `http://127.0.0.1:${(server.address() as { port: number }).port}/` },
  })
  const check = (asker: Client, server: typeof silent) => asker.call<{ ok: boolean }>('POST', '/v1/connectors/http/check', configOf(server))

  it('keep no other account from what it needs workshops for', async () => {
    const [{ client: attacker }, { client: victim }] = [await openAccount('developer'), await openAccount('developer')]
    const hanging = Array.from({ length: 8 }, () => check(attacker, silent))
    const processors = [{ module_id: 'dps/map-fields', config: {} }]
    const tried = victim.call('POST', '/v1/smartmodules/test', { processors, records: [{ value: { n: 1 } }] })
    const statuses = [(await tried).status, (await check(victim, answering)).status]
    expect(statuses).toEqual([200, 200])
    await Promise.all(hanging)
  })

  it('end when their client leaves', async () => {
    const { client: asker } = await openAccount('developer')
    for (let n = 0; n < 8; n++)
      await fetch(`${service().apiUrl}/v1/connectors/http/check`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${asker.token}`, 'Content-Type': 'application/json' },
        body: JSON.stringify(configOf(silent)),
        signal: AbortSignal.timeout(200),
      }).catch(() => {})
    expect((await check(asker, answering)).body.ok).toBe(true)
  })
})
