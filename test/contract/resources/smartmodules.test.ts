/** SmartModules: what each operation answers. */
import { beforeAll, describe, expect, it } from 'vitest'
import * as smartmodulesApi from '../../../shared/api/smartmodules.ts'
import { describeAnswers } from '../../harness/answers.ts'
import { loggedIn, service, unique, type Client } from '../../harness/client.ts'
import { contractsOf } from '../../harness/contract-check.ts'
import { makeOneOfEach, moduleBody, type OneOfEach } from '../../harness/one-of-each.ts'

let client: Client
let resources: OneOfEach
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  resources = await makeOneOfEach(client)
})

const SOURCE = `import { Record } from 'dps'\nexport function filter(record: Record): bool { return true }`
const source = { language: 'typescript', code: SOURCE }
const at = (rest = '') => `/v1/smartmodules/${resources.smartmodules}${rest}`

describeAnswers(contractsOf(smartmodulesApi), {
  client: () => client,
  resources: () => resources,
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
          await client.call('PATCH', `/v1/pipelines/${resources.pipelines}`, {
            processors: [{ module_id: resources.smartmodules, config: {} }],
          })
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

describe('a version that comes without a config', () => {
  const parameters = { type: 'object', properties: { least: { type: 'integer' } } }
  const CODE = `import { Record } from 'dps'\nexport function filter(record: Record): bool { return true }`
  const TYPED = `${CODE}\nexport class Settings { /** The least. */ least: i64 = 1 }\nexport const settings = new Settings()`
  const configOf = async (body: object) => {
    const made = await client.call<{ id: string }>('POST', '/v1/smartmodules', body)
    expect([made.status, made.body]).toEqual([201, expect.anything()])
    return (await client.call<{ config: Record<string, unknown> }>('GET', `/v1/smartmodules/${made.body.id}`)).body.config
  }
  const of = (code: string) => ({ language: 'typescript', code })

  it('has the formats and parameters of the one before, and the first one JSON', async () => {
    const name = unique('text')
    const text = { input_format: 'text', output_format: 'bytes' }
    expect(await configOf({ name: unique('first'), source: of(CODE) })).toEqual({ input_format: 'json', output_format: 'json' })
    const config = { ...text, parameters }
    expect(await configOf({ name, source: of(CODE), config })).toEqual(config)
    expect(await configOf({ name, source: of(`${CODE}\n`) })).toEqual(config)
    // One that is given is the whole config.
    expect(await configOf({ name, source: of(CODE), config: { output_format: 'text' } })).toEqual({
      input_format: 'json',
      output_format: 'text',
    })
  })

  it('has the parameters of its own class Settings, which go with it', async () => {
    const name = unique('typed')
    const text = { input_format: 'text', output_format: 'text' }
    expect(await configOf({ name, source: of(CODE), config: { ...text, parameters } })).toMatchObject({ parameters })
    const typed = await configOf({ name, source: of(TYPED) })
    expect(typed).toMatchObject({ ...text, parameters: { properties: { least: { description: 'The least.' } } } })
    expect(await configOf({ name, source: of(CODE) })).toEqual(text)
  })
})
