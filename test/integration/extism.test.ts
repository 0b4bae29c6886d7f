/** Extism plug-ins of other people's PDKs, unmodified: Go and AssemblyScript in one chain with built-ins. */
import { beforeAll, describe, expect, it } from 'vitest'
import { loggedIn, service, unique, type Client } from '../harness/client.ts'
import { buildGoPlugin, compileFixture } from '../harness/extism-fixture.ts'
import { createPipeline, createStream, readAll, waitForTotal, write } from '../harness/pipelines.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
})

async function deploy(binary: Buffer): Promise<string> {
  const name = unique('plug-in')
  const { status, body } = await client.call('POST', '/v1/smartmodules', { name, wasm_binary: binary.toString('base64') })
  expect([status, body]).toMatchObject([201, { name }])
  return name
}
const keepLong = () => compileFixture('keep-long', ['--use', 'abort=entry/abort'])

describe('plug-ins of the PDKs of Go and AssemblyScript', () => {
  it('run in one chain with built-in SmartModules', { timeout: 300_000 }, async (context) => {
    const goMap = await buildGoPlugin('map')
    const goArrayMap = await buildGoPlugin('array_map')
    if (!goMap || !goArrayMap) return context.skip('there is no Go on this machine')
    const steps = [
      { name: await deploy(goMap), config: { suffix: '!' } },
      { name: 'dps/filter', config: { expression: 'value.n > 0' } },
      { name: await deploy(await keepLong()), config: { least: '25' } },
      { name: await deploy(goArrayMap), config: {} },
      { name: 'dps/cel', config: { set: { kind: 'has(value.z) ? "item" : "whole"' } } },
    ]
    const from = await createStream(client, { name: 'any', n: 'integer' }, { partitions: 1 })
    const to = await createStream(client, { name: 'any', n: 'any', z: 'any', a: 'any', kind: 'string' }, { partitions: 1 })
    await createPipeline(client, from.id, steps, to.id)
    await write(client, from.id, [
      { name: 'Ada Lovelace', n: 1 },
      { name: 'x', n: 1 },
      { name: 'Grace Hopper', n: 0 },
      { name: 5, n: 1 },
    ])
    await waitForTotal(client, to.id, 2)
    expect(await readAll(client, to.id)).toMatchObject([{ name: 'ADA LOVELACE!', n: 1, kind: 'whole' }, { kind: 'item' }])
    const url = `${service().apiUrl}/v1/streams/${to.id}/data`
    const text = await (await fetch(url, { headers: { Authorization: `Bearer ${client.token}` } })).text()
    // The plug-in's own bytes: neither digits nor the order of members change.
    expect(text).toContain('{"z": 12345678901234567890, "a": 1.10,"kind":"item"}')
  })
})
