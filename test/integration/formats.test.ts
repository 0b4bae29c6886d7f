/** Streams whose values are Avro or Protobuf: JSON over HTTP and in chains, the registry's own format on the topic. */
import registryPackage from '@kafkajs/confluent-schema-registry'
import kafkajs from 'kafkajs'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { connect, lettersOf, openWarehouse, stream, table, waitForRows } from '../harness/connectors.ts'
import { createStream, dataText, readAll, waitForStatus, waitForTotal, write } from '../harness/pipelines.ts'
import { limitFromNow } from '../harness/machine-speed.ts'
import { exactProducer } from '../harness/exact-producer.ts'

const { SchemaRegistry } = registryPackage
let client: Client
let warehouse: pg.Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.other)
  warehouse = await openWarehouse()
})
afterAll(() => warehouse.end())

const SCHEMA = {
  id: 'integer',
  s: 'string',
  f: 'number',
  ok: 'boolean',
  at: 'datetime',
  day: 'date',
  raw: 'bytes',
  tags: 'array<string>',
  more: 'string?',
}
const record = (id: number) => ({
  id,
  s: `é "${id}"`,
  f: id / 8,
  ok: id % 2 === 0,
  at: '2026-01-02T03:04:05.678Z',
  day: '2026-01-02',
  raw: Buffer.from([id, 255]).toString('base64'),
  tags: ['a', String(id)],
})
const records = (count: number) => Array.from({ length: count }, (_, id) => record(id))
/** Avro shows a missing optional member as null. */
const bare = (found: Record<string, unknown>[]) =>
  found
    .map(({ more, ...rest }) => (more === null || more === undefined ? rest : { ...rest, more }))
    .sort((a, b) => Number(a.id) - Number(b.id))

/** What any client of the registry reads from the topic. */
async function witness(topic: string, count: number): Promise<{ id: number | { toNumber(): number } }[]> {
  const registry = new SchemaRegistry({ host: service().registryUrl })
  const consumer = new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING }).consumer({
    groupId: unique('witness'),
  })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  const found: never[] = []
  await consumer.run({ eachMessage: async ({ message }) => void found.push((await registry.decode(message.value!)) as never) })
  await eventually('the witness has read all', async () => found.length >= count)
  await consumer.disconnect()
  return found
}

type Shown = { records: { record: { value: { base64: string; json: { s: string } } } }[] }

describe.each(['avro', 'protobuf'])('a stream in %s', (format) => {
  it('takes and gives JSON over HTTP, and any client of the registry can read its topic', async () => {
    const made = await createStream(client, SCHEMA, { format })
    await write(client, made.id, [...records(20), { ...record(20), more: 'x' }])
    expect(bare(await readAll(client, made.id))).toEqual([...records(20), { ...record(20), more: 'x' }])
    const seen = await witness(made.topic, 21)
    expect(seen.map(({ id }) => Number(typeof id === 'object' ? id.toNumber() : id)).sort((a, b) => a - b)).toEqual(
      records(21).map(({ id }) => id),
    )
    const refused = await client.call('POST', `/v1/streams/${made.id}/data`, { records: [{ ...record(1), s: 5 }] })
    expect(refused.body.error?.details?.[0]?.path).toBe('/records/0/s')
    // Integers have 64 bits in these formats, and what is shown are the topic's own bytes.
    const large = JSON.stringify({ records: [record(21)] }).replace('"id":21', '"id":9223372036854775807')
    expect((await client.call('POST', `/v1/streams/${made.id}/data`, large)).status).toBe(201)
    expect(await dataText(client, made.id)).toContain('"id":9223372036854775807,')
    const beyond = await client.call('POST', `/v1/streams/${made.id}/data`, large.replace('807', '808'))
    expect([beyond.status, beyond.body.error?.details?.[0]?.path]).toEqual([400, '/records/0/id'])
    const [shown] = (await client.call<Shown>('GET', `/v1/streams/${made.id}/records?from=earliest&limit=1`)).body.records
    const decoded = await new SchemaRegistry({ host: service().registryUrl }).decode(Buffer.from(shown!.record.value.base64, 'base64'))
    expect([decoded.s, shown!.record.value.json.s]).toEqual([shown!.record.value.json.s, record(Number(decoded.id)).s])
    const keyed = await createStream(client, { id: 'integer' }, { format, key: 'id' })
    await client.call('POST', `/v1/streams/${keyed.id}/data`, '{"records": [{"id": 9223372036854775807}]}')
    const byKey = await client.call<Shown>('GET', `/v1/streams/${keyed.id}/records?key=9223372036854775807`)
    expect(byKey.body.records.length).toBe(1)
  })

  it('passes through steps as JSON, and arrives in another format and in a table', async () => {
    const [from, to, json] = [
      await createStream(client, SCHEMA, { format, key: 's' }),
      await createStream(client, { ...SCHEMA, more: 'string' }, { format }),
      await createStream(client, { ...SCHEMA, more: 'string' }),
    ]
    const target = unique('formats').replaceAll('-', '_').toLowerCase()
    const step = { name: 'dps/map-fields', config: { set: { more: 'set' } } }
    await connect(client, stream(from.id), [step], stream(to.id))
    await connect(client, stream(to.id), [], stream(json.id))
    await connect(client, stream(from.id), [], table({ table: target }))
    await write(client, from.id, records(50))
    await waitForTotal(client, json.id, 50)
    const wanted = records(50).map((each) => ({ ...each, more: 'set' }))
    expect(bare(await readAll(client, to.id))).toEqual(wanted)
    expect(bare(await readAll(client, json.id))).toEqual(wanted)
    expect((await witness(to.topic, 50)).length).toBe(50)
    await waitForRows(warehouse, target, 50)
    const { rows } = await warehouse.query(
      `SELECT count(*)::int AS c, count(*) FILTER (WHERE "at" = '2026-01-02T03:04:05.678Z' AND s = 'é "' || id || '"')::int AS same FROM ${target}`,
    )
    expect(rows[0]).toEqual({ c: 50, same: 50 })
  })

  it('makes dead letters, with their own bytes, of values that do not fit its schema', async () => {
    const [from, to] = [
      await createStream(client, { id: 'integer', v: 'any' }),
      await createStream(client, { id: 'integer', v: 'string' }, { format }),
    ]
    const id = await connect(client, stream(from.id), [], stream(to.id))
    await write(client, from.id, [
      { id: 1, v: 'fits' },
      { id: 2, v: 5 },
      { id: 3, v: 'fits too' },
    ])
    await waitForTotal(client, to.id, 2)
    const { dead_letters } = await eventually('a dead letter', async () => {
      const all = await lettersOf(client, id)
      return all.total === 1 && all
    })
    expect(dead_letters[0]).toMatchObject({ error: { code: `not_${format}` }, value: { json: { id: 2, v: 5 } } })
    const back = await connect(client, stream(to.id), [], stream((await createStream(client, { id: 'integer', v: 'string' })).id))
    const producer = exactProducer(new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING }))
    await producer.connect()
    const framed = (id: number, value: Buffer) => Buffer.concat([Buffer.from([0, 0, 0, 0, id]), value])
    const messages = [Buffer.from('no frame'), framed(1, Buffer.from([255])), framed(2, Buffer.from([255]))].map((value) => ({ value }))
    await waitForStatus(client, back, 'running')
    const [startedAt, limit] = [Date.now(), limitFromNow(38_000)]
    await producer.send({ topic: to.topic, messages: [...messages, { value: framed(to.schema_id, Buffer.from([0, 2])) }] })
    await producer.disconnect()
    const unread = await eventually(
      'dead letters of the values that can’t be read',
      async () => {
        const all = await lettersOf(client, back)
        return all.total === 4 && all
      },
      60_000,
    )
    // Schemas that may still come are waited for together.
    expect(Date.now() - startedAt).toBeLessThan(limit())
    const bytesOf = (value: unknown) => Buffer.from((value as { base64: string }).base64, 'base64').toString('latin1')
    const found = unread.dead_letters.map(({ value, error }) => [bytesOf(value), error.code, (error as { message?: string }).message])
    const unknown = (id: number) => `the value was written with schema ${id}, which the stream does not have`
    expect(found.toSorted(([a], [b]) => (a! < b! ? -1 : 1))).toEqual([
      ['\0\0\0\0\x01\xff', 'value_unreadable', unknown(1)],
      ['\0\0\0\0\x02\xff', 'value_unreadable', unknown(2)],
      [framed(to.schema_id, Buffer.from([0, 2])).toString('latin1'), 'value_unreadable', expect.any(String)],
      ['no frame', 'not_framed', expect.any(String)],
    ])
    // What can be read is shown as JSON.
    const failing = { name: 'dps/cel', config: { set: { v: 'string(1 / (value.id - 3))' } } }
    const read = await connect(client, stream(to.id), [failing], stream((await createStream(client, { id: 'integer', v: 'string' })).id))
    const third = await eventually(
      'a dead letter of a step',
      async () => (await lettersOf(client, read)).dead_letters.find(({ error }) => error.code === 'record_failed'),
      60_000,
    )
    expect(third.value).toMatchObject({ json: { id: 3, v: 'fits too' } })
  })

  it('skips values that do not fit its schema, or ends on one, if the pipeline’s policy says so', async () => {
    const [from, to] = [
      await createStream(client, { id: 'integer', v: 'any' }),
      await createStream(client, { id: 'integer', v: 'string' }, { format }),
    ]
    const skip = await connect(client, stream(from.id), [], stream(to.id), { on_error: { policy: 'skip' } })
    const other = await createStream(client, { id: 'integer', v: 'string' }, { format })
    const fail = await connect(client, stream(from.id), [], stream(other.id), { autostart: false })
    await client.call('PATCH', `/v1/pipelines/${fail}`, { on_error: { policy: 'fail' } })
    await client.call('POST', `/v1/pipelines/${fail}/start`)
    await write(client, from.id, [
      { id: 1, v: 5 },
      { id: 2, v: 'fits' },
    ])
    const { status_reason } = await waitForStatus(client, fail, 'failed')
    expect(status_reason).toMatch(new RegExp(`^the sink refused the record at offset \\d+ .*not_${format}`))
    await waitForTotal(client, to.id, 1)
    for (const id of [skip, fail]) expect((await lettersOf(client, id)).total).toBe(0)
    type Preview = { records: { input: { value: { json: { id: number } } }; outcome: string; reason: string }[] }
    const preview = await client.call<Preview>('POST', `/v1/pipelines/${skip}/preview`, { from: 'earliest' })
    const shown = preview.body.records.map(({ input, outcome, reason }) => [input.value.json.id, outcome, reason])
    expect(shown.toSorted(([a], [b]) => Number(a) - Number(b))).toEqual([
      [1, 'skipped', expect.stringMatching(new RegExp(`^the sink refused the record \\(not_${format}\\): `))],
      [2, 'delivered', expect.any(String)],
    ])
  })

  it('is refused when the format has no form for the type of a field', async () => {
    const answer = await client.call('POST', '/v1/streams', { name: unique('stream'), schema: { a: 'string', b: 'any' }, format })
    expect(answer.status).toBe(400)
    expect(answer.body.error?.details).toEqual([{ path: '/schema/b', message: `the type any has no form in ${format}` }])
  })
})

describe('a stream’s schema', () => {
  const patch = (id: string, schema: Record<string, string>) =>
    client.call<{ schema_id: number; schema: object }>('PATCH', `/v1/streams/${id}`, { schema })

  it.each(['json', 'avro', 'protobuf'])(
    'can gain an optional field in %s, and every value is read by the schema it was written with',
    async (format) => {
      const [from, to] = [
        await createStream(client, { a: 'string' }, { format }),
        await createStream(client, { a: 'string', b: 'integer?' }),
      ]
      const id = await connect(client, stream(from.id), [], stream(to.id))
      await write(client, from.id, [{ a: 'before' }])
      await waitForTotal(client, to.id, 1)
      const changed = await patch(from.id, { a: 'string', b: 'integer?' })
      expect([changed.status, changed.body.schema]).toEqual([200, { a: 'string', b: 'integer?' }])
      expect(changed.body.schema_id).not.toBe(from.schema_id)
      await write(client, from.id, [{ a: 'after', b: 1 }])
      await waitForTotal(client, to.id, 2)
      const both = (await readAll(client, from.id)).map(({ a, b }) => [a, b ?? null])
      expect(both.sort()).toEqual(
        [
          ['after', 1],
          ['before', null],
        ].sort(),
      )
      expect((await lettersOf(client, id)).total).toBe(0)
    },
  )

  it('can’t change against its compatibility mode, and every field at fault is named', async () => {
    const backward = await createStream(client, { a: 'string', b: 'integer', c: 'number?' })
    const refused = await patch(backward.id, { a: 'integer', c: 'number', d: 'string' })
    expect(refused.status).toBe(409)
    expect(refused.body.error?.details?.map(({ path }) => path).sort()).toEqual(['/schema/a', '/schema/b', '/schema/c', '/schema/d'])
    const forward = await createStream(client, { a: 'string', b: 'integer?' }, { compatibility: 'FORWARD' })
    expect((await patch(forward.id, { a: 'string', b: 'integer?', c: 'string?' })).body.error?.details?.map(({ path }) => path)).toEqual([
      '/schema/c',
    ])
    expect((await patch(forward.id, { a: 'string' })).status).toBe(200)
    const none = await createStream(client, { a: 'string' }, { compatibility: 'NONE' })
    expect((await patch(none.id, { z: 'integer' })).status).toBe(200)
    const keyed = await createStream(client, { a: 'string', k: 'string?' }, { compatibility: 'NONE', key: 'k' })
    expect((await patch(keyed.id, { a: 'string' })).status).toBe(409)
  })
})
