/** Definitions are up to 1 MiB each: what needs none of one does not read it. */
import { Redis } from 'ioredis'
import { describe, expect, it } from 'vitest'
import { PipelineDefinition } from '../../shared/model/definition.ts'
import { newId } from '../../shared/model/ids.ts'
import * as jobs from '../../services/control-plane/store/jobs.ts'
import { isDrained } from '../../services/control-plane/reconciler/pipelines.ts'
import { createPushables } from '../../services/control-plane/ingest/ingest.ts'
import type { Deps } from '../../services/control-plane/deps.ts'
import { createIntakeTrimmer } from '../../services/control-plane/upkeep/trim-intakes.ts'
import * as pipelines from '../../services/control-plane/store/pipelines.ts'
import { invalidCredentials } from '../../services/control-plane/access/credentials.ts'
import { createRateLimit } from '../../services/control-plane/middleware/rate-limit.ts'
import { ServiceError } from '../../services/control-plane/service-error.ts'
import { freePort } from '../../deploy/local/ports.ts'
import { definitionOf } from '../harness/definitions.ts'
import { recordedDatabase } from '../harness/recorded-database.ts'

const PIPELINE = { id: 'pl_1', attempt: 1, definition: definitionOf('pl_1') }
const page = { page: 1, page_size: 100, sort: '-created_at', cursor: undefined }
const READS = [
  ['the jobs of a list', (db) => jobs.listJobs(db, 'acc_1', page)],
  ['one job', (db) => jobs.findJob(db, 'acc_1', 'job_1')],
  ['the jobs that an account’s listeners are told of', (db) => jobs.listMovingJobs(db, 'acc_1', [], new Date())],
  ['the jobs that the reconciler settles', (db) => jobs.listUnfinishedJobs(db)],
  ['whether a pipeline has jobs left', (db) => isDrained(db, PIPELINE, false)],
  ['the jobs that go with a pipeline', (db) => jobs.listJobsOf(db, 'pl_1')],
  ['a job that was changed', (db) => jobs.updateJob(db, 'job_1', { progress: 1 })],
] satisfies [string, (db: ReturnType<typeof recordedDatabase>['db']) => Promise<unknown>][]

describe('without its definition is read', () => {
  it.each(READS)('%s', async (_what, read) => {
    const { db, asked } = recordedDatabase((sql) => (sql.includes('count(*)') ? [{ count: '0' }] : []))
    await read(db)
    expect(asked).not.toEqual([])
    for (const sql of asked.filter((each) => each.includes('"jobs"') && !each.includes('count(*)'))) {
      expect(sql).not.toMatch(/"definition"|\*/)
    }
  })
})

describe('a pipeline with an unfinished job', () => {
  it('is not drained, also where a later version has written the job', async () => {
    const { db } = recordedDatabase((sql) => (sql.includes('"jobs"') ? [{ id: 'job_1', definition: { of: 'a later version' } }] : []))
    expect(await isDrained(db, PIPELINE, false)).toBe(false)
  })
})

const DEFINITION = {
  pipeline_id: 'pl_1',
  account_id: 'acc_1',
  name: 'n',
  revision: 1,
  attempt: 1,
  desired: 'running',
  tasks: 1,
  sink: { kind: 'connector', connector_id: 'c', config: {} },
  dead_letter_topic: 'd',
  dead_letter_bytes_max: 1,
  group_id: 'g',
  steps: [] as object[],
}

describe('a stored config', () => {
  const member = () => {
    throw new Error('a member was looked at')
  }
  const step = { module_id: 'm', name: 'n', version: '1', sha256: 'x', kind: 'batch', input_format: 'json', output_format: 'json' }
  const endpoint = { kind: 'connector', connector_id: 'c' }
  const definition = (config: unknown) => ({
    ...DEFINITION,
    source: { ...endpoint, topic: 't', config },
    sink: { ...endpoint, config },
    steps: [{ ...step, config, canary: { ...step, config, share: 0.5, max_failing: 0 } }],
  })

  it('is not walked when a definition is read', () => {
    const config = Object.defineProperty({}, 'a', { enumerable: true, get: member })
    expect(PipelineDefinition.safeParse(definition(config)).error?.issues).toBeUndefined()
  })

  it.each([[[]], [null], ['text'], [undefined]])('must be an object, not %j', (config) => {
    expect(PipelineDefinition.safeParse(definition(config)).success).toBe(false)
  })
})

describe('pushes', () => {
  const admit = () => Promise.resolve()
  const row = {
    id: 'pl_1',
    account_id: 'acc_1',
    status: 'running',
    definition: {
      ...DEFINITION,
      source: { kind: 'connector', connector_id: 'conn_webhook', topic: 't', config: { secret: { $secret: 's' } } },
    },
  }

  it('read the definition of a pipeline, or that there is none, once in two seconds', async () => {
    const [known, other] = [newId('pipeline'), newId('pipeline')]
    let now = 0
    const { db, asked } = recordedDatabase((_sql, bindings) => (bindings.includes(known) ? [{ ...row, id: known }] : []))
    const find = createPushables({ db }, () => now)
    for (let count = 0; count < 5; count++) {
      expect(await find(known, admit)).toMatchObject({ id: known, account_id: 'acc_1', topic: 't' })
      expect(await find(other, admit)).toBeUndefined()
    }
    expect(asked).toHaveLength(2)
    now = 2001
    await find(known, admit)
    expect(asked).toHaveLength(3)
  })

  it('ask for no pipeline whose id can be none', async () => {
    const { db, asked } = recordedDatabase(() => [])
    const find = createPushables({ db }, () => 0)
    expect([await find('\0', admit), await find('p'.repeat(1000), admit), asked.length]).toEqual([undefined, undefined, 0])
  })

  it('to pipelines that they may not be for, from one address, are refused without a query after sixty, and others go on', async () => {
    const redis = new Redis({ port: await freePort(), enableOfflineQueue: false, maxRetriesPerRequest: 0 })
    redis.on('error', () => {})
    const limits = createRateLimit(redis, 'test', 100, () => '192.0.2.1')
    const known = newId('pipeline')
    const { db, asked } = recordedDatabase((_sql, bindings) => (bindings.includes(known) ? [{ ...row, id: known }] : []))
    let now = 0
    const find = createPushables({ db }, () => now)
    const lookFor = (id: string) => find(id, () => limits.assertFewFailed('signature', '- 192.0.2.1'))
    const push = async (id: string): Promise<number> => {
      const refuse = () => Promise.reject(invalidCredentials('it is not signed'))
      const work = async () => (await lookFor(id)) ?? (await limits.guarded('signature', '- 192.0.2.1', refuse))
      return work().then(
        () => 202,
        (error: unknown) => (error instanceof ServiceError ? error.status : 0),
      )
    }
    expect(await push(known)).toBe(202)
    const statuses: number[] = []
    for (let count = 0; count < 100; count++) statuses.push(await push(newId('pipeline')))
    expect(statuses).toEqual(Array.from({ length: 100 }, (_, index) => (index < 60 ? 401 : 429)))
    expect(asked).toHaveLength(61)
    for (const sql of asked) expect(sql).not.toContain('*')
    now = 2001
    expect([await push(known), asked.length]).toEqual([202, 62])
    redis.disconnect()
  })

  it('look without the definition whether the pipeline is still kept', async () => {
    const { db, asked } = recordedDatabase((_sql, bindings) => (bindings.includes('pl_1') ? [{ id: 'pl_1' }] : []))
    expect([await pipelines.isPipelineKept(db, 'pl_1'), await pipelines.isPipelineKept(db, 'pl_2')]).toEqual([true, false])
    for (const sql of asked) expect(sql).not.toMatch(/"definition"|\*/)
  })
})

describe('upkeep over the pipelines of all accounts', () => {
  it.each([
    ['of those that stand still', pipelines.listIdlePipelines],
    ['of those that may have an intake topic', pipelines.listPerhapsSourced],
    ['of the jobs of suspended accounts', jobs.listSuspendedJobs],
  ])('lists ids alone: %s', async (_what, list) => {
    const { db, asked } = recordedDatabase(() => [])
    await list(db)
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatch(/^select "(id|pipeline_id)"(, "pipeline_id")? from/)
  })

  it('reads one definition after the other, and goes on after one that can’t be read', async () => {
    const topics: string[] = []
    const { db } = recordedDatabase((sql, bindings) => {
      if (sql.includes('LIKE')) return [{ id: 'pl_1' }, { id: 'pl_2' }, { id: 'pl_3' }]
      const source = { kind: 'connector', connector_id: 'c', topic: String(bindings[0]), config: {} }
      return [{ id: bindings[0], definition: bindings[0] === 'pl_1' ? { of: 'a later version' } : { ...DEFINITION, source } }]
    })
    const cluster = { describeTopic: async (topic: string) => void topics.push(topic) } as unknown as Deps['cluster']
    const log = { debug: () => {} } as unknown as Deps['log']
    await createIntakeTrimmer({ db, cluster, withAdmin: () => Promise.reject(new Error('no topic is there')), log })()
    expect(topics).toEqual(['pl_2', 'pl_3'])
  })
})
