/** Manifests: planned, applied, changed, pruned and exported, on the real service. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { PlannedChange, ShownManifest } from '../../shared/api/manifests.ts'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { openAccount, setQuotas } from '../harness/operator.ts'
import { stopAfterwards, waitForTotal, write } from '../harness/pipelines.ts'
import { moduleBody } from '../harness/rooms.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.other)
})

type Plan = { set: string; hash: string; changes: PlannedChange[]; unchanged: number }
type Given = { set: string } & Record<string, unknown>
type More = { prune?: boolean; replace?: string[]; hash?: string }
const plan = (manifest: Given, more: More = {}, as = client) =>
  as.call<Plan>('POST', '/v1/manifests/plan', { manifest: { dps: 1, ...manifest }, ...more })
const apply = async (manifest: Given, more: More = {}) => {
  const answer = await client.call<Plan>('POST', '/v1/manifests/apply', { manifest: { dps: 1, ...manifest }, ...more })
  for (const { id } of (await named('pipelines')).filter(({ name }) => name.startsWith(manifest.set))) stopAfterwards(client, id)
  return answer
}
const named = async (resources: 'streams' | 'pipelines' | 'smartmodules') => {
  const { body } = await client.call<Record<string, { id: string; name: string }[]>>(
    'GET',
    `/v1/${resources}?page_size=100&sort=-created_at`,
  )
  return body[resources === 'smartmodules' ? 'modules' : resources]!
}
const idOf = async (resources: 'streams' | 'pipelines' | 'smartmodules', name: string) =>
  (await named(resources)).find((each) => each.name === name)!.id
/** `stream orders: create`, … */
const said = (answer: { body: Plan }) =>
  answer.body.changes.map(({ kind, name, action, effect }) => [kind, name.split(' ').at(-1), action, effect])

const above = (least: number) => `import { Record, Path } from 'dps'
const AMOUNT = new Path('amount')
export function filter(record: Record): bool { return record.number(AMOUNT) > ${least} }`
/** Names begin with the set's, because several tests share an account. */
function shop(set = unique('shop')) {
  const [orders, large, big, flow] = [`${set} orders`, `${set} large`, `${set} big`, `${set} flow`]
  const schema = { id: 'string', amount: 'number' }
  const manifest = {
    set,
    streams: { [orders]: { schema, key: 'id' }, [large]: { schema, key: 'id' } },
    smartmodules: { [big]: { source: { language: 'typescript', code: above(100) } } },
    pipelines: { [flow]: { source: { stream: orders }, steps: [{ module: big }], sink: { stream: large } } },
  }
  return { manifest, set, names: { orders, large, big, flow } }
}

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

  it('is refused as a whole for a pipeline that could not be made of what is there', async () => {
    const { names, manifest, set } = shop()
    await apply(manifest)
    const { orders, large, big } = names
    const pipeline = (steps: unknown[]) => ({ source: { stream: orders }, steps, sink: { stream: large } })
    const more = {
      ...manifest,
      streams: { ...manifest.streams, [`${set} third`]: { schema: { id: 'string' }, key: 'id' } },
      pipelines: {
        ...manifest.pipelines,
        [`${set} good`]: pipeline([{ module: big }]),
        [`${set} redacts`]: pipeline([{ module: big }, { module: 'dps/redact', with: { fields: { id: 'remove' } } }]),
        [`${set} cel`]: pipeline([{ module: 'dps/cel', with: { filter: 'value.amount >' } }]),
      },
    }
    for (const answer of [await plan(more), await apply(more)]) {
      expect(answer.status).toBe(400)
      const paths = answer.body.error!.details!.map(({ path }) => path.replace(/\/fields.*/, ''))
      expect(new Set(paths)).toEqual(
        new Set([`/manifest/pipelines/${set} redacts/steps/1/with`, `/manifest/pipelines/${set} cel/steps/0/with/filter`]),
      )
    }
    expect((await named('streams')).some(({ name }) => name === `${set} third`)).toBe(false)
  })

  it('is refused as a whole for schemas, sources, tests and changes that could not be made', async () => {
    const { names, manifest, set } = shop()
    await apply(manifest)
    const { orders, large, big, flow } = names
    const module = (code: string, tests: object[] = []) => ({ source: { language: 'typescript', code }, tests })
    const one = (kind: string, name: string, part: object) => ({ ...manifest, [kind]: { ...manifest[kind as 'streams'], [name]: part } })
    const stepsOf = (...steps: object[]) => one('pipelines', flow, { source: { stream: orders }, steps, sink: { stream: large } })
    const wrong: [Given, path: string][] = [
      [one('streams', orders, { schema: { id: 'string', amount: 'string' }, key: 'id' }), `streams/${orders}/schema/amount`],
      [one('streams', `${set} third`, { schema_id: 2_000_000_000 }), `streams/${set} third/schema_id`],
      [one('smartmodules', `${set} typo`, module(above(1).replace('bool', 'bol'))), `smartmodules/${set} typo/source/code`],
      [
        one('smartmodules', big, module(above(5), [{ records: [{ value: { amount: 7 } }], out: [[]] }])),
        `smartmodules/${big}/tests/0/out/0`,
      ],
      [stepsOf({ module: 'dps/cel', with: { filter: 'value.amount >' } }), `pipelines/${flow}/steps/0/with/filter`],
      [stepsOf({ module: big }, { module: 'dps/redact', with: { fields: { id: 'remove' } } }), `pipelines/${flow}/steps/1/with`],
    ]
    for (const [given, path] of wrong)
      for (const answer of [await plan(given), await apply(given)])
        expect([answer.status, answer.body.error?.details?.map((fault) => fault.path.replace(/\/fields.*/, ''))]).toEqual([
          400,
          [`/manifest/${path}`],
        ])
    expect((await plan(manifest)).body.changes).toEqual([])
  })

  it('is refused as a whole where it would exceed a quota', async () => {
    const { client: own } = await openAccount('developer')
    const set = unique('quota')
    const streams = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`${set} ${n}`, { schema: { n: 'integer' }, partitions: 16 }]))
    const answer = await plan({ set, streams }, {}, own)
    expect([answer.status, answer.body.error?.code]).toEqual([403, 'quota_exceeded'])
  })

  it('is refused as a whole where its changed pipelines would have too many tasks, unless others give theirs up before', async () => {
    const { account, client: own } = await openAccount('enterprise')
    const set = unique('tasks')
    const manifest = (first: number, second: number) => ({
      set,
      streams: { [`${set} in`]: { schema: { n: 'integer' }, partitions: 4 }, [`${set} out`]: { schema: { n: 'integer' } } },
      pipelines: Object.fromEntries(
        [first, second].map((tasks, n) => [`${set} ${n}`, { source: { stream: `${set} in` }, sink: { stream: `${set} out` }, tasks }]),
      ),
    })
    const applied = await own.call<Plan>('POST', '/v1/manifests/apply', { manifest: { dps: 1, ...manifest(2, 1) } })
    expect(applied.status).toBe(200)
    for (const { id } of (await own.call<{ pipelines: { id: string }[] }>('GET', '/v1/pipelines')).body.pipelines) stopAfterwards(own, id)
    await setQuotas(account.account_id, { tasks: 3 })
    const refused = await plan(manifest(2, 3), {}, own)
    expect([refused.status, refused.body.error?.code]).toEqual([403, 'quota_exceeded'])
    expect((await plan(manifest(1, 2), {}, own)).body.changes).toHaveLength(2)
  })

  it('deletes nothing that could not be made anew, or that something which stays uses', async () => {
    const { names, manifest } = shop()
    await apply(manifest)
    const { orders, large, big, flow } = names
    const id = await idOf('pipelines', flow)
    // The plan can't know it: the version that is asked whether it starts is still to come.
    const config = { input_format: 'json', output_format: 'json', parameters: { properties: { least: { type: 'integer' } } } }
    const broken = {
      ...manifest,
      smartmodules: { [big]: { ...manifest.smartmodules[big], config } },
      pipelines: { [flow]: { source: { stream: large }, steps: [{ module: big, with: { least: 'much' } }], sink: { stream: orders } } },
    }
    const refused = await apply(broken, { replace: [flow] })
    expect([refused.status, refused.body.error?.message]).toEqual([400, expect.stringContaining('1 of 2 changes were made')])
    expect(refused.body.error?.details?.[0]?.path).toContain(`/manifest/pipelines/${flow}/steps/0/with`)
    expect(await idOf('pipelines', flow)).toBe(id)

    const without = { ...manifest, streams: { [orders]: manifest.streams[orders] } }
    const used = await plan(without, { prune: true })
    expect(used.body.error?.details).toEqual([{ path: '/prune', message: `the stream "${large}" is used by: ${flow}` }])
    const outside = await client.call<{ pipeline_id: string }>('POST', '/v1/pipelines', {
      name: unique('outside'),
      source: { connector_id: 'conn_stream', config: { stream_id: await idOf('streams', orders) } },
      processors: [{ module_id: big, config: {} }],
      sink: { connector_id: 'conn_blackhole', config: {} },
      autostart: false,
    })
    const all = await plan({ set: manifest.set }, { prune: true })
    expect(all.body.error?.details?.length).toBe(2)
    await client.call('DELETE', `/v1/pipelines/${outside.body.pipeline_id}`)
    expect((await apply({ set: manifest.set }, { prune: true })).status).toBe(200)
  })

  it('refuses what no resource could be, by its place', async () => {
    const end = { connector: 'stream', with: { stream_id: 'st_x' } }
    const paths = async (manifest: object) => (await plan({ set: 's', ...manifest })).body.error?.details?.map(({ path }) => path)
    expect(await paths({ streams: { a: {} } })).toEqual(['/manifest/streams/a/schema'])
    expect(await paths({ streams: { a: { schema: { n: 'integer' }, key: 'm' } } })).toEqual(['/manifest/streams/a/key'])
    expect(await paths({ streams: { ' a': { schema: { n: 'integer' } } } })).toEqual(['/manifest/streams/ a'])
    expect(await paths({ pipelines: { p: { source: end, sink: { connector: 'log' } } } })).toContain(
      '/manifest/pipelines/p/source/connector',
    )
    const nul = { pipelines: { p: { source: end, steps: [{ module: 'dps/\u0000' }], sink: { connector: 'log' } } } }
    expect(await paths(nul)).toEqual(['/manifest/pipelines/p/steps/0/module'])
  })

  it('names everything that is wrong with it, changes nothing, and is its account’s own', async () => {
    const set = unique('wrong')
    const wrong = {
      set,
      streams: { [`${set} a`]: { schema: { n: 'integer' } } },
      pipelines: {
        [`${set} p`]: {
          source: { stream: `${set} b` },
          steps: [{ module: 'nothing' }],
          sink: { connector: 'table', with: { tabel: 't' } },
        },
      },
    }
    const at = `/manifest/pipelines/${set} p`
    const { status, body } = await plan(wrong)
    expect([status, body.error?.details?.map(({ path }) => path).toSorted()]).toEqual([
      400,
      [`${at}/sink/with/table`, `${at}/sink/with/tabel`, `${at}/source/stream`, `${at}/steps/0/module`].toSorted(),
    ])
    expect((await apply(wrong)).status).toBe(400)
    expect(await named('streams')).not.toContainEqual(expect.objectContaining({ name: `${set} a` }))
    const { manifest } = shop()
    await apply(manifest)
    const { client: stranger } = await openAccount('developer')
    expect((await stranger.call('GET', `/v1/manifests/${encodeURIComponent(manifest.set)}`)).status).toBe(404)
    expect((await plan(manifest, {}, stranger)).body.changes.map(({ action }) => action)).toEqual(['create', 'create', 'create', 'create'])
  })
})
