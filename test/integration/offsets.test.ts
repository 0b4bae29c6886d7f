/** Where a pipeline resumes: at a position set while it is stopped, or, by its policy, when the source no longer holds its position. */
import kafkajs from 'kafkajs'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deployModule, filterOverN } from '../harness/modules.ts'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { bucket, connect, countRows, lettersOf, openWarehouse, stream, table, waitForRows } from '../harness/connectors.ts'
import { openCluster } from '../../shared/kafka/cluster.ts'
import { createPipeline, createStream, readAll, waitForStatus, waitForTotal, write, type NewStream } from '../harness/pipelines.ts'
import { recreateTopic } from '../harness/topics.ts'

let client: Client
let warehouse: pg.Client
let admin: kafkajs.Admin
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  warehouse = await openWarehouse()
  admin = new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING }).admin()
  await admin.connect()
})
afterAll(async () => {
  await warehouse.end()
  await admin.disconnect()
})

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => ({ n: from + index }))
const act = (id: string, action: string) => client.call('POST', `/v1/pipelines/${id}/${action}`)
const reset = (id: string, start: unknown) =>
  client.call<{ offsets: Record<string, string>; error?: { code: string; details?: unknown[] } }>('POST', `/v1/pipelines/${id}/offsets`, {
    start,
  })
const source = (more: Record<string, unknown> = {}) => createStream(client, { n: 'integer' }, { partitions: 1, ...more })

async function stop(id: string): Promise<void> {
  await act(id, 'stop')
  await waitForStatus(client, id, 'stopped')
}

describe('the position of a pipeline', () => {
  it('can be set only while it is stopped, and the pipeline resumes from there', async () => {
    const [from, to] = [await source(), await source()]
    const id = await createPipeline(client, from.id, [], to.id)
    await write(client, from.id, numbers(0, 50))
    await waitForTotal(client, to.id, 50)
    expect((await reset(id, 'earliest')).status).toBe(409)
    await stop(id)
    const refused = await reset(id, { offsets: { 0: 51 } })
    expect(refused.status).toBe(400)
    expect(refused.body.error?.details).toEqual([{ path: '/start/offsets/0', message: expect.stringContaining('from 0 to 50') }])
    const empty = await reset(id, { offsets: {} })
    expect([empty.status, empty.body.error?.details]).toEqual([400, [{ path: '/start/offsets', message: 'must name a partition' }]])
    expect((await reset(id, { offsets: { 0: 40 } })).body.offsets).toEqual({ 0: '40' })
    await act(id, 'start')
    await waitForTotal(client, to.id, 60)
    await write(client, from.id, numbers(50, 55))
    await waitForTotal(client, to.id, 65)
    expect((await readAll(client, to.id)).map(({ n }) => n)).toEqual([...numbers(0, 50), ...numbers(40, 55)].map(({ n }) => n))
    const { body } = await client.call<{ totals: Record<string, number>; balanced: boolean }>('GET', `/v1/pipelines/${id}/accounting`)
    expect(body).toMatchObject({ balanced: true })
  })

  it('is also set where a table keeps it beside its rows', async () => {
    const from = await source()
    const target = unique('reset').replaceAll('-', '_').toLowerCase()
    await warehouse.query(`CREATE TABLE ${target} (n int)`)
    const id = await connect(client, stream(from.id), [], table({ table: target }))
    await write(client, from.id, numbers(0, 100))
    await waitForRows(warehouse, target, 100)
    await stop(id)
    expect((await reset(id, 'earliest')).status).toBe(200)
    await act(id, 'start')
    await waitForRows(warehouse, target, 200)
    await stop(id)
    await write(client, from.id, numbers(100, 110))
    expect((await reset(id, 'latest')).status).toBe(200)
    await act(id, 'start')
    await waitForStatus(client, id, 'running')
    await write(client, from.id, numbers(110, 120))
    await waitForRows(warehouse, target, 210)
    await new Promise((resolve) => setTimeout(resolve, 1000))
    expect(await countRows(warehouse, target)).toBe(210)
    const { rows } = await warehouse.query(`SELECT n, count(*)::int AS times FROM ${target} WHERE n >= 99 GROUP BY n ORDER BY n`)
    expect(rows).toEqual([{ n: 99, times: 2 }, ...numbers(110, 120).map(({ n }) => ({ n, times: 1 }))])
  })

  it('can’t be set when its source is not a stream', async () => {
    const to = await source()
    const id = await connect(client, bucket({ prefix: unique('none') }), [], stream(to.id), { autostart: false })
    expect((await reset(id, 'earliest')).status).toBe(409)
  })
})

describe('the dead letters of records that are handled again', () => {
  it('stay pending until the pipeline has passed them: then those that were delivered count as redriven, and the others are one each', async () => {
    const [from, to] = [await source(), await source()]
    const failing = async (...numbers: number[]) => {
      const fails = numbers.map((n) => `value == ${n}`).join(' || ')
      return { name: (await deployModule(client, filterOverN(`if (${fails}) record.fail('no')\n  return true`))).name, config: {} }
    }
    const id = await createPipeline(client, from.id, [await failing(13, 30, 45)], to.id)
    await write(client, from.id, numbers(0, 50))
    await waitForTotal(client, to.id, 47)
    const letters = async () => {
      const { dead_letters } = await lettersOf(client, id)
      return dead_letters.map(({ offset, status, revision }) => [offset, status, revision]).toSorted()
    }
    const before = [13, 30, 45].map((offset) => [offset, 'pending', 1])
    await eventually('three failed', async () => (await letters()).length === 3)
    await stop(id)
    const processors = [{ module_id: (await failing(45)).name, config: {} }]
    expect((await client.call('PATCH', `/v1/pipelines/${id}`, { processors })).status).toBe(200)
    await eventually('its tasks have left the group', async () => (await reset(id, { offsets: { 0: 20 } })).status === 200)
    // Nothing was handled again: a position that is set forward leaves them as they are.
    expect((await reset(id, 'latest')).status).toBe(200)
    expect(await letters()).toEqual(before)
    const { revision } = (await client.call<{ revision: number }>('POST', `/v1/pipelines/${id}/offsets`, { start: { offsets: { 0: 20 } } }))
      .body
    expect(await letters()).toEqual(before)
    await act(id, 'start')
    await waitForTotal(client, to.id, 47 + 29)
    const after = JSON.stringify([before[0], [30, 'redriven', 1], [45, 'pending', revision]])
    await eventually('the position is behind them', async () => JSON.stringify(await letters()) === after)
    const dry = await client.call('POST', `/v1/pipelines/${id}/dead-letters/redrive`, { dry_run: true })
    expect(dry.body).toMatchObject({ count: 2 })
  })

  it('are not redriven either where the next position is refused', async () => {
    const [from, to] = [await source(), await source()]
    const { name } = await deployModule(client, filterOverN(`if (value == 13 || value == 30) record.fail('no')\n  return true`))
    const id = await createPipeline(client, from.id, [{ name, config: {} }], to.id)
    await write(client, from.id, numbers(0, 50))
    await waitForTotal(client, to.id, 48)
    const pending = async () =>
      (await client.call<{ count: number }>('POST', `/v1/pipelines/${id}/dead-letters/redrive`, { dry_run: true })).body.count
    await eventually('both are pending', async () => (await pending()) === 2)
    await stop(id)
    await eventually('its tasks have left the group', async () => (await reset(id, { offsets: { 0: 20 } })).status === 200)
    expect(await pending()).toBe(1)
    const { group_id } = (await client.call<{ group_id: string }>('GET', `/v1/pipelines/${id}/offsets`)).body
    const consumer = new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING }).consumer({ groupId: group_id })
    try {
      const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve))
      await consumer.connect()
      await consumer.subscribe({ topic: from.topic })
      await consumer.run({ autoCommit: false, eachMessage: async () => {} })
      await joined
      expect((await reset(id, 'latest')).status).toBe(409)
    } finally {
      await consumer.disconnect()
    }
    expect(await pending()).toBe(1)
  })
})

/** Stops the pipeline, writes 50 records, deletes all but the last ten of them, and starts it again. */
async function expireBehind(id: string, from: NewStream): Promise<void> {
  await stop(id)
  await write(client, from.id, numbers(50, 100))
  // kafkajs deletes only from topics that it has looked up.
  await admin.fetchTopicOffsets(from.topic)
  await admin.deleteTopicRecords({ topic: from.topic, partitions: [{ partition: 0, offset: '90' }] })
  await act(id, 'start')
}

describe('a position that has expired', () => {
  it('fails the pipeline, which resumes once its position is set', async () => {
    const [from, to] = [await source(), await source()]
    const id = await createPipeline(client, from.id, [], to.id)
    await write(client, from.id, numbers(0, 50))
    await waitForTotal(client, to.id, 50)
    await expireBehind(id, from)
    expect((await waitForStatus(client, id, 'failed')).status_reason).toContain('position 50 of partition 0 is outside of what')
    expect((await reset(id, 'earliest')).status).toBe(409)
    await stop(id)
    await eventually('its tasks have left the group', async () => (await reset(id, 'earliest')).status === 200)
    await act(id, 'start')
    await waitForTotal(client, to.id, 60)
    expect((await readAll(client, to.id)).slice(50)).toEqual(numbers(90, 100))
  })

  it('is moved to the earliest offset when on_lost_position is earliest, for a topic and for a table', async () => {
    const [from, to] = [await source(), await source()]
    const target = unique('expired').replaceAll('-', '_').toLowerCase()
    await warehouse.query(`CREATE TABLE ${target} (n int)`)
    const into = await createPipeline(client, from.id, [], to.id, { on_lost_position: 'earliest' })
    const second = await source()
    const id = await connect(client, stream(second.id), [], table({ table: target }))
    expect((await client.call('PATCH', `/v1/pipelines/${id}`, { on_lost_position: 'earliest' })).body).toMatchObject({
      on_lost_position: 'earliest',
    })
    for (const each of [from, second]) await write(client, each.id, numbers(0, 50))
    await waitForTotal(client, to.id, 50)
    await waitForRows(warehouse, target, 50)
    await expireBehind(into, from)
    await expireBehind(id, second)
    await waitForTotal(client, to.id, 60)
    await waitForRows(warehouse, target, 60)
    expect((await readAll(client, to.id)).slice(50)).toEqual(numbers(90, 100))
    const { rows } = await warehouse.query(`SELECT n FROM ${target} WHERE n >= 50 ORDER BY n`)
    expect(rows).toEqual(numbers(90, 100))
  })
})

describe('a source topic that was deleted and created again', () => {
  it('fails the pipeline: its position belongs to records that are gone', async () => {
    const [from, to] = [await source(), await source()]
    const id = await createPipeline(client, from.id, [], to.id)
    await write(client, from.id, numbers(0, 50))
    await waitForTotal(client, to.id, 50)
    await recreateTopic(admin, from.topic)
    // A task may have committed a position once more before the broker forgets those of the topic that is gone.
    const reasons = [`partition 0 of ${from.topic} has no committed position`, `${from.topic} was deleted and recreated`]
    const reason = String((await waitForStatus(client, id, 'failed')).status_reason)
    expect(
      reasons.filter((each) => reason.includes(each)),
      reason,
    ).toHaveLength(1)
    expect((await readAll(client, to.id)).length).toBe(50)
  })

  it('is read from its start where on_lost_position is earliest', async () => {
    const [from, to] = [await source(), await source()]
    await createPipeline(client, from.id, [], to.id, { on_lost_position: 'earliest' })
    await write(client, from.id, numbers(0, 50))
    await waitForTotal(client, to.id, 50)
    await recreateTopic(admin, from.topic)
    await eventually(
      'records can be written again',
      async () => (await client.call('POST', `/v1/streams/${from.id}/data`, { records: numbers(50, 60) })).status === 201,
    )
    await waitForTotal(client, to.id, 60)
    expect((await readAll(client, to.id)).slice(50)).toEqual(numbers(50, 60))
  })

  it('is not read from the position of the topic before, which a task had been committing meanwhile', async () => {
    const [from, to] = [await source(), await source()]
    const id = await createPipeline(client, from.id, [], to.id)
    await write(client, from.id, numbers(0, 50))
    await waitForTotal(client, to.id, 50)
    await stop(id)
    const { group_id } = (await client.call<{ group_id: string }>('GET', `/v1/pipelines/${id}/offsets`)).body
    const cluster = openCluster({ brokers: service().brokers, clientId: 'offsets-test' })
    try {
      const before = await cluster.committedOffsets(group_id, from.topic, [0])
      expect(before.get(0)?.offset).toBe(50n)
      await recreateTopic(admin, from.topic)
      await eventually(
        'records can be written again',
        async () => (await client.call('POST', `/v1/streams/${from.id}/data`, { records: numbers(100, 160) })).status === 201,
      )
      await eventually('its tasks have left the group', () =>
        cluster.commitFromOutside(group_id, from.topic, before).then(
          () => true,
          () => false,
        ),
      )
    } finally {
      await cluster.close()
    }
    await act(id, 'start')
    expect((await waitForStatus(client, id, 'failed')).status_reason).toContain(`${from.topic} was deleted and recreated`)
    await client.call('PATCH', `/v1/pipelines/${id}`, { on_lost_position: 'earliest' })
    await act(id, 'start')
    await waitForTotal(client, to.id, 110)
    expect((await readAll(client, to.id)).slice(50)).toEqual(numbers(100, 160))
  })
})
