/** A SmartModule's binary, source, tests and config are megabytes: what needs none of them does not read them. */
import { describe, expect, it } from 'vitest'
import { Manifest } from '../../shared/api/manifests.ts'
import { getSmartModuleVersionContract } from '../../shared/api/smartmodules.ts'
import { enqueueBinariesOf } from '../../services/control-plane/publisher/enqueue.ts'
import { exportSet } from '../../services/control-plane/manifests/export.ts'
import { planOf } from '../../services/control-plane/manifests/plan.ts'
import type { Database } from '../../services/control-plane/store/database.ts'
import { insertVersion, listSmartModules } from '../../services/control-plane/store/smartmodules.ts'
import type { Place } from '../../services/control-plane/tail/places.ts'
import { createRunTurns } from '../../services/control-plane/tail/run-turns.ts'
import { tail } from '../../services/control-plane/tail/tail.ts'
import { definitionOf } from '../harness/definitions.ts'
import { recordedDatabase } from '../harness/recorded-database.ts'

const MODULES = ['a', 'b'].map((name) => ({ id: `sm_${name}`, account_id: 'acc_1', name, description: '', version: '1.0.0' }))
const CODE = { a: 'export function a(): void {}', b: 'export function b(): void {}' }
const VERSION = { version: '1.0.0', sha256: 'x', input_format: 'json', output_format: 'json', config: {} }

/** A set that owns two SmartModules. */
const owning = (tests: unknown = null) =>
  recordedDatabase((sql, bindings) => {
    if (sql.includes('count(*)')) return [{ count: '2' }]
    if (sql.includes('"manifest_members"'))
      return MODULES.map(({ id }) => ({ kind: 'smartmodule', resource_id: id, set_name: 'set', fingerprint: null }))
    if (sql.includes('"smartmodules"')) return MODULES
    if (!sql.includes('"smartmodule_versions"')) return []
    const name = bindings.includes('sm_a') ? 'a' : 'b'
    const tests_text = tests === null ? null : JSON.stringify(tests)
    return [{ ...VERSION, tests_text, smartmodule_id: `sm_${name}`, source: { language: 'typescript', code: CODE[name] } }]
  })

const planned = (smartmodules: object) => Manifest.parse({ dps: 1, set: 'set', smartmodules })
const deployed = (code: string) => ({ source: { language: 'typescript', code } })

/** A set of these sizes. */
const measured = (...bytes: number[]) =>
  recordedDatabase((sql) =>
    sql.includes('octet_length') ? bytes.map((each, index) => ({ kind: 'smartmodule', name: `m${index}`, bytes: each })) : [],
  )

/** What the queries for SmartModules ask for. */
const columnsOf = (asked: readonly string[]) =>
  asked.filter((sql) => sql.includes('"smartmodules"') && !sql.includes('count(*)')).map((sql) => sql.slice(0, sql.indexOf(' from ')))
const LARGE = /\*|"(config|source|tests)"/

describe('no config, source or test is read', () => {
  it('for a list of SmartModules', async () => {
    const { db, asked } = owning()
    await listSmartModules(db, 'acc_1', { page: 1, page_size: 100, sort: '-created_at' })
    expect(columnsOf(asked)).toEqual([expect.not.stringMatching(LARGE)])
  })

  it('of SmartModules that a set owns and its manifest does not name', async () => {
    const { db, asked } = owning()
    const none = { manifest: planned({}), prune: true, replace: [] }
    expect((await planOf(db, 'acc_1', none)).changes.map(({ action, name }) => [action, name])).toEqual([
      ['delete', 'a'],
      ['delete', 'b'],
    ])
    expect(columnsOf(asked)).toEqual([expect.not.stringMatching(LARGE)])
    expect(asked.filter((sql) => sql.includes('"smartmodule_versions"'))).toEqual([])
  })
})

/** A database that has one binary, and what is received and sent of it. */
function binaries() {
  const received: string[] = []
  const sent: Buffer[] = []
  const { db } = recordedDatabase((sql, bindings) => {
    sent.push(...bindings.filter((each) => Buffer.isBuffer(each)))
    if (/returning [^)]*"content"$/.test(sql)) received.push(sql)
    return [{ sha256: 'x', content: Buffer.alloc(1) }]
  })
  return { db, received, sent }
}

const tailDeps = (db: Database) => ({
  db,
  runTurns: createRunTurns(),
  cluster: {
    describeTopic: async () => ({ topicId: 'x', leaders: [0] }),
    offsets: async () => new Map([[0, 0n]]),
    bounds: async () => new Map([[0, { start: 0n, end: 0n }]]),
  },
})

describe('no binary is read', () => {
  it('for a tail whose steps have no record to run', async () => {
    const { db, asked } = recordedDatabase(() => [{ content: Buffer.alloc(1) }])
    const place: Place = { topic: 't', pipelineId: 'pl_1', isDeadLetters: false, steps: [{ sha256: 'x' } as Place['steps'][number]] }
    const events = tail(tailDeps(db) as never, { accountId: 'acc_1', filter: undefined, last: 0, place: async () => place })
    const told: unknown[] = []
    const looks = [true, false]
    const { signal } = new AbortController()
    await events({ send: (...event) => told.push(event) > 0, room: async () => looks.shift()!, lastEventId: undefined, signal })
    expect([told, asked]).toEqual([[], []])
  })

  it('for the first start of what runs it: Postgres itself copies it into the outbox', async () => {
    const { db, received, sent } = binaries()
    await enqueueBinariesOf(db, { ...definitionOf('pl_1'), steps: [{ sha256: 'x' } as Place['steps'][number]] })
    expect([received, sent]).toEqual([[], []])
  })
})

describe('a version', () => {
  it('is stored with its binary sent once', async () => {
    const { db, sent } = binaries()
    const version = {
      ...VERSION,
      smartmodule_id: 'sm_a',
      ordinal: 1,
      kind: 'batch',
      extism_function: null,
      source: null,
      tests: null,
    } as const
    await insertVersion(db, version, Buffer.from('x'))
    expect(sent.map(String)).toEqual(['x'])
  })

  it('is shown to few requests of an account at once: with its binary it has megabytes', () => {
    expect(getSmartModuleVersionContract).toMatchObject({ isCostly: true })
  })
})

describe('a manifest', () => {
  it('is compared with the newest version of each SmartModule that it names, read on its own', async () => {
    const { db, asked } = owning()
    const both = { manifest: planned({ a: deployed(CODE.a), b: deployed(CODE.a) }), prune: false, replace: [] }
    expect((await planOf(db, 'acc_1', both)).changes).toMatchObject([
      { name: 'b', differences: [{ path: '/code', before: CODE.b, after: CODE.a }] },
    ])
    expect(asked.filter((sql) => sql.includes('"smartmodule_versions"'))).toHaveLength(2)
  })

  it('has a plan without the large tests that it replaces: their hash is there instead', async () => {
    const test = (text: string) => ({ records: [{ key: text, value: 1 }], out: [] })
    const { db } = owning([test('x'.repeat(500_000)), test('y')])
    const replaced = { manifest: planned({ a: { ...deployed(CODE.a), tests: [test('z')] } }), prune: false, replace: [] }
    const [change] = (await planOf(db, 'acc_1', replaced)).changes
    expect(change?.differences).toEqual([
      { path: '/tests', before: expect.stringMatching(/^sha256:[0-9a-f]{64}$/), after: [expect.objectContaining({ out: [] })] },
    ])
  })
})

describe('a set', () => {
  it('is measured before anything of it is read, and not exported where a manifest could not hold it', async () => {
    const { db, asked } = measured(10 << 20, 7 << 20)
    await expect(exportSet(db, 'acc_1', 'set')).rejects.toMatchObject({
      status: 409,
      message: expect.stringMatching(/17825792 bytes.* 16777216\. .*smartmodule "m0" with 10485760$/),
    })
    expect(asked).toHaveLength(1)
    const fitting = measured(10 << 20, 6 << 20)
    await exportSet(fitting.db, 'acc_1', 'set')
    expect(fitting.asked.length).toBeGreaterThan(1)
  })
})
