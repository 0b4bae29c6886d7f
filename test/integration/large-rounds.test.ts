/**
 * Connectors at work on a large round. They run in a runner, whose main thread also sends heartbeats and moves other pipelines' records:
 * they hold it for no longer than a few milliseconds at a time, and write what they would write at once.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import registryPackage from '@kafkajs/confluent-schema-registry'
import { findConnector } from '../../shared/connectors/catalogue.ts'
import { HttpSourceConfig } from '../../shared/connectors/http/connector.ts'
import { polledRecords } from '../../shared/connectors/http/polled-records.ts'
import type { RecordBlock } from '../../shared/connectors/record-block.ts'
import { createSeenEntries } from '../../shared/connectors/seen-entries.ts'
import type { Rows } from '../../shared/connectors/sink.ts'
import { partsByFolder } from '../../shared/connectors/storage-bucket/group-by-folder.ts'
import { frame } from '../../shared/model/framing.ts'
import { openCodec } from '../../shared/codecs/codecs.ts'
import { service, unique } from '../harness/client.ts'
import { blockValues, contextFor, createTopic, deliveryOf, rowsOf } from '../harness/conformance.ts'
import { openS3 } from '../harness/connectors.ts'
import { atOnce, longestTurn } from '../harness/longest-turn.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { openSinkSystems, readTopic, second } from '../harness/sink-cases.ts'
import { openWebServer } from '../harness/web-server.ts'

const { SchemaRegistry, SchemaType } = registryPackage
/** Most CPU time of one turn, of work that takes this long in one piece; garbage of the whole round may be collected in it. */
const limitOf = (wholeMs: number): number => Math.max(0.4 * wholeMs, 60)
const { signal } = new AbortController()

let close: () => Promise<void>
beforeAll(async () => {
  close = await openSinkSystems()
})
afterAll(() => close())

const openSink = async (id: string, config: unknown, context = contextFor()) => (await findConnector(id)!.sink!.open!())(config, context)
/** Rows as lanes hand them over, some thousands at a time. */
function piecesOf(format: Parameters<typeof rowsOf>[0], values: readonly string[]): Rows[] {
  const starts = Array.from({ length: Math.ceil(values.length / 20_000) }, (_, index) => index * 20_000)
  return starts.flatMap((from) => rowsOf(format, values.slice(from, from + 20_000), from))
}

it('a bucket gets rows by the day of their records', { timeout: limitMs(60_000) }, async () => {
  const s3 = openS3()
  const [context, prefix, key] = [contextFor(), `${unique('days')}/`, 'dt={date}']
  const sink = await openSink('conn_storage_bucket', { bucket: service().bucket.name, prefix, key }, context)
  const values = Array.from({ length: 200_000 }, (_, n) => `{"n":${n}}`)
  const pieces = piecesOf(sink.rows, values)
  // Neighbours are of different days: every row is copied by itself.
  for (const { times, offsets } of pieces) for (const row of times.keys()) times[row] = Date.UTC(2026, 10, 20 + (offsets[row]! % 2))
  // The first write also starts the thread and the client.
  await sink.write(deliveryOf(context, 0, 1), rowsOf(sink.rows, ['{"n":0}'], 0), signal)
  const { given, longestMs } = await longestTurn(() => sink.write(deliveryOf(context, 1, values.length), pieces, signal))
  expect(given).toEqual({ kind: 'delivered' })
  for (const [day, date] of ['2026-11-20', '2026-11-21'].entries()) {
    const keys = (await s3.keys(`${prefix}dt=${date}/`)).filter((found) => found.includes('00001-'))
    const wanted = values.filter((_, n) => n % 2 === day).map((value) => `${value}\n`)
    expect(Buffer.concat(await Promise.all(keys.map(s3.get))).equals(Buffer.from(wanted.join('')))).toBe(true)
  }
  expect(longestMs).toBeLessThan(limitOf(atOnce(() => partsByFolder(pieces, key)).ms))
  await sink.close()
  s3.close()
})

const FIELDS = [
  { name: 'n', type: 'long' },
  { name: 'm', type: 'long' },
  { name: 'city', type: 'string' },
]
const SCHEMA = JSON.stringify({ type: 'record', name: 'Place', fields: FIELDS })

/** A topic of another cluster with a schema, a sink that writes to it, and the values that it is given. */
async function openPlaces() {
  const context = contextFor()
  const topic = await createTopic(second.kafka, 1)
  const registry = { url: service().registryUrl }
  const client = new SchemaRegistry({ host: registry.url })
  const { id } = await client.register({ type: SchemaType.AVRO, schema: SCHEMA }, { subject: `${topic}-value` })
  const sink = await openSink('conn_kafka', { brokers: second.brokers, topic, schema_id: id, registry }, context)
  const values = Array.from({ length: 60_000 }, (_, n) => JSON.stringify({ n, m: n * 7, city: `city ${n % 100}` }))
  const pieces = piecesOf(sink.rows, values)
  // The first write also reads the schema.
  await sink.write(deliveryOf(context, 0, 1), piecesOf(sink.rows, values.slice(0, 1)), signal)
  const write = () => sink.write(deliveryOf(context, 1, 1 + values.length), pieces, signal)
  return { context, topic, registry, id, values, write, close: () => sink.close() }
}

it('a topic of another cluster gets values in Avro', { timeout: limitMs(60_000) }, async () => {
  const { topic, id, values, write, close } = await openPlaces()
  const { given, longestMs } = await longestTurn(write)
  expect(given).toEqual({ kind: 'delivered' })
  const codec = openCodec('avro', { text: SCHEMA, references: [] })
  const encoded = atOnce(() => values.map((value) => codec.fromJson(value)))
  const wanted = encoded.given.map((value) => Buffer.concat([frame(id, ''), value]))
  const found = (await readTopic(topic)).slice(1)
  expect(found.length).toBe(wanted.length)
  expect(found.findIndex((value, n) => !value.equals(wanted[n]!))).toBe(-1)
  expect(longestMs).toBeLessThan(limitOf(encoded.ms))
  await close()
})

it('a topic of another cluster is read as JSON', { timeout: limitMs(60_000) }, async () => {
  const { context, topic, registry, values, write, close } = await openPlaces()
  await write()
  await close()
  const open = await findConnector('conn_kafka')!.source!.open!()
  const source = await open({ brokers: second.brokers, topic, registry, start: 'earliest' }, context)
  const blocks: RecordBlock[] = []
  const { longestMs } = await longestTurn(async () => {
    let count = 0
    for await (const { block } of source.read({ index: 0, count: 1 }, undefined, createSeenEntries(), signal)) {
      blocks.push(block)
      if ((count += block.count) > values.length) return
    }
  })
  expect(blocks.flatMap(blockValues).slice(1)).toEqual(values)
  const codec = openCodec('avro', { text: SCHEMA, references: [] })
  const coded = values.map((value) => codec.fromJson(value))
  expect(longestMs).toBeLessThan(limitOf(atOnce(() => coded.map((value) => codec.toJson(value))).ms))
  await source.close()
})

it('a web service’s answer of many records is taken apart', { timeout: limitMs(60_000) }, async () => {
  const items = Array.from({ length: 60_000 }, (_, n) => ({ n, city: `city ${n % 100}`, price: n / 7, tags: ['a', 'b'] }))
  const text = JSON.stringify({ items, next_cursor: '' })
  const server = await openWebServer((_request, response) => response.setHeader('content-type', 'application/json').end(text))
  const url = `${server.url}/`
  const open = await findConnector('conn_http')!.source!.open!()
  const source = await open(HttpSourceConfig.parse({ url, records: '/items', paging: { kind: 'cursor' } }), contextFor())
  const { given, longestMs } = await longestTurn(async () => {
    for await (const read of source.read({ index: 0, count: 1 }, undefined, createSeenEntries(), signal)) return read
    return undefined
  })
  await source.close()
  await server.close()
  const whole = atOnce(() => polledRecords(text, 'application/json', '/items'))
  expect(given?.position).toBe(`{"behind":${items.length}}`)
  expect(blockValues(given!.block)).toEqual(whole.given.records)
  expect(longestMs).toBeLessThan(limitOf(whole.ms))
})
