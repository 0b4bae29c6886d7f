/** Manifests that can’t be applied: all that is wrong is named by its place, and nothing is changed. */
import { describe, expect, it } from 'vitest'
import { loggedIn, service, unique } from '../harness/client.ts'
import { above, manifestsOf, shop, type Given, type Plan } from '../harness/manifests.ts'
import { openAccount, setQuotas } from '../harness/operator.ts'
import { stopAfterwards } from '../harness/pipelines.ts'

const client = await loggedIn(service().accounts.other)
const { plan, apply, named, idOf } = manifestsOf(client)

describe('a manifest that can’t be applied', () => {
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
    const answer = await manifestsOf(own).plan({ set, streams })
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
    const refused = await manifestsOf(own).plan(manifest(2, 3))
    expect([refused.status, refused.body.error?.code]).toEqual([403, 'quota_exceeded'])
    expect((await manifestsOf(own).plan(manifest(1, 2))).body.changes).toHaveLength(2)
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

  it('names at once all that is wrong with a set that is not there yet, and depends on nothing that is to come', async () => {
    const { names, manifest, set } = shop()
    const { orders, large, big } = names
    const pipeline = (steps: object[], more: object = {}) => ({ source: { stream: orders }, steps, sink: { stream: large }, ...more })
    const broken = {
      set,
      streams: { ...manifest.streams, [`${set} keyless`]: { schema: { id: 'string' }, key: 'nokey' } },
      smartmodules: { ...manifest.smartmodules, [`${set} empty`]: {} },
      pipelines: {
        [`${set} operator`]: pipeline([{ module: big }, { module: 'dps/filter', with: { field: 'id', operator: 'about', value: 'a' } }]),
        [`${set} member`]: pipeline([{ module: 'dps/redact', with: { feilds: { id: 'mask' } } }]),
        [`${set} version`]: pipeline([{ module: 'dps/cel', version: '99.0.0', with: { filter: 'true' } }]),
        [`${set} cel`]: pipeline([{ module: 'dps/cel', with: { filter: 'value.amount >' } }]),
        [`${set} secret`]: pipeline([], {
          sink: { connector: 'redis', with: { url: 'redis://127.0.0.1:1', password: { $secret: 'none_such' }, stream: 's' } },
        }),
        [`${set} unknown`]: pipeline([{ module: 'nothing' }, { module: 'dps/cel', with: { filter: '1 +' } }], { sink: { stream: 'none' } }),
        [`${set} tasks`]: pipeline([], { tasks: 5 }),
        [`${set} start`]: pipeline([], { source: { connector: 'generator', with: {} }, start: 'latest' }),
        [`${set} key`]: pipeline([{ module: `${set} empty` }], { sink: { stream: `${set} keyless` } }),
      },
    }
    const answers = [await plan(broken), await apply(broken)]
    for (const { status, body } of answers) {
      const paths = body.error?.details?.map(({ path }) => path.replace(`/manifest/`, '').replace(`${set} `, ''))
      expect([status, paths?.toSorted()]).toEqual([
        400,
        [
          'pipelines/cel/steps/0/with/filter',
          'pipelines/member/steps/0/with/feilds',
          'pipelines/operator/steps/1/with/operator',
          'pipelines/secret/sink/with/password/$secret',
          'pipelines/start/start',
          'pipelines/tasks/tasks',
          'pipelines/unknown/sink/stream',
          'pipelines/unknown/steps/0/module',
          'pipelines/unknown/steps/1/with/filter',
          'pipelines/version/steps/0/version',
          'smartmodules/empty/source',
          'streams/keyless/key',
        ],
      ])
    }
    expect((await named('streams')).filter(({ name }) => name.startsWith(set))).toEqual([])
    const slip = await plan(manifest, { replace: [names.flow, 'none such'] })
    expect(slip.body.error?.details).toEqual([{ path: '/replace/1', message: 'is not a pipeline of this manifest' }])
  })

  it('makes nothing where the key may not use the secrets of a pipeline', async () => {
    const scopes = ['pipelines:read', 'pipelines:write', 'streams:read', 'streams:write', 'smartmodules:read', 'smartmodules:write']
    const own = await openAccount('developer')
    expect((await own.client.call('POST', '/v1/secrets', { name: 'shop_redis', value: 'hidden' })).status).toBe(201)
    const key = await own.client.call<{ api_key: string; api_secret: string }>('POST', '/v1/keys', { name: 'no secrets', scopes })
    expect(key.status).toBe(201)
    const without = await loggedIn(key.body)
    const set = unique('secretive')
    const refused = await without.call<Plan>('POST', '/v1/manifests/apply', {
      manifest: {
        dps: 1,
        set,
        streams: { [`${set} in`]: { schema: { n: 'integer' } } },
        pipelines: {
          [`${set} p`]: {
            source: { stream: `${set} in` },
            sink: { connector: 'redis', with: { url: 'redis://127.0.0.1:1', password: { $secret: 'shop_redis' }, stream: 's' } },
          },
        },
      },
    })
    expect([refused.status, refused.body.error?.message]).toEqual([403, expect.stringContaining('secrets:use')])
    expect((await own.client.call<{ streams: object[] }>('GET', '/v1/streams')).body.streams).toEqual([])
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
    expect((await manifestsOf(stranger).plan(manifest)).body.changes.map(({ action }) => action)).toEqual([
      'create',
      'create',
      'create',
      'create',
    ])
  })
})
