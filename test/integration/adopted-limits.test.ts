/** Adopted topics and their `max.message.bytes`, which other clients change. */
import kafkajs from 'kafkajs'
import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { openCluster } from '../../shared/kafka/cluster.ts'
import { readCommitted } from '../chaos/reader.ts'
import { eventually, loggedIn, service, unique } from '../harness/client.ts'
import { connect, lettersOf, stream } from '../harness/connectors.ts'
import { framed, register, useKafka } from '../harness/foreign-topics.ts'
import { createStream, waitForTotal, write } from '../harness/pipelines.ts'
import { makeTopics } from '../harness/topics.ts'

const client = await loggedIn(service().accounts.other)
const { admin, producer } = await useKafka()

const ID_AND_N = '{"type":"object","properties":{"id":{"type":"integer"},"n":{"type":"integer"}}}'

async function newTopic(partitions: number): Promise<string> {
  const topic = unique('theirs')
  await makeTopics(admin, { topic, numPartitions: partitions })
  return topic
}
async function adopted(topic: string, schema_id: number): Promise<{ id: string }> {
  const made = await client.call<{ id: string }>('POST', '/v1/streams', { name: unique('adopted'), topic, schema_id })
  if (made.status !== 201) throw new Error(`adopting answered ${made.status}: ${JSON.stringify(made.body)}`)
  return made.body
}
const setLimit = async (topic: string, bytes: number) => {
  const configEntries = [{ name: 'max.message.bytes', value: String(bytes) }]
  await admin.alterConfigs({ validateOnly: false, resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configEntries }] })
}
const revised = (id: string) =>
  eventually('the next revision runs', async () => {
    const { body } = await client.call<{ revision: number; status: string }>('GET', `/v1/pipelines/${id}`)
    return body.revision === 2 && body.status === 'running'
  })

it('takes a pipeline’s output within the topic’s own limit for a batch', async () => {
  const topic = await newTopic(3)
  const schema_id = await register(`${topic}-value`, 'JSON', '{"type":"object","properties":{"id":{"type":"integer"}}}')
  const made = await adopted(topic, schema_id)
  const from = await createStream(client, { id: 'integer', text: 'string' })
  // One round makes far more than a megabyte, the broker's default.
  for (let part = 0; part < 4; part++)
    await write(
      client,
      from.id,
      Array.from({ length: 80 }, (_, id) => ({ id, text: String(part).repeat(10_000) })),
    )
  const id = await connect(client, stream(from.id), [], stream(made.id))
  await waitForTotal(client, made.id, 320)
  expect((await lettersOf(client, id)).total).toBe(0)
})

it('takes a pipeline’s output within a limit that is lowered while it runs', async () => {
  const topic = await newTopic(1)
  const schema_id = await register(`${topic}-value`, 'JSON', ID_AND_N)
  const made = await adopted(topic, schema_id)
  const from = await createStream(client, { id: 'integer', text: 'string' }, { partitions: 1 })
  const id = await connect(client, stream(from.id), [], stream(made.id))
  await write(client, from.id, [{ id: 0, text: '' }])
  await waitForTotal(client, made.id, 1)
  await setLimit(topic, 100_000)
  const records = Array.from({ length: 80 }, (_, n) => ({ id: n, text: randomBytes(5000).toString('base64') }))
  await write(client, from.id, records)
  await waitForTotal(client, made.id, 81)
  await revised(id)
})

it.each(['before', 'after'])('keeps a value of many megabytes whole as a dead letter; its limit was raised %s the start', async (when) => {
  const topic = await newTopic(1)
  if (when === 'before') await setLimit(topic, 24 << 20)
  const schema_id = await register(`${topic}-value`, 'JSON', ID_AND_N)
  const made = await adopted(topic, schema_id)
  const sink = await createStream(client, { id: 'integer' })
  const filter = { name: 'dps/filter', config: { field: 'id', operator: 'gte', value: 0 } }
  const id = await connect(client, stream(made.id), [filter], stream(sink.id))
  if (when === 'after') await setLimit(topic, 24 << 20).then(() => revised(id))
  // Random, so that no compression makes it fit.
  const large = framed(schema_id, `{"id":1,"text":"${randomBytes(9 << 20).toString('base64')}"}`)
  await producer.send({
    topic,
    messages: [{ value: framed(schema_id, '{"id":0}') }, { value: large }, { value: framed(schema_id, '{"id":2}') }],
  })
  await waitForTotal(client, sink.id, 2)
  const letters = await eventually('the dead letter', async () => {
    const found = await lettersOf(client, id)
    return found.total === 1 && found
  })
  expect(letters.dead_letters[0]!.offset).toBe(1)
  const name = (await admin.listTopics()).find((each) => each.includes(id) && each.endsWith('dead-letters'))!
  const sizes: number[] = []
  const cluster = openCluster({ brokers: service().brokers, clientId: 'adopted-test' })
  await readCommitted(cluster, name, (_partition, _offset, _key, value) => sizes.push(value.length)).finally(() => cluster.close())
  expect(sizes).toEqual([large.length])
})
