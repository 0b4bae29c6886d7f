/** Versions of SmartModules whose calls trap or do not return too often. */
import { beforeAll, expect, it } from 'vitest'
import { loggedIn, patiently, service, unique, type Client } from '../harness/client.ts'
import { deployModule, filterOverN } from '../harness/modules.ts'
import { createStream, waitForStatus, waitForTotal, write } from '../harness/pipelines.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.other)
})

type Refused = { error?: { details: { path: string; message: string }[] } }

it('are quarantined: the pipeline fails with a reason that names it, and no new step may, also behind a later version', async () => {
  const [from, to] = await Promise.all([createStream(client, { n: 'integer' }, { partitions: 1 }), createStream(client, { n: 'integer' })])
  const module = await deployModule(client, filterOverN('while (true) {}\n  return true'))
  const withSteps = (processors: object[]) => ({
    name: unique('endless'),
    source: { connector_id: 'conn_stream', config: { stream_id: from.id } },
    processors,
    sink: { connector_id: 'conn_stream', config: { stream_id: to.id } },
  })
  const create = (processor: object) =>
    patiently(() => client.call<{ pipeline_id: string }>('POST', '/v1/pipelines', withSteps([processor])))
  const failing = (await create({ module_id: module.id, timeout_ms: 100 })).body.pipeline_id
  const records = Array.from({ length: 100 }, (_, n) => ({ n }))
  await write(client, from.id, records)
  expect((await waitForStatus(client, failing, 'failed')).status_reason).toMatch(new RegExp(`step 1: ${module.name} 1.0.0 is quarantined`))
  const shown = async () => (await client.call('GET', `/v1/smartmodules/${module.id}`)).body
  expect(await shown()).toMatchObject({ status: 'quarantined', version: '1.0.0' })

  await deployModule(client, filterOverN('return true'), module.name)
  expect(await shown()).toMatchObject({ status: 'deployed', version: '1.0.1' })
  const { versions } = (await client.call<{ versions: object[] }>('GET', `/v1/smartmodules/${module.id}/versions`)).body
  expect(versions).toMatchObject([
    { version: '1.0.1', status: 'deployed' },
    { version: '1.0.0', status: 'quarantined' },
  ])
  const running = (await create({ module_id: module.id })).body.pipeline_id
  await waitForTotal(client, to.id, 100)
  const old = { module_id: module.id, version: '1.0.0' }
  const message = `names ${module.name} 1.0.0, which is quarantined; name another version, or deploy a fixed one`
  const faultsOf = async (method: 'POST' | 'PATCH', path: string, body: object) =>
    (await client.call<Refused>(method, path, body)).body.error?.details
  const atStep = [{ path: '/processors/0/version', message }]
  expect(await faultsOf('POST', '/v1/pipelines', withSteps([old]))).toEqual(atStep)
  expect(await faultsOf('POST', '/v1/pipelines', withSteps([{ module_id: `${module.name}@1.0.0` }]))).toEqual([
    { path: '/processors/0/module_id', message },
  ])
  expect(await faultsOf('POST', `/v1/pipelines/${running}/plan`, { processors: [old] })).toEqual(atStep)
  expect(await faultsOf('PATCH', `/v1/pipelines/${running}`, { processors: [old] })).toEqual(atStep)
  expect(await faultsOf('PATCH', `/v1/pipelines/${running}`, { canary: { step: 1, version: '1.0.0' } })).toEqual([
    { path: '/canary/version', message },
  ])
  expect((await client.call('PATCH', `/v1/pipelines/${failing}`, { processors: [{ module_id: module.id }] })).status).toBe(200)
  expect((await client.call('POST', `/v1/pipelines/${failing}/start`)).status).toBe(200)
  await waitForTotal(client, to.id, 200)
})
