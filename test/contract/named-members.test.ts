/** Where a refusal of a step's config points: to the member that its SmartModule names, in every request that has steps. */
import { expect, it } from 'vitest'
import { loggedIn, patiently, service, unique, type Answer } from '../harness/client.ts'
import { createPipeline, createStream } from '../harness/pipelines.ts'

const client = await loggedIn(service().accounts.enterprise)
const stream = (stream_id: string) => ({ connector_id: 'conn_stream', config: { stream_id } })
const ask = async (method: string, path: string, body: object): Promise<Answer> => patiently(() => client.call(method, path, body))
const faultsOf = ({ status, body }: Answer) => [status, body.error?.details?.map(({ path }) => path)]

it('a step’s member is named when a pipeline is made, changed, planned and tried', async () => {
  const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
  const id = await createPipeline(client, from.id, [{ name: 'dps/cel', config: { filter: 'true' } }], to.id)
  const day = { type: 'date', format: 'DD.MM' }
  const processors = [{ module_id: 'dps/cast', config: { fields: { 'a/b.day': day } } }]
  const at = '/fields/a~1b.day/format'
  expect(faultsOf(await ask('PATCH', `/v1/pipelines/${id}`, { processors }))).toEqual([400, [`/processors/0/config${at}`]])
  for (const work of ['plan', 'preview'])
    expect(faultsOf(await ask('POST', `/v1/pipelines/${id}/${work}`, { processors }))).toEqual([400, [`/processors/0/config${at}`]])
  const created = await ask('POST', '/v1/pipelines', { name: unique('p'), source: stream(from.id), processors, sink: stream(to.id) })
  expect(faultsOf(created)).toEqual([400, [`/processors/0/config${at}`]])

  const { processors: running } = (await client.call<{ processors: [{ version: string }] }>('GET', `/v1/pipelines/${id}`)).body
  const canary = { step: 1, version: running[0].version, config: { set: { total: 'valu.n' } } }
  expect(faultsOf(await ask('PATCH', `/v1/pipelines/${id}`, { canary }))).toEqual([400, ['/canary/config/set/total']])

  const nameOf = async (stream_id: string) => (await client.call<{ name: string }>('GET', `/v1/streams/${stream_id}`)).body.name
  const [source, sink] = [{ stream: await nameOf(from.id) }, { stream: await nameOf(to.id) }]
  const steps = processors.map(({ module_id, config }) => ({ module: module_id, with: config }))
  const manifest = { dps: 1, set: unique('set'), pipelines: { new: { source, steps, sink } } }
  for (const work of ['plan', 'apply'])
    expect(faultsOf(await ask('POST', `/v1/manifests/${work}`, { manifest }))).toEqual([400, [`/manifest/pipelines/new/steps/0/with${at}`]])
})

it('a step that names no member of its config is named itself', async () => {
  const stream_id = (await createStream(client, { n: 'integer' })).id
  const at = async (config: object) =>
    faultsOf(await ask('POST', '/v1/smartmodules/test', { processors: [{ module_id: 'dps/filter', config }], stream_id, limit: 1 }))
  expect(await at({ field: 'n', operator: 'in', value: 1 })).toEqual([400, ['/processors/0/config/value']])
  expect(await at({ field: 'n', operator: 'eq' })).toEqual([400, ['/processors/0/config']])
})

it('all wrong expressions of a step, and all wrong fields, are named at once', async () => {
  const stream_id = (await createStream(client, { n: 'integer' })).id
  const cel = { filter: 'value.n >', set: { a: 'valu.n', b: 'value.n' }, emit: ['value', 'size()'] }
  const cast = { fields: { a: { type: 'date', format: 'DD.MM' }, b: 'integer', c: { type: 'integer', thousands: '12' } } }
  const processors = [
    { module_id: 'dps/cel', config: cel },
    { module_id: 'dps/cast', config: cast },
  ]
  expect(faultsOf(await ask('POST', '/v1/smartmodules/test', { processors, stream_id, limit: 1 }))).toEqual([
    400,
    [
      ...['/filter', '/set/a', '/emit/1'].map((path) => `/processors/0/config${path}`),
      ...['/fields/a/format', '/fields/c/thousands'].map((path) => `/processors/1/config${path}`),
    ],
  ])
})

it('all reasons for which a module of one’s own refuses its config are named at once, each once', async () => {
  const stream_id = (await createStream(client, { n: 'integer' })).id
  const code = `import { Config, Record } from 'dps'
export function init(config: Config): void {
  config.text('from')
  config.texts('names')
  config.integer('count')
}
export function filter(record: Record): bool { return true }`
  const config = { names: [1, 2, 'x'], count: 1.5, other: true }
  const tried = await ask('POST', '/v1/smartmodules/test', {
    processors: [{ source: { language: 'typescript', code }, config }],
    stream_id,
    limit: 1,
  })
  expect([tried.status, tried.body.error?.details?.map(({ path, message }) => `${path}: ${message}`)]).toEqual([
    400,
    [
      '/processors/0/config: config.from must be a string',
      '/processors/0/config/names: must hold strings alone',
      '/processors/0/config/count: 1.5 is no whole number of 64 bits',
    ],
  ])
})
