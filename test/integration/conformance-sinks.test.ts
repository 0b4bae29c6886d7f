/**
 * One suite for every sink, against the real system: Postgres, an S3-compatible server, a web service that misbehaves on purpose, a
 * second Kafka, Redis. `isExact` is what a sink's page promises.
 */
import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { DuckDBInstance } from '@duckdb/node-api'
import registryPackage from '@kafkajs/confluent-schema-registry'
import { Redis } from 'ioredis'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findConnector } from '../../shared/connectors/catalogue.ts'
import type { ConnectorContext } from '../../shared/connectors/connector.ts'
import type { OpenSink } from '../../shared/connectors/sink.ts'
import { eventually, service, unique } from '../harness/client.ts'
import {
  contextFor,
  createTopic,
  deliveryOf,
  openSecondKafka,
  openSilence,
  PLANTED,
  rowsOf,
  valuesFrom,
  writeRange,
} from '../harness/conformance.ts'
import { openS3, openWarehouse } from '../harness/connectors.ts'
import { limitFromNow } from '../harness/machine-speed.ts'

let warehouse: pg.Client
let s3: ReturnType<typeof openS3>
let second: Awaited<ReturnType<typeof openSecondKafka>>
let redis: Redis
let web: { url: string; port: number; bodies: { body: string; key: string }[]; answer: (body: string) => number; server: Server }
beforeAll(async () => {
  warehouse = await openWarehouse()
  s3 = openS3()
  redis = new Redis(service().redisUrl)
  // The suite's secret is this user's password.
  await redis.acl('SETUSER', 'conform', 'on', `>${PLANTED}`, '~*', '+@all')
  second = await openSecondKafka()
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const body = Buffer.concat(parts).toString('utf8')
      const status = web.answer(body)
      if (status < 300) web.bodies.push({ body, key: String(request.headers['idempotency-key']) })
      response.writeHead(status).end()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  web = { url: `http://127.0.0.1:${port}/`, port, bodies: [], answer: () => 200, server }
})
afterAll(async () => {
  web.server.close()
  await second.close()
  s3.close()
  redis.disconnect()
  await warehouse.end()
})

const { SchemaRegistry, SchemaType } = registryPackage
const NUMBERS = '{"type":"record","name":"Numbers","fields":[{"name":"n","type":"long"}]}'
const name = (kind: string) => unique(kind).replaceAll('-', '_').toLowerCase()
const openSink = async (id: string, config: unknown, context: ConnectorContext): Promise<OpenSink> =>
  (await findConnector(id)!.sink!.open!())(config, context)
type SinkCase = {
  id: string
  what: string
  /** A repeated range is not written again. */
  isExact: boolean
  /** A repeated range is written again under the same keys, by which the other system knows it. */
  hasStableKeys?: boolean
  config(): Promise<Record<string, unknown>>
  /** The numbers that the other system holds. */
  readBack(config: Record<string, unknown>): Promise<number[]>
  /** A value that the other system refuses, while it takes the others. */
  poison?: { value: string; before?: () => void }
  /** The same config, but the other system is reached through this port. */
  behind?: (
    config: Record<string, unknown>,
    port: number,
  ) => { config: Record<string, unknown>; context: Partial<ConnectorContext>; targetPort: number }
}

const portOf = (url: string): number => Number(new URL(url).port)
const numbersIn = (text: string): number[] => [...text.matchAll(/"n":(\d+)/g)].map(([, n]) => Number(n))
const bucketBehind = (config: Record<string, unknown>, port: number) => {
  const { access_key, secret_key } = service().bucket
  const bucket = { endpoint: `http://127.0.0.1:${port}`, region: 'us-east-1', access_key, secret_key }
  return { config, context: { defaults: { ...contextFor().defaults, bucket } }, targetPort: portOf(service().bucket.endpoint) }
}
const objects = async (config: Record<string, unknown>): Promise<Uint8Array[]> =>
  Promise.all((await s3.keys(String(config.prefix))).sort().map((key) => s3.get(key)))
const place = () => ({ bucket: service().bucket.name, prefix: `${unique('conform')}/` })

const SINKS: SinkCase[] = [
  {
    id: 'conn_table',
    what: 'table (insert)',
    isExact: true,
    config: async () => {
      const table = name('conform')
      await warehouse.query(`CREATE TABLE ${table} (n int CHECK (n <> 13000), place bigserial)`)
      return { table, batch_size: 7 }
    },
    readBack: async ({ table }) => (await warehouse.query(`SELECT n FROM ${String(table)} ORDER BY place`)).rows.map(({ n }) => n),
    poison: { value: '{"n":13000}' },
    behind: (config, port) => {
      const url = new URL(service().warehouseUrl)
      const targetPort = Number(url.port)
      url.port = String(port)
      return { config, context: { defaults: { ...contextFor().defaults, warehouse_url: url.toString() } }, targetPort }
    },
  },
  {
    id: 'conn_table',
    what: 'table (upsert)',
    isExact: true,
    config: async () => {
      const table = name('conform')
      await warehouse.query(`CREATE TABLE ${table} (n int PRIMARY KEY CHECK (n <> 13000), place bigserial)`)
      return { table, mode: 'upsert', key: ['n'], batch_size: 7 }
    },
    readBack: async ({ table }) => (await warehouse.query(`SELECT n FROM ${String(table)} ORDER BY place`)).rows.map(({ n }) => n),
    poison: { value: '{"n":13000}' },
  },
  {
    id: 'conn_storage_bucket',
    what: 'storage-bucket (ndjson, gzip)',
    isExact: true,
    config: async () => ({ ...place(), compression: 'gzip' }),
    readBack: async (config) => (await objects(config)).flatMap((object) => numbersIn(gunzipSync(object).toString('utf8'))),
    behind: bucketBehind,
  },
  {
    id: 'conn_storage_bucket',
    what: 'storage-bucket (csv)',
    isExact: true,
    config: async () => ({ ...place(), format: 'csv', columns: ['n'] }),
    readBack: async (config) =>
      (await objects(config)).flatMap((object) => Buffer.from(object).toString('utf8').trim().split('\r\n').slice(1).map(Number)),
  },
  {
    id: 'conn_storage_bucket',
    what: 'storage-bucket (parquet)',
    isExact: true,
    config: async () => ({ ...place(), format: 'parquet' }),
    readBack: async (config) => {
      const files = await objects(config)
      if (files.length === 0) return []
      const paths = files.map((_, index) => join(second.folder, `${index}.parquet`))
      await Promise.all(files.map((file, index) => writeFile(paths[index]!, file)))
      const duck = await (await DuckDBInstance.create(':memory:')).connect()
      const rows = await duck.runAndReadAll(`SELECT n::int AS n FROM read_parquet([${paths.map((path) => `'${path}'`).join(',')}])`)
      return rows.getRowObjects().map((row) => Number(row.n))
    },
    poison: { value: '{"n":"no number"}' },
  },
  {
    id: 'conn_http',
    what: 'http',
    isExact: false,
    hasStableKeys: true,
    config: async () => ({ url: web.url, batch_size: 9, timeout_ms: 30_000 }),
    readBack: async () => {
      const once_ = new Map(web.bodies.splice(0).map(({ key, body }) => [key, body]))
      return [...once_.values()].flatMap(numbersIn)
    },
    poison: { value: '{"n":13000}', before: () => (web.answer = (body) => (body.includes('13000') ? 422 : 200)) },
    behind: (config, port) => ({ config: { ...config, url: `http://127.0.0.1:${port}/` }, context: {}, targetPort: web.port }),
  },
  {
    id: 'conn_kafka',
    what: 'kafka',
    isExact: false,
    config: async () => {
      const topic = await createTopic(second.kafka, 1)
      return { brokers: second.brokers, topic }
    },
    readBack: async ({ topic }) => (await readTopic(String(topic))).flatMap((value) => numbersIn(value.toString('utf8'))),
  },
  {
    id: 'conn_kafka',
    what: 'kafka with a registry',
    isExact: false,
    config: async () => {
      const topic = await createTopic(second.kafka, 1)
      const registry = new SchemaRegistry({ host: service().registryUrl })
      const { id } = await registry.register({ type: SchemaType.AVRO, schema: NUMBERS }, { subject: `${topic}-value` })
      return { brokers: second.brokers, topic, schema_id: id, registry: { url: service().registryUrl } }
    },
    // Read by the registry's own client.
    readBack: async ({ topic }) => {
      const registry = new SchemaRegistry({ host: service().registryUrl })
      const values = await readTopic(String(topic))
      return Promise.all(values.map(async (value) => ((await registry.decode(value)) as { n: number }).n))
    },
    poison: { value: '{"n":"no number"}' },
  },
  {
    id: 'conn_redis',
    what: 'redis',
    isExact: true,
    config: async () => ({
      url: service().redisUrl,
      username: 'conform',
      password: { $secret: 'redis_password' },
      stream: unique('conform'),
      field: 'record',
    }),
    readBack: async ({ stream }) =>
      (await redis.xrange(String(stream), '-', '+')).flatMap(([, [field, value]]) => (field === 'record' ? numbersIn(value!) : [])),
    behind: (config, port) => ({
      config: { ...config, url: `redis://127.0.0.1:${port}` },
      context: {},
      targetPort: portOf(service().redisUrl),
    }),
  },
]

/** Reads a topic of the second cluster, of one partition, to its end. */
async function readRecords(topic: string): Promise<{ value: Buffer; timestamp: number }[]> {
  const admin = second.kafka.admin()
  await admin.connect()
  const [end] = await admin.fetchTopicOffsets(topic)
  await admin.disconnect()
  const consumer = second.kafka.consumer({ groupId: unique('reader') })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  const found: { value: Buffer; timestamp: number }[] = []
  await consumer.run({
    eachMessage: async ({ message: { value, timestamp } }) => void found.push({ value: value!, timestamp: Number(timestamp) }),
  })
  await eventually('the topic is read to its end', async () => found.length >= Number(end!.high))
  await consumer.disconnect()
  return found
}

const readTopic = async (topic: string): Promise<Buffer[]> => (await readRecords(topic)).map(({ value }) => value)

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)

describe.each(SINKS)('$what as a sink', ({ id, isExact, hasStableKeys, config: configOf, readBack, poison, behind }) => {
  async function opened(change: Partial<ConnectorContext> = {}) {
    web.answer = () => 200
    const config = await configOf()
    const context = contextFor(change)
    const sink = await openSink(id, config, context)
    await sink.position?.(deliveryOf(context, 0, 0), { nextOffset: 0n, note: 'start' })
    return { config, context, sink }
  }

  it('writes everything in order', async () => {
    const { config, context, sink } = await opened()
    for (let from = 0; from < 90; from += 30) expect(await writeRange(sink, context, from, from + 30)).toEqual({ kind: 'delivered' })
    expect(await readBack(config)).toEqual(numbers(0, 90))
    await sink.close()
  })

  it('resumes where it was when it is reopened, and handles a repeated range as it promises', async () => {
    const { config, context, sink } = await opened()
    expect(await writeRange(sink, context, 0, 20)).toEqual({ kind: 'delivered' })
    await sink.close()
    const again = await openSink(id, config, context)
    const kept = await again.position?.(deliveryOf(context, 0, 0), { nextOffset: 0n, note: 'start' })
    if (kept) {
      // The sink keeps the position: its own task resumes there, and a task with another position writes nothing.
      expect(kept).toEqual({ nextOffset: 20n, note: '20' })
      expect(await writeRange(again, context, 0, 20)).toMatchObject({ kind: 'moved' })
    } else expect(await writeRange(again, context, 0, 20)).toEqual({ kind: 'delivered' })
    expect(await writeRange(again, context, 20, 40)).toEqual({ kind: 'delivered' })
    const found = await readBack(config)
    if (isExact || hasStableKeys) expect(found).toEqual(numbers(0, 40))
    else expect([...new Set(found)].sort((a, b) => a - b)).toEqual(numbers(0, 40))
    await again.close()
  })

  it.runIf(poison)('names the one refused record, and takes the others without it', async () => {
    const { config, context, sink } = await opened()
    poison!.before?.()
    const values = valuesFrom(0, 25)
    values[11] = poison!.value
    const written = await sink.write(deliveryOf(context, 0, 25), rowsOf(sink.rows, values, 0), new AbortController().signal)
    expect(written).toMatchObject({ kind: 'at_fault', records: [{ offset: 11n }] })
    // The round is repeated without it, as the lane then makes it.
    const rest = rowsOf(
      sink.rows,
      values.filter((_, index) => index !== 11),
      0,
    )
    for (const rows of rest) rows.offsets.set(numbers(0, 25).filter((n) => n !== 11))
    expect(await sink.write(deliveryOf(context, 0, 25), rest, new AbortController().signal)).toEqual({ kind: 'delivered' })
    expect((await readBack(config)).sort((a, b) => a - b)).toEqual(numbers(0, 25).filter((n) => n !== 11))
    await sink.close()
  })

  it.runIf(behind)('asks for a retry when its peer goes silent, and can be closed in the middle of a write', async () => {
    const config = await configOf()
    const { targetPort } = behind!(config, 0)
    const silence = await openSilence(targetPort)
    const { config: moved, context: change } = behind!(config, silence.port)
    const context = contextFor(change)
    const sink = await openSink(id, moved, context)
    await sink.position?.(deliveryOf(context, 0, 0), { nextOffset: 0n, note: 'start' })
    expect(await writeRange(sink, context, 0, 10)).toEqual({ kind: 'delivered' })
    silence.freeze()
    const stop = new AbortController()
    const writing = sink.write(deliveryOf(context, 10, 20), rowsOf(sink.rows, valuesFrom(10, 20), 10), stop.signal)
    const outcome = await Promise.race([writing, new Promise<'late'>((resolve) => setTimeout(() => resolve('late'), 3000))])
    if (outcome !== 'late') expect(outcome).toMatchObject({ kind: 'retry' })
    stop.abort()
    const [limit, from] = [limitFromNow(20_000), performance.now()]
    await sink.close()
    expect(performance.now() - from).toBeLessThan(limit())
    silence.close()
    await writing.catch(() => {})
  })

  it.runIf(behind)('asks for a retry when its peer is dead, and reveals no secret', async () => {
    const config = await configOf()
    const { config: moved, context: change } = behind!(config, 1)
    const context = contextFor(change)
    const outcome = await openSink(id, moved, context).then(
      async (sink) => {
        const written = await writeRange(sink, context, 0, 10)
        await sink.close()
        return written
      },
      (error: unknown) => ({ kind: 'thrown', reason: String(error), isFinal: (error as Error).constructor.name === 'ConfigRefused' }),
    )
    expect(['retry', 'thrown']).toContain(outcome.kind)
    expect('isFinal' in outcome && outcome.isFinal).toBe(false)
    expect(
      JSON.stringify(outcome, (_, value) => (typeof value === 'bigint' ? String(value) : value)) + context.logged.join(),
    ).not.toContain(PLANTED)
  })
})

describe('a topic of another cluster that takes only small batches', () => {
  it('gets everything that fits in order and once, and the records that do not fit are named', async () => {
    const topic = await createTopic(second.kafka, 1, { 'max.message.bytes': '20000' })
    const context = contextFor()
    const sink = await openSink('conn_kafka', { brokers: second.brokers, topic }, context)
    const wide = (n: number, length = 1000) => JSON.stringify({ n, pad: 'x'.repeat(length) })
    const values = numbers(0, 100).map((n) => wide(n))
    const write = (rows: string[]) =>
      sink.write(deliveryOf(context, 0, rows.length), rowsOf(sink.rows, rows, 0), new AbortController().signal)
    expect(await write(values)).toEqual({ kind: 'delivered' })
    expect((await readTopic(topic)).flatMap((value) => numbersIn(value.toString('utf8')))).toEqual(numbers(0, 100))
    const isLarge = (n: number) => n === 142 || n === 190
    const next = numbers(100, 200).map((n) => wide(n, isLarge(n) ? 30_000 : 1000))
    const writeNext = (left: number[]) => {
      const pieces = left.flatMap((n) => rowsOf(sink.rows, [next[n - 100]!], n))
      return sink.write(deliveryOf(context, 100, 200), pieces, new AbortController().signal)
    }
    expect(await writeNext(numbers(100, 200))).toMatchObject({ kind: 'at_fault', records: [{ offset: 142n }, { offset: 190n }] })
    // What was acknowledged before is not written again.
    expect(await writeNext(numbers(100, 200).filter((n) => !isLarge(n)))).toEqual({ kind: 'delivered' })
    const held = (await readTopic(topic)).flatMap((value) => numbersIn(value.toString('utf8')))
    expect(held).toEqual(numbers(0, 200).filter((n) => !isLarge(n)))
    await sink.close()
  })
})

describe('a topic of another cluster', () => {
  it('has the times of the records, and those that it refuses for their time are named', async () => {
    const topic = await createTopic(second.kafka, 1)
    const context = contextFor()
    const sink = await openSink('conn_kafka', { brokers: second.brokers, topic }, context)
    const rows = rowsOf(sink.rows, valuesFrom(0, 40), 0)
    const timeOf = (n: number) => Date.parse('2020-02-02T00:00:00Z') + ((n * 7) % 40) * 60_000
    rows[0]!.times.set(numbers(0, 40).map((n) => (n === 23 ? Date.now() + 30 * 86_400_000 : timeOf(n))))
    const write = (pieces: typeof rows) => sink.write(deliveryOf(context, 0, 40), pieces, new AbortController().signal)
    expect(await write(rows)).toMatchObject({ kind: 'at_fault', records: [{ offset: 23n, code: 'record_refused' }] })
    const left = numbers(0, 40).filter((n) => n !== 23)
    const others = left.flatMap((n) => rowsOf(sink.rows, valuesFrom(n, n + 1), n))
    for (const [index, n] of left.entries()) others[index]!.times[0] = timeOf(n)
    expect(await write(others)).toEqual({ kind: 'delivered' })
    const found = (await readRecords(topic)).map(({ value, timestamp }) => [numbersIn(value.toString('utf8'))[0], timestamp])
    expect(found).toEqual(left.map((n) => [n, timeOf(n)]))
    await sink.close()
  })
})
