/** What goes by itself: dead letters beyond their quotas, binaries that nothing uses, pipelines whose tasks have ended. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isDrained, takeDownPipeline } from '../../services/control-plane/reconciler/pipelines.ts'
import type { Deps } from '../../services/control-plane/deps.ts'
import { sweepReports } from '../../services/control-plane/upkeep/sweep-reports.ts'
import { trimDeadLetters } from '../../services/control-plane/upkeep/trim-dead-letters.ts'
import { openDatabase, type Database } from '../../services/control-plane/store/database.ts'
import { findAnyPipeline, listUnfinishedPipelines, type PipelineRow } from '../../services/control-plane/store/pipelines.ts'
import { sweepBinaries } from '../../services/control-plane/store/smartmodules.ts'
import { createKafka, type KafkaAdmin } from '../../shared/kafka/admin/admin.ts'
import { openCluster } from '../../shared/kafka/cluster.ts'
import { appendRecords } from '../../shared/kafka/append.ts'
import { serviceNames } from '../../shared/model/definition.ts'
import { cpuUseKey } from '../../shared/model/observed.ts'
import { hourOf } from '../../shared/model/times.ts'
import { createLogger } from '../../shared/telemetry/log.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { eventually, service, unique, type Client } from '../harness/client.ts'
import { lettersOf as letterPage } from '../harness/connectors.ts'
import { definitionOf } from '../harness/definitions.ts'
import { filterOverN } from '../harness/modules.ts'
import { openAccount, setQuotas } from '../harness/operator.ts'
import { openOwnDatabase } from '../harness/own-database.ts'
import { entriesIn } from '../harness/topic-entries.ts'
import { createPipeline, createStream, waitForStatus, waitForTotal, write } from '../harness/pipelines.ts'
import { exactProducer } from '../harness/exact-producer.ts'

let db: Database
let admin: KafkaAdmin
beforeAll(async () => {
  db = openDatabase(service().databaseUrl, 2)
  admin = createKafka(service().brokers, 'upkeep').admin()
  await admin.connect()
})
afterAll(async () => {
  await admin.disconnect()
  await db.destroy()
})

const lettersOf = async (client: Client, id: string) => (await letterPage(client, id)).dead_letters

const upload = async (code: string) => ({
  wasm_binary: Buffer.from(await compileSmartModule(code)).toString('base64'),
  config: { input_format: 'json', output_format: 'json' },
})

describe('dead letters', () => {
  it('go beyond the account’s quota, the oldest first, and the others can still be redriven', async () => {
    const { account, client } = await openAccount('enterprise')
    const [from, to] = [await createStream(client, { n: 'integer' }, { partitions: 1 }), await createStream(client, { n: 'integer' })]
    const name = unique('failing')
    await client.call('POST', '/v1/smartmodules', { name, ...(await upload(filterOverN(`record.fail('no')\n  return true`))) })
    const id = await createPipeline(client, from.id, [{ name, config: {} }], to.id)
    for (let n = 0; n < 10; n++) await write(client, from.id, [{ n }])
    await eventually('ten dead letters', async () => (await lettersOf(client, id)).length === 10)
    const trim = () => trimDeadLetters({ db, withAdmin: (work) => work(admin), log: createLogger('upkeep', 'silent') }, account.account_id)
    await trim()
    expect(await lettersOf(client, id)).toHaveLength(10)

    type Shown = { quotas: Record<string, { used: number }> }
    const used = (await client.call<Shown>('GET', '/v1/account')).body.quotas.dead_letter_bytes!.used
    await setQuotas(account.account_id, { dead_letter_bytes: Math.floor(used * 0.45) })
    await trim()
    const left = await lettersOf(client, id)
    expect(left.map(({ offset }) => Number(offset)).toSorted((a, b) => a - b)).toEqual([6, 7, 8, 9])
    const topic = `${service().env.DPS_PREFIX}.${account.account_id}.${id}.dead-letters`
    expect(Number((await admin.fetchTopicOffsets(topic))[0]!.low)).toBeGreaterThan(0)

    const fixed = { version: '2.0.0', ...(await upload(filterOverN('return true'))) }
    await client.call('POST', '/v1/smartmodules', { name, ...fixed })
    await client.call('PATCH', `/v1/pipelines/${id}`, { processors: [{ module_id: name, config: {} }] })
    const redriven = await client.call<{ count: number }>('POST', `/v1/pipelines/${id}/dead-letters/redrive`, {})
    expect([redriven.status, redriven.body.count]).toEqual([202, 4])
    await waitForTotal(client, to.id, 4)

    await write(client, from.id, [{ n: 100 }])
    await setQuotas(account.account_id, { dead_letter_days: 0 })
    await eventually('the redrive is over', async () => {
      await trim()
      return (await client.call<{ quotas: Shown['quotas'] }>('GET', '/v1/account')).body.quotas.dead_letter_bytes!.used === 0
    })
  })
})

describe('a binary', () => {
  it('goes once no version, revision or job uses it, and can be uploaded again', async () => {
    const { client } = await openAccount('enterprise')
    const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const name = unique('short-lived')
    const body = { name, ...(await upload(filterOverN(`return value > ${Date.now() % 1_000_000}`))) }
    const { sha256 } = await deployed()
    async function deployed() {
      const made = await client.call<{ id: string }>('POST', '/v1/smartmodules', body)
      return (await client.call<{ id: string; sha256: string }>('GET', `/v1/smartmodules/${made.body.id}`)).body
    }
    const isThere = async () => {
      await db.transaction((trx) => sweepBinaries(trx))
      return (await db('smartmodule_binaries').where({ sha256 })).length === 1
    }
    const id = await createPipeline(client, from.id, [{ name, config: {} }], to.id)
    expect(await isThere()).toBe(true)
    await client.call('DELETE', `/v1/pipelines/${id}`)
    await eventually('the pipeline is gone', async () => (await client.call('GET', `/v1/pipelines/${id}`)).status === 404)
    expect(await isThere()).toBe(true)
    const { modules } = (await client.call<{ modules: { id: string }[] }>('GET', `/v1/smartmodules?name=${name}`)).body
    // A pipeline that is still being removed uses it.
    await eventually(
      'the SmartModule is deleted',
      async () => (await client.call('DELETE', `/v1/smartmodules/${modules[0]!.id}`)).status === 204,
    )
    await eventually('the binary is gone', async () => !(await isThere()))
    // Published anew: processors have forgotten it.
    await deployed()
    await createPipeline(client, from.id, [{ name, config: {} }], to.id)
    await write(client, from.id, [{ n: 2_000_000 }])
    await waitForTotal(client, to.id, 1)
  })
})

describe('a pipeline that is being deleted', () => {
  it('has drained once each of its tasks has said so of the current attempt', async () => {
    const { client } = await openAccount('enterprise')
    const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const id = await createPipeline(client, from.id, [], to.id)
    await waitForStatus(client, id, 'running')
    const found = async () => (await findAnyPipeline(db, id))!
    expect(await isDrained(db, await found())).toBe(false)
    await client.call('POST', `/v1/pipelines/${id}/stop`)
    await waitForStatus(client, id, 'stopped')
    expect(await isDrained(db, await found())).toBe(true)
    // The reports of before say nothing of what a start has begun since.
    const stopped = await found()
    expect(await isDrained(db, { ...stopped, attempt: stopped.attempt + 1 })).toBe(false)
    const more = { ...stopped.definition, tasks: stopped.definition.tasks + 1 }
    expect(await isDrained(db, { ...stopped, definition: more })).toBe(false)
    await db('observed_tasks').where({ pipeline_id: id }).delete()
    expect(await isDrained(db, stopped)).toBe(false)
    expect(await isDrained(db, stopped, false)).toBe(true)
  })

  it('loses its groups before what it has made in the other systems goes', async () => {
    const done: string[] = []
    const workshop = { run: () => Promise.resolve(done.push('dispose') && { disposed: true }) } as unknown as Deps['workshop']
    const noting = {
      deleteGroups: ([group]: string[]) => Promise.resolve(done.push(`group ${group!.split('.').at(-1)}`) && []),
      deleteTopics: () => Promise.resolve(void done.push('topics')),
    } as unknown as KafkaAdmin
    const source = { kind: 'connector', connector_id: 'conn_table', config: { table: 't' }, topic: 'in', partitions: 1 } as const
    const definition = definitionOf('pl_none', { source })
    const row = { id: 'pl_none', account_id: 'acc_a', status: 'deleting', updated_at: new Date(), definition } as PipelineRow
    const deps = {
      db,
      withAdmin: <T>(work: (given: KafkaAdmin) => Promise<T>) => work(noting),
      names: serviceNames('none'),
      notifyPublisher: () => {},
      connectorDefaults: { addresses: 'any', bucket_folders: [], per_account: { warehouse: false, bucket: false } },
      workshop,
      log: createLogger('upkeep', 'silent'),
    } as unknown as Deps
    await takeDownPipeline(deps, row)
    expect(done.slice(0, 3)).toEqual(['group pl_none', 'group intake', 'dispose'])
  })
})

describe('what is left half done', () => {
  it('is listed with the oldest of each account first, and without what is to wait', async () => {
    const own = await openOwnDatabase('unfinished')
    const row = (id: string, account_id: string, minutesAgo: number) => ({
      id,
      account_id,
      name: id,
      description: '',
      status: 'deleting',
      desired: 'stopped',
      revision: 1,
      attempt: 1,
      request: '{}',
      definition: JSON.stringify(definitionOf(id)),
      updated_at: new Date(Date.now() - minutesAgo * 60_000),
    })
    for (const [id, name] of [
      ['acc_many', 'many'],
      ['acc_few', 'few'],
    ])
      await own.db('accounts').insert({ id, name, type: 'developer' })
    await own
      .db('pipelines')
      .insert([
        ...Array.from({ length: 60 }, (_, index) => row(`pl_${index}`, 'acc_many', 100 - index)),
        row('pl_few', 'acc_few', 1),
        row('pl_young', 'acc_few', 0),
      ])
    const listed = async (held: string[]) => (await listUnfinishedPipelines(own.db, 15_000, held)).map(({ id }) => id)
    const all = await listed([])
    expect(all).toHaveLength(50)
    expect(all.slice(0, 3)).toEqual(['pl_0', 'pl_few', 'pl_1'])
    expect((await listed(['pl_0', 'pl_few'])).slice(0, 2)).toEqual(['pl_1', 'pl_2'])
    await own.close()
  })
})

describe('reports and ledger entries', () => {
  it('are passed over where they are not JSON', async () => {
    const { client } = await openAccount('enterprise')
    const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const id = await createPipeline(client, from.id, [], to.id)
    await waitForStatus(client, id, 'running')
    const { observed, ledger } = serviceNames(service().env.DPS_PREFIX!)
    const producer = exactProducer(createKafka(service().brokers, 'upkeep'))
    await producer.connect()
    for (const topic of [observed, ledger]) await producer.send({ topic, messages: [{ key: `${id}/odd`, value: '{' }] })
    await producer.disconnect()
    await write(client, from.id, [{ n: 1 }])
    await eventually('the ledger has what came later', async () => {
      const { body } = await client.call<{ entries: unknown[] }>('GET', `/v1/pipelines/${id}/ledger`)
      return body.entries.length > 0
    })
    await eventually('so have the reports', async () => {
      const { body } = await client.call<{ totals: { out: number } }>('GET', `/v1/pipelines/${id}/accounting`)
      return body.totals.out === 1
    })
  })

  it('get tombstones once their pipeline is gone, and those of the others stay', async () => {
    const { client } = await openAccount('enterprise')
    const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const [gone, kept] = [await createPipeline(client, from.id, [], to.id), await createPipeline(client, from.id, [], to.id)]
    await write(client, from.id, [{ n: 1 }])
    await waitForTotal(client, to.id, 2)
    await waitForStatus(client, gone, 'running')
    await waitForStatus(client, kept, 'running')
    await client.call('DELETE', `/v1/pipelines/${gone}`)
    await eventually('the pipeline is gone', async () => (await findAnyPipeline(db, gone)) === undefined)
    const names = serviceNames(service().env.DPS_PREFIX!)
    const cluster = openCluster({ brokers: service().brokers, clientId: 'upkeep' })
    /** How many keys of the pipeline the topic holds a value of. */
    const keysOf = async (topic: string, id: string): Promise<number> =>
      [...(await entriesIn(cluster, topic)).keys()].filter((key) => key.startsWith(`${id}/`)).length
    // Counts of CPU seconds, of which an old one goes too.
    const [old, fresh] = [2, 0].map((days) => ({
      account_id: unique('acc'),
      processor_id: 'p',
      cpu_seconds: 1,
      hour: hourOf(Date.now() - days * 86_400_000),
    }))
    const counts = [old!, fresh!].map((count) => ({ key: cpuUseKey(count), value: Buffer.from(JSON.stringify(count)) }))
    const connections = cluster.openConnections('upkeep')
    await appendRecords(cluster, connections, names.observed, counts, Date.now())
    await connections.close()
    for (const topic of [names.observed, names.ledger]) {
      const before = await keysOf(topic, kept)
      expect(before).toBeGreaterThan(0)
      expect(await keysOf(topic, gone)).toBeGreaterThan(0)
      await eventually('no key of it has a value', async () => {
        await sweepReports({ db, cluster, names }, topic)
        return (await keysOf(topic, gone)) === 0
      })
      expect(await keysOf(topic, kept)).toBe(before)
    }
    const keptCounts = [old!, fresh!].map(({ account_id }) => keysOf(names.observed, `cpu/${account_id}`))
    expect(await Promise.all(keptCounts)).toEqual([0, 1])
    await cluster.close()
  })
})
