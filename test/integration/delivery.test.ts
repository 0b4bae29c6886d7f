/** Policies, dead letters and their redrive, hot swap, replay, explain: the API shows where every record went. */
import { beforeAll, describe, expect, it } from 'vitest'
import { keepOffset } from '../../services/control-plane/upkeep/keep-offsets.ts'
import { createKafka } from '../../shared/kafka/admin/admin.ts'
import { openCluster } from '../../shared/kafka/cluster.ts'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { deployModule, filterOverN } from '../harness/modules.ts'
import { killProcessors } from '../harness/processes.ts'
import { createPipeline, createStream, readAll, readPartition, waitForRevision } from '../harness/pipelines.ts'
import { waitForAccounting, waitForStatus, waitForTotal, write } from '../harness/pipelines.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.other)
})

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => ({ n: from + index }))
const streams = async (more: Record<string, unknown> = {}) =>
  Promise.all([createStream(client, { n: 'integer' }, more), createStream(client, { n: 'integer' }, more)])

type Letters = {
  dead_letters: {
    id: string
    partition: number
    offset: number
    step: number
    module: string
    version: string
    error: { code: string; message: string }
    attempts: number
    status: string
    key: { text: string } | null
    value: { base64: string; json: { n: number } }
    headers: { key: string; base64: string }[]
  }[]
  total: number
}
const letters = async (id: string, query = '') =>
  (await client.call<Letters>('GET', `/v1/pipelines/${id}/dead-letters?page_size=100${query}`)).body
const waitForLetters = (id: string, total: number, query = '') =>
  eventually(`${total} dead letters`, async () => {
    const found = await letters(id, query)
    return found.total === total && found
  })
const waitForJob = (id: string, status: string) =>
  eventually(`job ${id} is ${status}`, async () => {
    const { body } = await client.call<{ status: string }>('GET', `/v1/jobs/${id}`)
    return body.status === status && body
  })
const accountingOf = (id: string, records: number) => waitForAccounting(client, id, records)
const sorted = (records: Record<string, unknown>[]) => records.map(({ n }) => Number(n)).sort((a, b) => a - b)

const FAIL_TENTHS = filterOverN(`if (value % 10 == 3) record.fail('ends in three', 77)\n  return true`)

describe('a failed record', () => {
  it('becomes a dead letter with its bytes and context, and arrives once when it is redriven through a fixed SmartModule', async () => {
    const [from, to] = await streams()
    const module = await deployModule(client, FAIL_TENTHS)
    const id = await createPipeline(client, from.id, [{ name: module.name, config: {} }], to.id)
    await write(client, from.id, numbers(0, 100))
    const found = await waitForLetters(id, 10)
    expect(found.dead_letters.map(({ value }) => value.json.n).sort((a, b) => a - b)).toEqual([3, 13, 23, 33, 43, 53, 63, 73, 83, 93])
    expect(found.dead_letters[0]).toMatchObject({
      step: 1,
      module: module.name,
      version: '1.0.0',
      error: { code: 'module_error_77', message: 'ends in three' },
      attempts: 1,
      status: 'pending',
      headers: [],
    })
    await waitForTotal(client, to.id, 90)
    expect(await accountingOf(id, 100)).toMatchObject({ balanced: true, totals: { in: 100, out: 90, dead_lettered: 10, in_flight: 0 } })
    expect((await letters(id, '&error=module_error_77&step=1&version=1.0.0')).total).toBe(10)
    expect((await letters(id, '&error=other')).total).toBe(0)

    const dry = await client.call('POST', `/v1/pipelines/${id}/dead-letters/redrive`, { dry_run: true })
    expect([dry.status, dry.body]).toEqual([200, { dry_run: true, count: 10 }])
    // Through the same SmartModule it fails again: a new dead letter with one more attempt, nothing delivered.
    const again = await client.call<{ id: string; count: number }>('POST', `/v1/pipelines/${id}/dead-letters/redrive`, {
      ids: [found.dead_letters[0]!.id],
    })
    expect([again.status, again.body.count]).toEqual([202, 1])
    await waitForJob(again.body.id, 'finished')
    const twice = await waitForLetters(id, 10, '&status=pending')
    expect(twice.dead_letters.map(({ attempts }) => attempts).sort()).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 2])
    expect(twice.dead_letters.find(({ attempts }) => attempts === 2)).toMatchObject({
      offset: found.dead_letters[0]!.offset,
      partition: found.dead_letters[0]!.partition,
      value: found.dead_letters[0]!.value,
    })

    await deployModule(client, filterOverN('return true'), module.name)
    expect((await client.call('PATCH', `/v1/pipelines/${id}`, { processors: [{ module_id: module.id }] })).body).toMatchObject({
      revision: 2,
    })
    const redriven = await client.call<{ id: string; count: number }>('POST', `/v1/pipelines/${id}/dead-letters/redrive`, {})
    expect([redriven.status, redriven.body.count]).toEqual([202, 10])
    expect(await waitForJob(redriven.body.id, 'finished')).toMatchObject({ kind: 'redrive', progress: 1, records: { in: 10, out: 10 } })
    await waitForTotal(client, to.id, 100)
    expect(sorted(await readAll(client, to.id))).toEqual(Array.from({ length: 100 }, (_, n) => n))
    expect((await letters(id, '&status=pending')).total).toBe(0)
    expect((await client.call('POST', `/v1/pipelines/${id}/dead-letters/redrive`, {})).body).toEqual({ dry_run: false, count: 0 })
  })

  it('is skipped, retried, or fails the pipeline, as the on_error policy of its step says', async () => {
    const module = await deployModule(client, FAIL_TENTHS)
    const run = async (on_error: Record<string, unknown>) => {
      const [from, to] = await streams({ partitions: 1 })
      const id = await createPipeline(client, from.id, [], to.id, { processors: [{ module_id: module.id, on_error }] })
      await write(client, from.id, numbers(0, 20))
      return { id, to }
    }
    const [skip, retry, fail] = await Promise.all([
      run({ policy: 'skip' }),
      run({ policy: 'retry', retries_max: 2, backoff_ms: 10 }),
      run({ policy: 'fail' }),
    ])
    await waitForTotal(client, skip.to.id, 18)
    expect(await accountingOf(skip.id, 20)).toMatchObject({ balanced: true, totals: { in: 20, out: 18, skipped: 2, dead_lettered: 0 } })
    expect((await waitForLetters(retry.id, 2)).dead_letters.map(({ attempts }) => attempts)).toEqual([3, 3])
    await waitForTotal(client, retry.to.id, 18)
    expect((await waitForStatus(client, fail.id, 'failed')).status_reason).toMatch(
      /step 1 \(.*\) failed the record at offset \d+ of partition 0 \(module_error_77: ends in three\), and its policy is fail/,
    )
    expect((await letters(skip.id)).total).toBe(0)
    expect((await readAll(client, fail.to.id)).length).toBe(0)
  })

  it('pauses the pipeline before its round is written when it passes the failure threshold', async () => {
    const [from, to] = await streams({ partitions: 1 })
    const module = await deployModule(client, filterOverN(`record.fail('all of them')\n  return true`))
    const id = await createPipeline(client, from.id, [{ name: module.name, config: {} }], to.id, { autostart: false })
    await write(client, from.id, numbers(0, 2000))
    await client.call('POST', `/v1/pipelines/${id}/start`)
    const paused = await waitForStatus(client, id, 'paused')
    expect(paused.status_reason).toMatch(/^paused: 2000 of the last 2000 records failed/)
    expect((await letters(id)).total).toBe(0)
    // Its tasks start again, and know nothing of it.
    await killProcessors()
    const again = await eventually('its task is paused from outside', async () => {
      type Reports = { status_reason: string | null; tasks: { status: string; held_back: boolean }[] }
      const { body } = await client.call<Reports>('GET', `/v1/pipelines/${id}/status`)
      return body.tasks.some((task) => task.status === 'paused' && !task.held_back) && body
    })
    expect(again.status_reason).toBe(paused.status_reason)
    await deployModule(client, filterOverN('return true'), module.name)
    await client.call('PATCH', `/v1/pipelines/${id}`, { processors: [{ module_id: module.id }] })
    expect((await client.call('POST', `/v1/pipelines/${id}/resume`)).status).toBe(200)
    await waitForTotal(client, to.id, 2000)
  })
})

describe('a SmartModule that does not return', () => {
  it('makes a dead letter of only the record that it hangs on, while other pipelines go on', async () => {
    const [from, to] = await streams({ partitions: 1 })
    const [otherFrom, otherTo] = await streams({ partitions: 1 })
    const module = await deployModule(client, filterOverN('if (value == 13) while (true) {}\n  return true'))
    const healthy = await createPipeline(client, otherFrom.id, [], otherTo.id)
    const id = await createPipeline(client, from.id, [], to.id, { processors: [{ module_id: module.id, timeout_ms: 300 }] })
    for (const each of [id, healthy]) await waitForStatus(client, each, 'running')
    await write(client, from.id, numbers(0, 100))
    for (let n = 0; n < 20; n++) {
      await write(client, otherFrom.id, [{ n }])
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    await waitForTotal(client, otherTo.id, 20)
    const [letter] = (await waitForLetters(id, 1)).dead_letters
    expect(letter).toMatchObject({ error: { code: 'module_timeout' }, value: { json: { n: 13 } } })
    await waitForTotal(client, to.id, 99)
    expect((await readAll(client, to.id)).map(({ n }) => n)).toEqual(Array.from({ length: 100 }, (_, n) => n).filter((n) => n !== 13))
  })
})

describe('a revision', () => {
  it('takes over between two rounds, at exactly the offset that the ledger gives', async () => {
    const from = await createStream(client, { n: 'integer' })
    const to = await createStream(client, { n: 'integer', by: 'integer' })
    const mapFields = (by: number) => ({ name: 'dps/map-fields', config: { set: { by } } })
    const id = await createPipeline(client, from.id, [mapFields(1)], to.id)
    const { body: pipeline } = await client.call<{ processors: { module_id: string }[] }>('GET', `/v1/pipelines/${id}`)
    let written = 0
    let revision = 1
    while (revision < 4) {
      for (let i = 0; i < 5; i++) {
        await write(client, from.id, numbers(written, written + 200))
        written += 200
      }
      const processors = [{ module_id: pipeline.processors[0]!.module_id, config: { set: { by: ++revision } } }]
      expect((await client.call('PATCH', `/v1/pipelines/${id}`, { processors })).body).toMatchObject({ revision })
    }
    await waitForRevision(client, id, 4)
    for (let partition = 0; partition < 8; partition++) await write(client, from.id, numbers(written, (written += 100)))
    await waitForTotal(client, to.id, written)
    const records = await readAll(client, to.id)
    expect(sorted(records)).toEqual(Array.from({ length: written }, (_, n) => n))
    type Ledger = { entries: { partition: number; revision: number; from_offset: number }[] }
    const ledger = await eventually('the ledger has revision 4 of every partition', async () => {
      const { body } = await client.call<Ledger>('GET', `/v1/pipelines/${id}/ledger`)
      return [0, 1, 2, 3].every((each) => body.entries.some(({ partition, revision: by }) => partition === each && by === 4)) && body
    })
    const byOf = new Map(records.map(({ n, by }) => [Number(n), Number(by)]))
    const { body: source } = await client.call<{ data: { n: number }[] }>('GET', `/v1/streams/${from.id}/data?limit=1`)
    expect(source.data).toHaveLength(1)
    for (let partition = 0; partition < 4; partition++) {
      const own = ledger.entries.filter((entry) => entry.partition === partition)
      expect(own.at(-1)!.revision).toBe(4)
      // The revision that handled each offset of the partition, in order.
      const values = (await readPartition(client, from.id, partition)).map((n) => byOf.get(n)!)
      expect(values).toEqual(values.toSorted((a, b) => a - b))
      for (const entry of own) {
        expect(values[entry.from_offset]).toBe(entry.revision)
        if (entry.from_offset > 0) expect(values[entry.from_offset - 1]).toBeLessThan(entry.revision)
      }
    }
    const explained = await client.call<{ revision: number }>('GET', `/v1/pipelines/${id}/explain?partition=0&offset=0`)
    expect([explained.status, explained.body.revision]).toEqual([200, ledger.entries.find((entry) => entry.partition === 0)!.revision])
  })
})

describe('positions', () => {
  it('start where `start` says and show lag, and a start outside of the topic is refused', async () => {
    const [from] = await streams({ partitions: 1 })
    await write(client, from.id, numbers(0, 10))
    const middle = new Date().toISOString()
    await new Promise((resolve) => setTimeout(resolve, 50))
    await write(client, from.id, numbers(10, 20))
    for (const [start, first] of [
      ['latest', 20],
      ['earliest', 0],
      [{ timestamp: middle }, 10],
      [{ offsets: { 0: 5 } }, 5],
    ] as const) {
      const to = await createStream(client, { n: 'integer' }, { partitions: 1 })
      const id = await createPipeline(client, from.id, [], to.id, { start })
      if (first < 20) {
        await waitForTotal(client, to.id, 20 - first)
        expect((await readAll(client, to.id))[0]).toEqual({ n: first })
      }
      const offsets = await eventually('the lag is gone', async () => {
        const { body } = await client.call<{ lag: number; partitions: { position: number; end: number }[] }>(
          'GET',
          `/v1/pipelines/${id}/offsets`,
        )
        return body.lag === 0 && body
      })
      expect(offsets.partitions).toMatchObject([{ partition: 0, position: 20, end: 20, lag: 0, start: 0 }])
    }
    const to = await createStream(client, { n: 'integer' })
    const refused = await client.call('POST', '/v1/pipelines', {
      name: unique('start'),
      source: { connector_id: 'conn_stream', config: { stream_id: from.id } },
      sink: { connector_id: 'conn_stream', config: { stream_id: to.id } },
      start: { offsets: { 0: 21, 7: 0 } },
    })
    expect(refused.status).toBe(400)
    expect(refused.body.error!.details!.map(({ path }) => path)).toEqual(['/start/offsets/0', '/start/offsets/7'])
  })
})

describe('the positions of a stopped pipeline', () => {
  it('are recommitted unchanged, counters included, so that they do not expire', async () => {
    const [from, to] = await streams({ partitions: 1 })
    const id = await createPipeline(client, from.id, [], to.id)
    await write(client, from.id, numbers(0, 10))
    await waitForTotal(client, to.id, 10)
    await client.call('POST', `/v1/pipelines/${id}/stop`)
    await waitForStatus(client, id, 'stopped')
    const cluster = openCluster({ brokers: service().brokers, clientId: 'test' })
    const groupId = `${service().env.DPS_PREFIX}.${id}`
    const committed = () => cluster.committedOffsets(groupId, from.topic, [0])
    const before = await committed()
    const admin = createKafka(service().brokers, 'test').admin()
    await admin.connect()
    const keep = () => keepOffset({ cluster, withAdmin: (work) => work(admin) }, groupId, from.topic)
    await keep()
    expect(await committed()).toEqual(before)
    expect(before.get(0)).toMatchObject({ offset: 10n })
    expect((await accountingOf(id, 10)).totals).toMatchObject({ in: 10, out: 10 })
    await client.call('POST', `/v1/pipelines/${id}/start`)
    await waitForStatus(client, id, 'running')
    // With members nothing expires, and nothing is committed from outside.
    await keep()
    await admin.disconnect()
    await cluster.close()
  })
})

describe('a replay', () => {
  it('writes a bounded range to another stream beside the live pipeline, and can be cancelled', async () => {
    const [from, to] = await streams()
    const target = await createStream(client, { n: 'integer' })
    const id = await createPipeline(client, from.id, [], to.id)
    await write(client, from.id, numbers(0, 300))
    await waitForTotal(client, to.id, 300)
    const job = await client.call<{ id: string; total: number }>('POST', `/v1/pipelines/${id}/replay`, { sink: { stream_id: target.id } })
    expect([job.status, job.body.total]).toEqual([202, 300])
    expect(await waitForJob(job.body.id, 'finished')).toMatchObject({ kind: 'replay', records: { in: 300, out: 300 } })
    await write(client, from.id, numbers(300, 310))
    await waitForTotal(client, to.id, 310)
    expect(sorted(await readAll(client, target.id))).toEqual(Array.from({ length: 300 }, (_, n) => n))
    const slow = await client.call<{ id: string }>('POST', `/v1/pipelines/${id}/replay`, {
      sink: { stream_id: target.id },
      records_per_second: 1,
    })
    // One by one, not all of a batch after the time of all.
    const came = async () => (await readAll(client, target.id)).length - 300
    await eventually('some records came, not all', async () => (await came()) >= 2 && (await came()) < 250)
    expect((await client.call('POST', `/v1/jobs/${slow.body.id}/cancel`)).status).toBe(202)
    await waitForJob(slow.body.id, 'cancelled')
    expect((await client.call('POST', `/v1/jobs/${job.body.id}/cancel`)).status).toBe(409)
    await waitForStatus(client, id, 'running')
  })
})

describe('explain and preview', () => {
  it('show the outcome of a record at every step, and write nothing', async () => {
    const [from, to] = await streams({ partitions: 1 })
    const filter = { name: 'dps/filter', config: { field: 'n', operator: 'gte', value: 5 } }
    const failing = await deployModule(client, filterOverN(`if (value == 7) record.fail('seven')\n  return true`))
    const id = await createPipeline(client, from.id, [filter, { name: failing.name, config: {} }], to.id)
    await write(client, from.id, numbers(0, 10))
    await waitForTotal(client, to.id, 4)
    type Explained = { outcome: string; handled: boolean; steps: { outcome: string }[]; dead_letter_ids: string[] }
    const explain = async (offset: number) =>
      (await client.call<Explained>('GET', `/v1/pipelines/${id}/explain?partition=0&offset=${offset}`)).body
    expect(await explain(2)).toMatchObject({
      outcome: 'filtered',
      handled: true,
      steps: [{ outcome: 'filtered' }, { outcome: 'not_reached' }],
    })
    expect(await explain(6)).toMatchObject({
      outcome: 'delivered',
      steps: [{ outcome: 'passed', in: [{ value: { json: { n: 6 } } }] }, { outcome: 'passed' }],
      outputs: [{ value: { json: { n: 6 } } }],
    })
    const seventh = await explain(7)
    expect(seventh).toMatchObject({
      outcome: 'dead_letter',
      redriven: false,
      steps: [{ outcome: 'passed' }, { outcome: 'failed', error: { code: 'record_failed', message: 'seven' } }],
    })
    expect(seventh.dead_letter_ids).toHaveLength(1)
    expect((await client.call('GET', `/v1/pipelines/${id}/explain?partition=0&offset=99`)).status).toBe(404)
    expect((await client.call('GET', `/v1/pipelines/${id}/explain?partition=9&offset=0`)).status).toBe(400)
    type Previewed = { records: { offset: number; outcome: string }[] }
    const preview = await client.call<Previewed>('POST', `/v1/pipelines/${id}/preview`, { limit: 4 })
    expect(preview.body.records.map(({ offset, outcome }) => [offset, outcome])).toEqual([
      [6, 'delivered'],
      [7, 'dead_letter'],
      [8, 'delivered'],
      [9, 'delivered'],
    ])
    const asked = { processors: [], from: 'earliest', limit: 3 }
    const { body: endless } = await client.call<{ records: unknown[] }>('POST', `/v1/pipelines/${id}/preview`, asked)
    expect(endless.records).toMatchObject([{ outputs: [{ value: { json: { n: 0 } } }] }, {}, {}])
    const hanging = await deployModule(client, filterOverN(`if (value == 1) while (true) {}\n  return true`))
    type Stuck = { records: { outcome: string; steps: { error: { code: string } | null }[] }[] }
    // 503: a busy machine did not give it its CPU time.
    const tried = { processors: [{ module_id: hanging.id, timeout_ms: 500 }], from: 'earliest', limit: 3 }
    const isStuck = async () => {
      const { status, body } = await client.call<Stuck>('POST', `/v1/pipelines/${id}/preview`, tried)
      return status !== 503 && body
    }
    const stuck = await eventually('it is stuck', isStuck, 120_000)
    expect(stuck.records).toMatchObject([
      { outcome: 'delivered' },
      { outcome: 'dead_letter', steps: [{ error: { code: 'module_timeout' } }] },
    ])
    expect((await readAll(client, to.id)).length).toBe(4)
    expect((await client.call<{ lag: number }>('GET', `/v1/pipelines/${id}/offsets`)).body.lag).toBe(0)
  })
})
