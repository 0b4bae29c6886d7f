/** Connectors and SmartModules referenced by name, so that one pipeline definition works in every account. */
import { beforeAll, expect, it } from 'vitest'
import { loggedIn, service, unique, type Client } from '../harness/client.ts'
import { createStream, moduleId } from '../harness/pipelines.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
})

it.each([
  ['stream', 'dps/filter'],
  ['stream@1.0.0', 'dps/filter@1.0.0'],
])('a pipeline may name the connector %s and the SmartModule %s instead of their ids', async (connector, module) => {
  const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
  const created = await client.call<{ pipeline_id: string }>('POST', '/v1/pipelines', {
    name: unique('named'),
    source: { connector_id: connector, config: { stream_id: from.id } },
    processors: [{ module_id: module, config: { field: 'n', operator: 'gt', value: 1 } }],
    sink: { connector_id: connector, config: { stream_id: to.id } },
  })
  expect(created.status).toBe(201)
  const { body } = await client.call<{ processors: { module_id: string }[] }>('GET', `/v1/pipelines/${created.body.pipeline_id}`)
  expect(body.processors[0]!.module_id).toBe(await moduleId(client, 'dps/filter'))
  expect((await client.call('GET', `/v1/connectors/${connector}`)).status).toBe(200)
})

it('a SmartModule and its versions are read and compared by its name as by its id', async () => {
  const [id, name] = [await moduleId(client, 'dps/filter'), encodeURIComponent('dps/filter')]
  for (const rest of ['', '/versions', '/versions/1.0.0']) {
    const [byId, byName] = [
      await client.call('GET', `/v1/smartmodules/${id}${rest}`),
      await client.call('GET', `/v1/smartmodules/${name}${rest}`),
    ]
    expect([byName.status, byName.body]).toEqual([200, byId.body])
  }
  const stream = await createStream(client, { n: 'integer' })
  const versions = {
    before: { config: { field: 'n', operator: 'gt', value: 1 } },
    after: { config: { field: 'n', operator: 'gt', value: 2 } },
  }
  const compared = await client.call('POST', `/v1/smartmodules/${name}/compare`, { ...versions, stream_id: stream.id })
  expect(compared).toMatchObject({ status: 200, body: { compared: 0 } })
  // Another one may have got the name of what is to be deleted.
  const refused = await client.call('DELETE', `/v1/smartmodules/${name}`)
  expect(refused).toMatchObject({ status: 404, body: { error: { message: `no SmartModule has this id; the one of this name is ${id}` } } })
})

it('a pipeline with an unknown connector name is refused, naming the member', async () => {
  const stream = await createStream(client, { n: 'integer' })
  const refused = await client.call('POST', '/v1/pipelines', {
    name: unique('named'),
    source: { connector_id: 'stream', config: { stream_id: stream.id } },
    processors: [{ module_id: 'dps/filter@9.9.9', config: {} }],
    sink: { connector_id: 'nothing', config: {} },
  })
  expect(refused.status).toBe(400)
  const paths = refused.body.error!.details!.map(({ path }) => path)
  expect(paths).toContain('/sink/connector_id')
})

it.each(['table', 'table@1.0.0', 'conn_table'])('the connector %s is checked with what the operator has set', async (connector) => {
  const checked = await client.call('POST', `/v1/connectors/${connector}/check`, { side: 'sink', config: { table: 'not_there_yet' } })
  expect(checked.body).toMatchObject({ ok: true, details: [] })
})

it.each(['storage-bucket', 'conn_storage_bucket'])('the connector %s is checked with the operator’s bucket', async (connector) => {
  const { name } = service().bucket
  const checked = await client.call('POST', `/v1/connectors/${connector}/check`, {
    side: 'source',
    config: { bucket: name, prefix: 'names/' },
  })
  expect(checked.body).toMatchObject({ ok: true, details: [] })
})
