/** Streams over existing topics, and schemas given by id: kafkajs makes the topics, the registry's own API the schemas. */
import { describe, expect, it } from 'vitest'
import { eventually, loggedIn, service, unique } from '../harness/client.ts'
import { connect, lettersOf, stream } from '../harness/connectors.ts'
import { framed, register, useKafka } from '../harness/foreign-topics.ts'
import { createStream, dataText, type NewStream, readAll, waitForTotal, write } from '../harness/pipelines.ts'
import { createRecordIndex } from '../../services/control-plane/stream-data/record-index.ts'
import { openCluster } from '../../shared/kafka/cluster.ts'
import { openAvro } from '../../shared/codecs/avro.ts'
import { openDatabase } from '../../services/control-plane/store/database.ts'
import { readCommitted } from '../chaos/reader.ts'
import { deleteTopic, makeTopics } from '../harness/topics.ts'

const client = await loggedIn(service().accounts.other)
const other = await loggedIn(service().accounts.enterprise)
const { admin, producer } = await useKafka()

async function newTopic(partitions = 3, settings: Record<string, string> = {}, topic = unique('theirs')): Promise<string> {
  const configEntries = Object.entries({ 'retention.ms': '123456789', ...settings }).map(([name, value]) => ({ name, value }))
  await makeTopics(admin, { topic, numPartitions: partitions, configEntries })
  return topic
}
/** Reads every record that a consumer would get. */
async function readTopic(topic: string, onValue: (value: Buffer) => void): Promise<void> {
  const cluster = openCluster({ brokers: service().brokers, clientId: 'adopted-test' })
  await readCommitted(cluster, topic, (_partition, _offset, _key, value) => onValue(value)).finally(() => cluster.close())
}
const adopt = (body: Record<string, unknown>) =>
  client.call<{ id: string; error?: { details?: { path: string; message: string }[] } }>('POST', '/v1/streams', {
    name: unique('adopted'),
    ...body,
  })
async function adopted(body: Record<string, unknown>) {
  const made = await adopt(body)
  if (made.status !== 201) throw new Error(`adopting answered ${made.status}: ${JSON.stringify(made.body)}`)
  return (await client.call<NewStream & { schema: object; partitions: number }>('GET', `/v1/streams/${made.body.id}`)).body
}

const ADDRESS = JSON.stringify({ type: 'object', properties: { street: { type: 'string' } }, required: ['street'] })
const ORDER = JSON.stringify({
  $schema: 'http://json-schema.org/draft-07/schema#',
  type: 'object',
  properties: {
    id: { type: 'integer' },
    at: { type: 'string', format: 'date-time' },
    tags: { type: 'array', items: { type: 'string' } },
    address: { $ref: 'address.json' },
  },
  required: ['id'],
})

const ID_AND_N = '{"type":"object","properties":{"id":{"type":"integer"},"n":{"type":"integer"}}}'

describe('a topic with JSON values', () => {
  it('is read, checked on writes by the schema and its references, run through pipelines, and kept when its stream is deleted', async () => {
    const topic = await newTopic()
    const address = unique('address')
    await register(address, 'JSON', ADDRESS)
    const schema_id = await register(`${topic}-value`, 'JSON', ORDER, [{ name: 'address.json', subject: address, version: 1 }])
    await producer.send({
      topic,
      messages: Array.from({ length: 30 }, (_, id) => ({ partition: id % 3, value: framed(schema_id, JSON.stringify({ id })) })),
    })
    const made = await adopted({ topic, schema_id, key: 'id' })
    expect(made).toMatchObject({
      topic,
      schema_id,
      partitions: 3,
      retention_ms: 123456789,
      format: 'json',
      is_adopted: true,
      schema: { id: 'integer', at: 'datetime?', tags: 'array<string>?', address: 'any?' },
    })
    expect((await readAll(client, made.id)).map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 30 }, (_, id) => id),
    )

    await write(client, made.id, [{ id: 30, address: { street: 'x' }, unknown: 'is allowed by the schema' }])
    const refused = await client.call('POST', `/v1/streams/${made.id}/data`, { records: [{ id: 31, address: {} }, { at: 'x' }] })
    expect(refused.body.error?.details?.map(({ path }) => path)).toEqual(['/records/0/address/street', '/records/1/id', '/records/1/at'])

    const to = await createStream(client, { id: 'integer' })
    const id = await connect(client, stream(made.id), [], stream(to.id))
    await waitForTotal(client, to.id, 31)
    expect((await client.call('DELETE', `/v1/streams/${made.id}`)).status).toBe(409)
    await client.call('DELETE', `/v1/pipelines/${id}`)
    await eventually('the stream can be deleted', async () => (await client.call('DELETE', `/v1/streams/${made.id}`)).status === 204)
    expect(await admin.listTopics()).toContain(topic)
    expect((await fetch(`${service().registryUrl}/subjects/${topic}-value/versions`)).status).toBe(200)
  })

  it('has its records counted from zero after it was recreated', async () => {
    const topic = await newTopic()
    const schema_id = await register(`${topic}-value`, 'JSON', ID_AND_N)
    const made = await adopted({ topic, schema_id })
    const send = (count: number) =>
      producer.send({
        topic,
        messages: Array.from({ length: count }, (_, n) => ({ key: String(n), value: framed(schema_id, `{"n":${n}}`) })),
      })
    await send(50)
    expect(await readAll(client, made.id)).toHaveLength(50)
    await deleteTopic(admin, topic)
    await newTopic(3, {}, topic)
    await eventually('the topic takes records again', () => send(20))
    // A try that failed may have written some of them.
    const first = (await admin.fetchTopicOffsets(topic)).reduce((sum, { high }) => sum + Number(high), 0)
    const read = () => client.call<{ data: unknown[]; pagination: { total: number } }>('GET', `/v1/streams/${made.id}/data?limit=1000`)
    const page = await eventually('the records are there', async () => {
      const { status, body } = await read()
      return status === 200 && body.data.length >= first && body
    })
    expect([page.pagination.total, page.data.length]).toEqual([first, first])
    await send(5)
    expect((await read()).body.pagination.total).toBe(first + 5)
  })

  it('has its records counted again after compaction removes some', async () => {
    const settings = {
      'cleanup.policy': 'compact',
      'segment.ms': '100',
      'min.cleanable.dirty.ratio': '0.01',
      'max.compaction.lag.ms': '100',
    }
    const topic = await newTopic(1, settings)
    const schema_id = await register(`${topic}-value`, 'JSON', ID_AND_N)
    const made = await adopted({ topic, schema_id })
    const message = (key: string, n: number) => ({ key, value: framed(schema_id, `{"n":${n}}`) })
    // One batch, so that it is in the active segment: that is not cleaned before another one has begun.
    await producer.send({ topic, messages: Array.from({ length: 100 }, (_, n) => message(`k${n % 4}`, n)) })
    const db = openDatabase(service().databaseUrl, 2)
    const cluster = openCluster({ brokers: service().brokers, clientId: 'index-test' })
    const connections = cluster.openConnections('index-test')
    const counted = async (laterMs: number) => {
      const index = createRecordIndex(db, cluster, connections, () => Date.now() + laterMs)
      const counts = await index.count({ ...made, is_compacted: true }, (await cluster.describeTopic(topic))!)
      return counts.reduce((sum, { records, estimated }) => sum + records + estimated, 0)
    }
    try {
      expect(await counted(0)).toBe(100)
      // A segment is cleaned once another one has begun.
      const left = await eventually(
        'most records are compacted away',
        async () => {
          await producer.send({ topic, messages: [message('other', 0)] })
          let records = 0
          await readTopic(topic, () => records++)
          return records < 60 && records
        },
        60_000,
      )
      expect(left).toBeLessThan(100)
      await eventually('the count equals what a consumer gets', async () => {
        let records = 0
        await readTopic(topic, () => records++)
        return (await counted(700_000)) === records
      })
    } finally {
      await connections.close()
      await cluster.close()
      await db.destroy()
    }
  })
})

const CUSTOMER =
  '{"type":"record","name":"Customer","namespace":"shop","fields":[{"name":"name","type":"string"},{"name":"photo","type":"bytes"}]}'
const PURCHASE = (more = '') =>
  `{"type":"record","name":"Purchase","namespace":"shop","fields":[{"name":"id","type":"long"},{"name":"customer","type":"Customer"},{"name":"kind","type":{"type":"enum","name":"Kind","symbols":["A","B"]}}${more}]}`

describe('a topic with Avro values', () => {
  it('takes over HTTP exactly what it gives (all digits, nulls, times of any year), and names a member that does not fit', async () => {
    const topic = await newTopic(1)
    const fields = `[{"name":"id","type":"long"},{"name":"note","type":["null","string"],"default":null},{"name":"at","type":{"type":"long","logicalType":"timestamp-micros"}}]`
    await register(`${topic}-value`, 'AVRO', `{"type":"record","name":"Exact","fields":${fields}}`)
    const made = await adopted({ topic })
    const url = `${service().apiUrl}/v1/streams/${made.id}/data`
    const headers = { authorization: `Bearer ${client.token}`, 'content-type': 'application/json' }
    // As text, because JavaScript's own numbers would lose digits.
    const post = (records: string) => fetch(url, { method: 'POST', headers, body: `{"records":[${records}]}` })
    const record = '{"id":9007199254740993,"note":null,"at":"1815-06-18T11:00:00.123457Z"}'
    expect((await post(record)).status).toBe(201)
    const text = await eventually('the record is there', async () => {
      const found = await (await fetch(url, { headers })).text()
      return found.includes('9007199254740993') && found
    })
    expect(text).toContain(record)
    for (const [bad, word] of [
      ['{"id":1,"at":"1815-06-18T11:00:00Z","more":1}', 'more'],
      ['{"id":"1","at":"1815-06-18T11:00:00Z"}', 'id'],
      ['{"id":1,"at":"soon"}', 'at'],
    ] as const) {
      const refused = await post(bad)
      expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining(`\\"${word}\\"`)])
    }
  })

  it('is read by every version of its schema, including later ones, with references resolved', async () => {
    const topic = await newTopic()
    const customers = unique('customer')
    await register(customers, 'AVRO', CUSTOMER)
    const references = [{ name: 'shop.Customer', subject: customers, version: 1 }]
    const texts = [PURCHASE(), PURCHASE(',{"name":"note","type":["null","string"],"default":null}')]
    const codec = (text: string) => openAvro({ text, references: [{ ...references[0]!, text: CUSTOMER }] })
    const record = (id: number, note?: string) => ({
      id,
      customer: { name: `né ${id}`, photo: '/w==' },
      kind: 'B',
      ...(note === undefined ? {} : { note }),
    })
    const first = await register(`${topic}-value`, 'AVRO', texts[0]!, references)
    const put = (id: number, text: string, value: object) =>
      producer.send({ topic, messages: [{ value: framed(id, codec(text).fromJson(JSON.stringify(value))) }] })
    await put(first, texts[0]!, record(1))

    const made = await adopted({ topic })
    expect(made).toMatchObject({ schema_id: first, format: 'avro', schema: { id: 'integer', customer: 'object', kind: 'string' } })
    await write(client, made.id, [record(2)])
    const bad = await client.call('POST', `/v1/streams/${made.id}/data`, { records: [record(3), { ...record(4), customer: { name: 5 } }] })
    expect(bad.body.error?.details).toEqual([
      { path: '/records/1/customer/name', message: 'the member "customer.name" does not fit the stream\'s Avro schema: it must be a text' },
    ])
    const to = await createStream(client, { id: 'integer', customer: 'object', kind: 'string', note: 'any' })
    const id = await connect(client, stream(made.id), [], stream(to.id))
    await waitForTotal(client, to.id, 2)

    const second = await register(`${topic}-value`, 'AVRO', texts[1]!, references)
    await put(second, texts[1]!, record(5, 'new'))
    await waitForTotal(client, to.id, 3)
    expect((await lettersOf(client, id)).total).toBe(0)
    const all = await readAll(client, to.id)
    expect(all.sort((a, b) => Number(a.id) - Number(b.id))).toEqual([record(1), record(2), record(5, 'new')])
    const here = (await readAll(client, made.id)).sort((a, b) => Number(a.id) - Number(b.id))
    expect(here).toEqual([record(1), record(2), record(5, 'new')])

    const patched = await client.call('PATCH', `/v1/streams/${made.id}`, { schema_id: second })
    expect(patched.body).toMatchObject({ schema_id: second, schema: { note: 'string?' } })
    await admin.createPartitions({ topicPartitions: [{ topic, count: 5 }] })
    await eventually(
      'the stream has the partitions of its topic',
      async () => (await client.call<{ partitions: number }>('GET', `/v1/streams/${made.id}`)).body.partitions === 5,
    )
    await write(client, made.id, [record(6, 'by the new one')])
    await waitForTotal(client, to.id, 4)
    const tooMany = await client.call('PATCH', `/v1/pipelines/${id}`, { tasks: 6 })
    expect(tooMany.body.error?.details?.[0]?.message).toBe("must be at most 5, the source's partition count")
    expect((await client.call('PATCH', `/v1/pipelines/${id}`, { tasks: 5 })).body).toMatchObject({ tasks: 5 })
    const byFields = await client.call('PATCH', `/v1/streams/${made.id}`, { schema: { id: 'integer' } })
    expect([byFields.status, byFields.body.error?.details?.[0]?.path]).toEqual([400, '/schema'])
  })
})

describe('a stream whose schema is given by id', () => {
  it('gets its own topic when the schema is Protobuf with an import', async () => {
    const common = unique('common')
    await register(common, 'PROTOBUF', 'syntax = "proto3"; package common; message Money { int64 cents = 1; }')
    const references = [{ name: 'common.proto', subject: common, version: 1 }]
    const text = 'syntax = "proto3"; import "common.proto"; package shop; message Sale { int64 id = 1; common.Money price = 2; }'
    const schema_id = await register(unique('sale'), 'PROTOBUF', text, references)
    const made = await adopted({ schema_id, partitions: 2 })
    expect(made).toMatchObject({ format: 'protobuf', is_adopted: false, partitions: 2, schema: { id: 'integer?', price: 'object?' } })
    await write(client, made.id, [{ id: 1, price: { cents: 250 } }])
    expect(await readAll(client, made.id)).toEqual([{ id: 1, price: { cents: 250 } }])
    const other = await register(unique('sale'), 'PROTOBUF', 'syntax = "proto3"; package shop; message Sale { string id = 1; }')
    const refused = await client.call('PATCH', `/v1/streams/${made.id}`, { schema_id: other })
    expect([refused.status, refused.body.error?.details?.[0]?.message]).toEqual([409, expect.stringContaining('the field "id"')])
    expect((await client.call('DELETE', `/v1/streams/${made.id}`)).status).toBe(204)
    await eventually('its topic is gone', async () => !(await admin.listTopics()).includes(made.topic))
  })

  it('is of the Protobuf message that it names, and shows values of the others as what they are', async () => {
    const topic = await newTopic(1)
    const text = 'syntax = "proto3"; package shop; message Item { int32 n = 1; } message Order { int64 id = 1; repeated Item items = 2; }'
    const schemaId = await register(`${topic}-value`, 'PROTOBUF', text)
    // The index of the second message, then its field 1 as protobuf's own encoding has it: 300 is ac 02.
    await producer.send({ topic, messages: [{ value: framed(schemaId, Buffer.from('020208ac0212020807', 'hex')) }] })
    const made = await adopted({ topic, message: 'Order', key: 'id' })
    expect(made).toMatchObject({ message: 'Order', schema: { id: 'integer?', items: 'array<object>?' } })
    await write(client, made.id, [{ id: 301, items: [] }])
    expect(await readAll(client, made.id)).toEqual([
      { id: 300, items: [{ n: 7 }] },
      { id: 301, items: [] },
    ])
    const sink = await adopted({ schema_id: schemaId, message: 'Order' })
    await connect(client, stream(made.id), [], stream(sink.id))
    await waitForTotal(client, sink.id, 2)
    const written: Buffer[] = []
    await readTopic(sink.topic, (value) => written.push(value))
    expect(written.map((value) => value.subarray(5, 7).toString('hex'))).toEqual(['0202', '0202'])
    for (const body of [
      { topic, message: 'Other' },
      { schema_id: schemaId, message: 'Order.Item' },
    ])
      expect((await adopt(body)).body.error?.details).toEqual([
        { path: '/message', message: `the schema has no message "${body.message}"` },
      ])
    const json = await register(unique('json'), 'JSON', ADDRESS)
    expect((await adopt({ schema_id: json, message: 'Order' })).body.error?.details?.[0]?.path).toBe('/message')
  })

  it('checks writes by the schemas that its JSON Schema refers to', async () => {
    const address = unique('address')
    await register(address, 'JSON', ADDRESS)
    const schema_id = await register(unique('order'), 'JSON', ORDER, [{ name: 'address.json', subject: address, version: 1 }])
    const made = await adopted({ schema_id })
    await write(client, made.id, [{ id: 1, address: { street: 'x' } }])
    const refused = await client.call('POST', `/v1/streams/${made.id}/data`, {
      records: [{ id: 3, address: { street: 5 } }],
    })
    expect(refused.body.error?.details?.map(({ path }) => path)).toEqual(['/records/0/address/street'])
    const lossy = await client.call('POST', `/v1/streams/${made.id}/data`, '{"records": [{"id": 1e400}]}')
    expect(lossy.body.error?.details?.map(({ path }) => path)).toEqual(['/records/0/id'])
    expect(await readAll(client, made.id)).toEqual([{ id: 1, address: { street: 'x' } }])
    // It has no bounds for its integers.
    await client.call('POST', `/v1/streams/${made.id}/data`, '{"records": [{"id": 9007199254740993}]}')
    expect(await dataText(client, made.id)).toContain('"id": 9007199254740993')
  })

  it('is refused when the schema is another account’s', async () => {
    const theirs = await createStream(other, { secret_field: 'string' })
    const answer = await adopt({ schema_id: theirs.schema_id })
    expect([answer.status, answer.body.error?.details?.[0]?.path]).toEqual([400, '/schema_id'])
  })
})

describe('adopting a topic', () => {
  it.each([
    ['a topic that does not exist', { topic: 'never-made' }, '/topic'],
    ['a topic of Kafka’s own', { topic: '__consumer_offsets' }, '/topic'],
    ['an invalid name', { topic: 'a b' }, '/topic'],
    ['a topic with its partitions', { topic: 'x', partitions: 3 }, '/partitions'],
    ['a topic with fields', { topic: 'x', schema: { a: 'string' } }, '/schema'],
    ['no schema at all', {}, '/schema'],
    ['two schemas', { schema: { a: 'string' }, schema_id: 1 }, '/schema_id'],
    ['an unknown schema id', { schema_id: 2_000_000_000 }, '/schema_id'],
    ['a schema id that is not a number', { schema_id: '1' }, '/schema_id'],
  ])('is refused when the request gives %s', async (_what, body, path) => {
    const answer = await adopt(body)
    expect([answer.status, answer.body.error?.details?.[0]?.path]).toEqual([400, path])
  })

  it('is refused for a stream’s own topic, without a schema, with another format, and with a key that is not a field', async () => {
    const own = await createStream(client, { a: 'string' })
    const topic = await newTopic(1)
    const paths = async (body: object) => (await adopt(body as Record<string, unknown>)).body.error?.details?.map(({ path }) => path)
    expect(await paths({ topic: own.topic })).toEqual(['/topic'])
    expect(await paths({ topic })).toEqual(['/schema_id'])
    const schema_id = await register(`${topic}-value`, 'AVRO', CUSTOMER)
    expect(await paths({ topic, schema_id, format: 'json', key: 'nope' })).toEqual(['/format', '/key'])
    expect(await paths({ topic, schema_id: await register(unique('scalar'), 'AVRO', '"string"') })).toEqual(['/schema_id'])
    expect((await client.call<{ streams: unknown[] }>('GET', `/v1/streams?name=${topic}`)).body.streams).toEqual([])
  })
})
