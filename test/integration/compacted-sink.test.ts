/** A pipeline that writes to an adopted topic which is compacted: kafkajs makes the topic. */
import kafkajs from 'kafkajs'
import { expect, it } from 'vitest'
import { eventually, loggedIn, service, unique } from '../harness/client.ts'
import { connect, lettersOf, stream } from '../harness/connectors.ts'
import { createStream, readAll, waitForTotal, type NewStream } from '../harness/pipelines.ts'
import { frame } from '../../shared/model/framing.ts'
import { exactProducer } from '../harness/exact-producer.ts'
import { makeTopics } from '../harness/topics.ts'

it('makes a dead letter of a record without a key, and writes the others', async () => {
  const client = await loggedIn(service().accounts.other)
  const kafka = new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING })
  const [admin, producer, topic] = [kafka.admin(), exactProducer(kafka), unique('theirs')]
  await Promise.all([admin.connect(), producer.connect()])
  try {
    const configEntries = [{ name: 'cleanup.policy', value: 'compact' }]
    await makeTopics(admin, { topic, numPartitions: 1, configEntries })
    const from = await createStream(client, { n: 'integer' }, { partitions: 1 })
    const made = await client.call<NewStream>('POST', '/v1/streams', { name: unique('adopted'), topic, schema_id: from.schema_id })
    expect(made.status).toBe(201)
    const pipeline = await connect(client, stream(from.id), [], stream(made.body.id))
    const keys = ['a', null, 'b']
    const messages = keys.map((key, n) => ({ partition: 0, key, value: frame(from.schema_id, JSON.stringify({ n })) }))
    await producer.send({ topic: from.topic, messages })
    await waitForTotal(client, made.body.id, 2)
    const letters = await eventually('the dead letter', async () => {
      const found = await lettersOf(client, pipeline)
      return found.total === 1 && found
    })
    expect(letters.dead_letters[0]).toMatchObject({ offset: 1, error: { code: 'key_missing' } })
    const explained = await client.call('GET', `/v1/pipelines/${pipeline}/explain?partition=0&offset=1`)
    expect(explained.body).toMatchObject({ outcome: 'dead_letter', reason: expect.stringContaining('has no key') })
    expect((await readAll(client, made.body.id)).map(({ n }) => n)).toEqual([0, 2])
  } finally {
    await Promise.all([admin.disconnect(), producer.disconnect()])
  }
})
