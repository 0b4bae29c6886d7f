/** `on_lost_position` changed by a request while the pipeline runs: the next loss is handled by it, without a start by hand. */
import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs from 'kafkajs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSecondKafka } from '../harness/conformance.ts'
import { connect, openWarehouse, stream, table, waitForRows } from '../harness/connectors.ts'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { createPipeline, createStream, readAll, waitForRevision, waitForStatus, waitForTotal, write } from '../harness/pipelines.ts'
import { exactProducer } from '../harness/exact-producer.ts'
import { makeTopics, recreateTopic } from '../harness/topics.ts'

let client: Client
let admin: kafkajs.Admin
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  admin = new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING }).admin()
  await admin.connect()
})
afterAll(() => admin.disconnect())

/** So that records are fetched apart from those before. */
const PAUSE_MS = 300
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => ({ n: from + index }))
const source = () => createStream(client, { n: 'integer' }, { partitions: 1 })

/** Changes the policy and waits until every task has heard of it. */
async function change(id: string, policy: 'fail' | 'earliest'): Promise<void> {
  const { status, body } = await client.call<{ revision: number }>('PATCH', `/v1/pipelines/${id}`, { on_lost_position: policy })
  expect([status, body.on_lost_position]).toEqual([200, policy])
  await waitForRevision(client, id, body.revision)
}

describe('a policy for lost positions that was changed while the pipeline runs', () => {
  it('holds for records that expired before they were read', { timeout: limitMs(120_000) }, async () => {
    const warehouse = await openWarehouse()
    const locking = await openWarehouse()
    try {
      const from = await source()
      const target = unique('changed').replaceAll('-', '_').toLowerCase()
      await warehouse.query(`CREATE TABLE ${target} (n int)`)
      const id = await connect(client, stream(from.id), [], table({ table: target }))
      await write(client, from.id, numbers(0, 50))
      await waitForRows(warehouse, target, 50)
      await change(id, 'earliest')
      await locking.query(`BEGIN; LOCK TABLE ${target} IN ACCESS EXCLUSIVE MODE`)
      await write(client, from.id, numbers(50, 60))
      await eventually('its sink waits', async () => {
        const { rows } = await warehouse.query('SELECT 1 FROM pg_locks WHERE relation = to_regclass($1) AND NOT granted', [target])
        return rows.length > 0
      })
      // A pipeline whose sink stands still has a few rounds in memory, and fetches no more.
      for (let n = 60; n < 150; n += 10) {
        await write(client, from.id, numbers(n, n + 10))
        await sleep(PAUSE_MS)
      }
      // kafkajs deletes only from topics that it has looked up.
      await admin.fetchTopicOffsets(from.topic)
      await admin.deleteTopicRecords({ topic: from.topic, partitions: [{ partition: 0, offset: '140' }] })
      await locking.query('COMMIT')
      const rowsNow = async () => (await warehouse.query<{ n: number }>(`SELECT n FROM ${target} ORDER BY n`)).rows.map(({ n }) => n)
      await eventually('the last ones are in the table', async () => (await rowsNow()).at(-1) === 149)
      const rows = await rowsNow()
      expect(rows.slice(-10)).toEqual(numbers(140, 150).map(({ n }) => n))
      // Some were skipped, so a position was lost; none came twice.
      expect(rows.length).toBeLessThan(150)
      expect(new Set(rows).size).toBe(rows.length)
      expect((await client.call('GET', `/v1/pipelines/${id}/status`)).body.status).toBe('running')
    } finally {
      await locking.end()
      await warehouse.end()
    }
  })

  it('holds for a stream whose topic is deleted and created again', { timeout: limitMs(120_000) }, async () => {
    const [from, to] = [await source(), await source()]
    const id = await createPipeline(client, from.id, [], to.id)
    await write(client, from.id, numbers(0, 50))
    await waitForTotal(client, to.id, 50)
    await change(id, 'earliest')
    await recreateTopic(admin, from.topic)
    await eventually(
      'records can be written again',
      async () => (await client.call('POST', `/v1/streams/${from.id}/data`, { records: numbers(50, 60) })).status === 201,
    )
    await waitForTotal(client, to.id, 60)
    expect((await readAll(client, to.id)).slice(50)).toEqual(numbers(50, 60))
    await change(id, 'fail')
    await recreateTopic(admin, from.topic)
    await waitForStatus(client, id, 'failed')
  })

  it('holds for a topic of another cluster', { timeout: limitMs(180_000) }, async () => {
    const second = await openSecondKafka()
    const [topics, producer] = [second.kafka.admin(), exactProducer(second.kafka)]
    await Promise.all([topics.connect(), producer.connect()])
    try {
      const topic = unique('changed')
      const send = (values: { n: number }[]) =>
        producer.send({ topic, messages: values.map((value) => ({ partition: 0, value: JSON.stringify(value) })) })
      await makeTopics(topics, { topic, numPartitions: 1 })
      const to = await source()
      const config = { brokers: second.brokers, topic, start: 'earliest' }
      const id = await connect(client, { connector_id: 'conn_kafka', config }, [], stream(to.id))
      await send(numbers(0, 5))
      await waitForTotal(client, to.id, 5)
      await change(id, 'earliest')
      await recreateTopic(topics, topic)
      await eventually('records can be written again', async () => (await send(numbers(10, 15))).length === 1)
      await waitForTotal(client, to.id, 10)
      expect((await readAll(client, to.id)).slice(5)).toEqual(numbers(10, 15))
      await change(id, 'fail')
      await recreateTopic(topics, topic)
      expect((await waitForStatus(client, id, 'failed')).status_reason).toContain('was deleted and recreated')
    } finally {
      await Promise.all([topics.disconnect(), producer.disconnect()])
      await second.close()
    }
  })
})
