/** SmartModules: what each operation answers. */
import { beforeAll } from 'vitest'
import * as smartmodulesApi from '../../../shared/api/smartmodules.ts'
import { describeAnswers } from '../../harness/answers.ts'
import { loggedIn, service, type Client } from '../../harness/client.ts'
import { contractsOf } from '../../harness/contract-check.ts'
import { makeRoom, moduleBody, type Room } from '../../harness/rooms.ts'

let client: Client
let room: Room
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  room = await makeRoom(client)
})

const SOURCE = `import { Record } from 'dps'\nexport function filter(record: Record): bool { return true }`
const source = { language: 'typescript', code: SOURCE }
const at = (rest = '') => `/v1/smartmodules/${room.smartmodules}${rest}`

describeAnswers(contractsOf(smartmodulesApi), {
  client: () => client,
  room: () => room,
  cases: {
    deploySmartModule: [
      [201, 'with the version', async () => client.call('POST', '/v1/smartmodules', await moduleBody())],
      [
        409,
        'for a version that is not newer',
        async () => {
          const body = { ...(await moduleBody()), version: '1.2.0' }
          await client.call('POST', '/v1/smartmodules', body)
          return client.call('POST', '/v1/smartmodules', body)
        },
      ],
    ],
    compileSmartModule: [[200, 'with what is wrong with a source', () => client.call('POST', '/v1/smartmodules/compile', { source })]],
    listSmartModules: [[200, 'with a page', () => client.call('GET', '/v1/smartmodules')]],
    getSmartModule: [[200, 'with its newest version', () => client.call('GET', at())]],
    listSmartModuleVersions: [[200, 'with a page', () => client.call('GET', at('/versions'))]],
    getSmartModuleVersion: [[200, 'with the version', () => client.call('GET', at('/versions/1.0.0'))]],
    deleteSmartModule: [
      [
        204,
        'for one without use',
        async () =>
          client.call(
            'DELETE',
            `/v1/smartmodules/${(await client.call<{ id: string }>('POST', '/v1/smartmodules', await moduleBody())).body.id}`,
          ),
      ],
      [
        409,
        'for one that a pipeline uses',
        async () => {
          await client.call('PATCH', `/v1/pipelines/${room.pipelines}`, { processors: [{ module_id: room.smartmodules, config: {} }] })
          return client.call('DELETE', at())
        },
      ],
    ],
    testSmartModule: [
      [
        200,
        'with what each step did',
        () => client.call('POST', '/v1/smartmodules/test', { processors: [{ source, config: {} }], records: [{ value: { a: 'x' } }] }),
      ],
    ],
  },
  unshown: { testSmartModule: [409, 'a chain that started to be checked does not start to be run'] },
})
