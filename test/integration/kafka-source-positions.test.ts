/** The connector `kafka` as a source whose position the other cluster has not kept. */
import type kafkajs from 'kafkajs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findConnector } from '../../shared/connectors/catalogue.ts'
import { loggedIn, service, unique } from '../harness/client.ts'
import { connect, stream } from '../harness/connectors.ts'
import { createStream, readAll, waitForStatus, waitForTotal } from '../harness/pipelines.ts'
import { contextFor, openSecondKafka, readSplit, type SplitState } from '../harness/conformance.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { exactProducer } from '../harness/exact-producer.ts'
import { makeTopics, recreateTopic } from '../harness/topics.ts'

/** Another cluster: the service's own is no tenant's. */
let second: Awaited<ReturnType<typeof openSecondKafka>>
let admin: kafkajs.Admin
let producer: kafkajs.Producer
beforeAll(async () => {
  second = await openSecondKafka()
  admin = second.kafka.admin()
  producer = exactProducer(second.kafka)
  await Promise.all([admin.connect(), producer.connect()])
})
afterAll(async () => {
  await Promise.all([admin.disconnect(), producer.disconnect()])
  await second.close()
})

const create = (topic: string) => makeTopics(admin, { topic, numPartitions: 1 })
/** Deletes the records before the offset. */
async function expire(topic: string, offset: number): Promise<void> {
  // kafkajs deletes only from topics that it has looked up.
  await admin.fetchTopicOffsets(topic)
  await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: String(offset) }] })
}
const write = (topic: string, from: number, to: number) =>
  producer.send({ topic, messages: Array.from({ length: to - from }, (_, i) => ({ partition: 0, value: `{"n":${from + i}}` })) })

/** Reads so many records from the state on, by the policy. */
async function read(topic: string, state: SplitState, count: number, onLostPosition: 'fail' | 'earliest') {
  const context = contextFor({ onLostPosition: () => onLostPosition })
  const source = await (await findConnector('conn_kafka')!.source!.open!())({ brokers: second.brokers, topic, start: 'earliest' }, context)
  try {
    const values = await readSplit(source, { index: 0, count: 1 }, state, (values) => values.length >= count)
    return { numbers: values.map((value) => (JSON.parse(value!) as { n: number }).n), logged: context.logged.join() }
  } finally {
    await source.close()
  }
}

describe('a kafka source', () => {
  it('whose position has expired fails, or goes on with what is there by on_lost_position', { timeout: limitMs(60_000) }, async () => {
    const topic = unique('expired')
    await create(topic)
    const state: SplitState = { position: undefined, seen: new Map() }
    await write(topic, 0, 3)
    expect((await read(topic, state, 3, 'fail')).numbers).toEqual([0, 1, 2])
    await write(topic, 3, 8)
    await expire(topic, 6)
    await expect(read(topic, { ...state }, 1, 'fail')).rejects.toThrow('offset 3 of partition 0 is outside of what')
    const { numbers, logged } = await read(topic, state, 2, 'earliest')
    expect(numbers).toEqual([6, 7])
    expect(logged).toContain('(from 6); it goes on with the first record that is there')
  })

  it(
    'whose topic was deleted and created again fails, or reads the new one by on_lost_position',
    { timeout: limitMs(60_000) },
    async () => {
      const topic = unique('recreated')
      const state: SplitState = { position: undefined, seen: new Map() }
      await create(topic)
      await write(topic, 0, 3)
      expect((await read(topic, state, 3, 'fail')).numbers).toEqual([0, 1, 2])
      await recreateTopic(admin, topic)
      await write(topic, 10, 15)
      await expect(read(topic, { ...state }, 1, 'fail')).rejects.toThrow('was deleted and recreated')
      expect((await read(topic, state, 5, 'earliest')).numbers).toEqual([10, 11, 12, 13, 14])
      await write(topic, 15, 16)
      expect((await read(topic, state, 1, 'fail')).numbers).toEqual([15])
    },
  )

  it('of a pipeline that has failed for it goes on once its on_lost_position is changed', { timeout: limitMs(90_000) }, async () => {
    const client = await loggedIn(service().accounts.other)
    const topic = unique('expired')
    await create(topic)
    const to = await createStream(client, { n: 'integer' })
    const source = { connector_id: 'conn_kafka', config: { brokers: second.brokers, topic, start: 'earliest' } }
    const id = await connect(client, source, [], stream(to.id))
    const act = (action: string) => client.call('POST', `/v1/pipelines/${id}/${action}`)
    await write(topic, 0, 3)
    await waitForTotal(client, to.id, 3)
    await act('stop')
    await waitForStatus(client, id, 'stopped')
    await write(topic, 3, 8)
    await expire(topic, 6)
    await act('start')
    expect((await waitForStatus(client, id, 'failed')).status_reason).toContain('is outside of what')
    expect((await client.call('PATCH', `/v1/pipelines/${id}`, { on_lost_position: 'earliest' })).status).toBe(200)
    await act('start')
    await waitForTotal(client, to.id, 5)
    expect((await readAll(client, to.id)).map(({ n }) => n)).toEqual([0, 1, 2, 6, 7])
    await client.call('DELETE', `/v1/pipelines/${id}`)
  })
})
