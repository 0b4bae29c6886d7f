/** Manifests: planned, applied, changed, pruned and exported, on the real service. */
import { describe, expect, it } from 'vitest'
import type { ShownManifest } from '../../shared/api/manifests.ts'
import { eventually, loggedIn, service, unique } from '../harness/client.ts'
import { register, useKafka } from '../harness/foreign-topics.ts'
import { above, manifestsOf, said, shop, type Given, type Plan } from '../harness/manifests.ts'
import { waitForTotal, write } from '../harness/pipelines.ts'
import { moduleBody } from '../harness/one-of-each.ts'
import { deleteTopic, makeTopics } from '../harness/topics.ts'

const client = await loggedIn(service().accounts.other)
const { plan, apply, named, idOf } = manifestsOf(client)
const { admin } = await useKafka()

describe('a manifest', () => {
  it('makes what it names, runs, and has nothing to do the second time', async () => {
    const { names, manifest } = shop()
    const planned = await plan(manifest)
    expect(said(planned)).toEqual([
      ['stream', 'orders', 'create', null],
      ['stream', 'large', 'create', null],
      ['smartmodule', 'big', 'create', null],
      ['pipeline', 'flow', 'create', null],
    ])
    expect(await named('streams')).not.toContainEqual(expect.objectContaining({ name: names.orders }))
    const applied = await apply(manifest, { hash: planned.body.hash })
    expect([applied.status, applied.body.hash]).toEqual([200, planned.body.hash])
    expect((await plan(manifest)).body).toMatchObject({ changes: [], unchanged: 4 })
    expect((await apply(manifest)).body).toMatchObject({ changes: [], unchanged: 4 })
    // Each change has an entry of its own in the audit log.
    const flow = await idOf('pipelines', names.flow)
    type Entries = { entries: { operation: string; status: number; request_id: string }[] }
    const { entries } = (await client.call<Entries>('GET', `/v1/audit?resource_id=${flow}`)).body
    expect(entries.map(({ operation, status }) => [operation, status])).toEqual([['createPipeline', 201]])
    await write(client, await idOf('streams', names.orders), [
      { id: 'a', amount: 50 },
      { id: 'b', amount: 500 },
    ])
    await waitForTotal(client, await idOf('streams', names.large), 1)
  })

  it('says of each change what it does to the pipeline, and a later SmartModule is taken over', async () => {
    const { names, manifest } = shop()
    await apply(manifest)
    const { orders, large, big, flow } = names
    const next = {
      ...manifest,
      streams: { ...manifest.streams, [orders]: { schema: { id: 'string', amount: 'number' }, key: 'id', description: 'what came in' } },
      smartmodules: { [big]: { source: { language: 'typescript', code: above(1000) } } },
    }
    const planned = await plan(next)
    expect(said(planned)).toEqual([
      ['stream', 'orders', 'update', 'live'],
      ['smartmodule', 'big', 'update', 'live'],
      ['pipeline', 'flow', 'update', 'live'],
    ])
    expect(planned.body.changes[0]!.differences).toEqual([{ path: '/description', before: '', after: 'what came in' }])
    expect((await apply(next, { hash: planned.body.hash })).status).toBe(200)
    expect((await plan(next)).body.changes).toEqual([])
    const { body } = await client.call<{ processors: { version: string }[]; revision: number }>(
      'GET',
      `/v1/pipelines/${await idOf('pipelines', flow)}`,
    )
    expect([body.revision, body.processors.map(({ version }) => version)]).toEqual([2, ['1.0.1']])

    const other = { ...next, pipelines: { [flow]: { source: { stream: large }, steps: [{ module: big }], sink: { stream: orders } } } }
    const refused = await plan(other)
    expect([refused.status, refused.body.error?.details?.map(({ path }) => path)]).toEqual([400, [`/manifest/pipelines/${flow}`]])
    const replacing = await plan(other, { replace: [flow] })
    expect(said(replacing)).toEqual([['pipeline', 'flow', 'replace', 'replace']])
    const before = await idOf('pipelines', flow)
    expect((await apply(other, { replace: [flow], hash: replacing.body.hash })).status).toBe(200)
    expect(await idOf('pipelines', flow)).not.toBe(before)
    expect((await plan(other)).body.changes).toEqual([])
  })

  it('applies exactly the plan that was seen, or nothing', async () => {
    const { names, manifest } = shop()
    const planned = await plan(manifest)
    await client.call('POST', '/v1/streams', { name: names.orders, schema: { id: 'string', amount: 'number' }, key: 'id' })
    const refused = await apply(manifest, { hash: planned.body.hash })
    expect([refused.status, refused.body.error?.code]).toEqual([409, 'conflict'])
    expect(await named('streams')).not.toContainEqual(expect.objectContaining({ name: names.large }))
    expect(said(await plan(manifest))[0]).toEqual(['stream', 'orders', 'adopt', null])
    expect((await apply(manifest)).status).toBe(200)
    expect((await plan(manifest)).body.changes).toEqual([])
  })

  it('deletes nothing that has changed since the plan that was seen', async () => {
    const { set, names, manifest } = shop()
    const { orders, large, big, flow } = names
    await apply(manifest)
    const none = { set }
    const [stream, pipeline] = [await idOf('streams', orders), await idOf('pipelines', flow)]
    const changes: [what: string, change: () => Promise<{ status: number }>][] = [
      ['the pipeline', () => client.call('PATCH', `/v1/pipelines/${pipeline}`, { description: 'needed' })],
      ['the stream', () => client.call('PATCH', `/v1/streams/${stream}`, { description: 'keep' })],
      ['the SmartModule', () => client.call('POST', '/v1/smartmodules', { name: big, source: { language: 'typescript', code: above(7) } })],
    ]
    for (const [what, change] of changes) {
      const seen = await plan(none, { prune: true })
      expect((await plan(none, { prune: true })).body.hash).toBe(seen.body.hash)
      expect((await change()).status, what).toBeLessThan(300)
      expect((await apply(none, { prune: true, hash: seen.body.hash })).status, what).toBe(409)
    }
    expect((await named('streams')).map(({ name }) => name)).toEqual(expect.arrayContaining([orders, large]))
    const seen = await plan(none, { prune: true })
    expect((await apply(none, { prune: true, hash: seen.body.hash })).status).toBe(200)
  })

  it('says which records would come back to their source', async () => {
    const { set, names, manifest } = shop()
    const { orders, large, flow } = names
    expect((await plan(manifest)).body.warnings).toBeUndefined()
    const back = { source: { stream: large }, steps: [], sink: { stream: orders } }
    const planned = await plan({ ...manifest, pipelines: { ...manifest.pipelines, [`${set} back`]: back } })
    expect(planned.status).toBe(200)
    const around = (...streams: string[]) => `leads back to the source (${streams.join(' → ')}): what no step filters goes round for ever`
    expect(planned.body.warnings).toEqual([
      { path: `/manifest/pipelines/${flow}/sink/stream`, message: around(orders, large, orders) },
      { path: `/manifest/pipelines/${set} back/sink/stream`, message: around(large, orders, large) },
    ])
  })

  it('prunes what it no longer names, and nothing that is not of its set', async () => {
    const first = shop()
    const second = shop()
    await apply(first.manifest)
    await apply(second.manifest)
    const empty = { set: first.set, streams: { [first.names.orders]: { schema: { id: 'string', amount: 'number' }, key: 'id' } } }
    expect((await plan(empty)).body.changes).toEqual([])
    const pruning = await plan(empty, { prune: true })
    expect(said(pruning)).toEqual([
      ['pipeline', 'flow', 'delete', null],
      ['smartmodule', 'big', 'delete', null],
      ['stream', 'large', 'delete', null],
    ])
    expect((await apply(empty, { prune: true, hash: pruning.body.hash })).status).toBe(200)
    const left = async (resources: 'streams' | 'pipelines' | 'smartmodules', { set }: { set: string }) =>
      (await named(resources)).map(({ name }) => name).filter((name) => name.startsWith(set))
    await eventually('the first set has one stream left', async () => (await left('streams', first)).length === 1)
    expect([await left('pipelines', first), await left('smartmodules', first)]).toEqual([[], []])
    expect((await plan(second.manifest)).body).toMatchObject({ changes: [], unchanged: 4 })
    // What another set owns is not taken.
    const taken = await plan({ set: first.set, streams: { [second.names.orders]: { schema: { id: 'string' } } } })
    expect(taken.body.error?.details?.map(({ path, message }) => [path, message])).toContainEqual([
      `/manifest/streams/${second.names.orders}`,
      `belongs to the set ${second.set}`,
    ])
  })

  it('is exported as one that changes nothing, connectors, policies, binaries and pinned versions included', async () => {
    const { names, manifest } = shop()
    const { wasm_binary } = await moduleBody()
    const rich: Given = {
      ...manifest,
      smartmodules: {
        ...manifest.smartmodules,
        [`${manifest.set} binary`]: { wasm_binary, description: 'of bytes', config: { parameters: { type: 'object' } } },
      },
      pipelines: {
        ...manifest.pipelines,
        [`${manifest.set} logged`]: {
          description: 'to the log',
          source: { connector: 'generator', with: { records_max: 10, schema: { amount: 'number' } } },
          steps: [
            { module: names.big, version: '1.0.0', on_error: { policy: 'skip' } },
            { module: `${manifest.set} binary` },
            { module: 'dps/filter', with: { expression: 'true' }, timeout_ms: 1000 },
          ],
          sink: { connector: 'log', with: {} },
          tasks: 2,
          failure_threshold: 1,
          autostart: false,
        },
      },
    }
    const applied = await apply(rich)
    expect([applied.status, applied.body.error]).toEqual([200, undefined])
    await apply({
      ...rich,
      smartmodules: { ...(rich.smartmodules as object), [names.big]: { source: { language: 'typescript', code: above(7) } } },
    })
    const { body } = await client.call<{ manifest: ShownManifest }>('GET', `/v1/manifests/${encodeURIComponent(manifest.set)}`)
    const again = await plan(body.manifest)
    expect([again.status, again.body.changes]).toEqual([200, []])
    const { pipelines } = body.manifest
    expect(pipelines[`${manifest.set} logged`]).toMatchObject({ steps: [{ version: '1.0.0' }, {}, { timeout_ms: 1000 }], tasks: 2 })
    expect(pipelines[names.flow]).toEqual({
      source: { stream: names.orders },
      steps: [{ module: names.big }],
      sink: { stream: names.large },
    })
    expect(JSON.stringify(body.manifest)).not.toMatch(/"(st|sm|pl)_/)
  })

  it('follows a topic of others that has got more partitions, or was made anew with fewer', async () => {
    const set = unique('grown')
    const [topic, from, flow] = [unique('theirs'), `${set} from`, `${set} flow`]
    await makeTopics(admin, { topic, numPartitions: 2 })
    const schema_id = await register(`${topic}-value`, 'JSON', '{"type":"object","properties":{"n":{"type":"integer"}}}')
    const { body } = await client.call<{ id: string }>('POST', '/v1/streams', { name: from, topic, schema_id })
    const withTasks = (tasks: number, more = {}) => ({
      set,
      pipelines: { [flow]: { source: { stream: from }, sink: { connector: 'blackhole' }, tasks, ...more } },
    })
    const hasPartitions = (count: number) =>
      eventually(
        `the stream has ${count} partitions`,
        async () => (await client.call<{ partitions: number }>('GET', `/v1/streams/${body.id}`)).body.partitions === count,
      )
    expect((await apply(withTasks(2))).status).toBe(200)
    await admin.createPartitions({ topicPartitions: [{ topic, count: 4 }] })
    await hasPartitions(4)
    expect(said(await plan(withTasks(4)))).toEqual([['pipeline', 'flow', 'update', 'live']])
    expect((await plan(withTasks(5))).status).toBe(400)
    expect((await apply(withTasks(4))).status).toBe(200)

    await deleteTopic(admin, topic)
    await makeTopics(admin, { topic, numPartitions: 1 })
    await hasPartitions(1)
    expect(said(await plan(withTasks(4, { description: 'of fewer' })))).toEqual([['pipeline', 'flow', 'update', 'live']])
  })

  it('of two hundred resources is applied in one request, and has nothing to do the second time', async () => {
    const set = unique('many')
    const numbers = Array.from({ length: 100 }, (_, index) => index)
    const streams = Object.fromEntries(numbers.map((n) => [`${set} s${n}`, { schema: { n: 'integer' }, partitions: 1 }]))
    const flow = (n: number) => ({ source: { stream: `${set} s${n}` }, sink: { connector: 'blackhole' }, autostart: false })
    const manifest = { set, streams, pipelines: Object.fromEntries(numbers.map((n) => [`${set} p${n}`, flow(n)])) }
    const applied = await client.call<Plan>('POST', '/v1/manifests/apply', { manifest: { dps: 1, ...manifest } })
    expect([applied.status, applied.body.changes?.length]).toEqual([200, 200])
    const again = await client.call<Plan>('POST', '/v1/manifests/apply', { manifest: { dps: 1, ...manifest } })
    expect([again.body.changes, again.body.unchanged]).toEqual([[], 200])
    const gone = await client.call<Plan>('POST', '/v1/manifests/apply', { manifest: { dps: 1, set }, prune: true })
    expect([gone.status, gone.body.changes?.length]).toEqual([200, 200])
  })
})
