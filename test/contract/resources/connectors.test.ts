/** Connectors: what each operation answers. */
import { beforeAll } from 'vitest'
import * as connectorsApi from '../../../shared/api/connectors.ts'
import { describeAnswers } from '../../harness/answers.ts'
import { loggedIn, service, type Client } from '../../harness/client.ts'
import { contractsOf } from '../../harness/contract-check.ts'
import { makeRoom, type Room } from '../../harness/rooms.ts'

let client: Client
let room: Room
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  room = await makeRoom(client)
})

describeAnswers(contractsOf(connectorsApi), {
  client: () => client,
  room: () => room,
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
