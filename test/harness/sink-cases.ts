/** Every sink as a case of `test/integration/conformance-sinks.test.ts`, and the systems behind them. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { DuckDBInstance } from '@duckdb/node-api'
import registryPackage from '@kafkajs/confluent-schema-registry'
import { Redis } from 'ioredis'
import type pg from 'pg'
import type { ConnectorContext } from '../../shared/connectors/connector.ts'
import { eventually, service, unique } from './client.ts'
import { contextFor, createTopic, openSecondKafka, PLANTED } from './conformance.ts'
import { openS3, openWarehouse } from './connectors.ts'
import { openKeyedWebService } from './keyed-web-service.ts'

let warehouse: pg.Client
let s3: ReturnType<typeof openS3>
export let second: Awaited<ReturnType<typeof openSecondKafka>>
let redis: Redis
export let web: Awaited<ReturnType<typeof openKeyedWebService>>
/** Opens them. Returns how to close them. */
export async function openSinkSystems(): Promise<() => Promise<void>> {
  warehouse = await openWarehouse()
  s3 = openS3()
  redis = new Redis(service().redisUrl)
  // The suite's secret is this user's password.
  await redis.acl('SETUSER', 'conform', 'on', `>${PLANTED}`, '~*', '+@all')
  second = await openSecondKafka()
  web = await openKeyedWebService()
  return async () => {
    await web.close()
    await second.close()
    s3.close()
    redis.disconnect()
    await warehouse.end()
  }
}

const { SchemaRegistry, SchemaType } = registryPackage
const NUMBERS = '{"type":"record","name":"Numbers","fields":[{"name":"n","type":"long"}]}'
const name = (kind: string) => unique(kind).replaceAll('-', '_').toLowerCase()
type SinkCase = {
  id: string
  what: string
  /** A repeated range is not written again. */
  isExact: boolean
  /** A repeated range is written again under the same keys, by which the other system knows it. */
  hasStableKeys?: boolean
  config(): Promise<Record<string, unknown>>
  /** What the operator of its service has set, and so on. */
  context?: Partial<ConnectorContext>
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
export const numbersIn = (text: string): number[] => [...text.matchAll(/"n":(\d+)/g)].map(([, n]) => Number(n))
const bucketBehind = (config: Record<string, unknown>, port: number) => {
  const { access_key, secret_key } = service().bucket
  const bucket = { endpoint: `http://127.0.0.1:${port}`, region: 'us-east-1', access_key, secret_key }
  return { config, context: { defaults: { ...contextFor().defaults, bucket } }, targetPort: portOf(service().bucket.endpoint) }
}
const objects = async (config: Record<string, unknown>): Promise<Uint8Array[]> =>
  Promise.all((await s3.keys(String(config.prefix))).sort().map((key) => s3.get(key)))
const place = () => ({ bucket: service().bucket.name, prefix: `${unique('conform')}/` })

export const SINKS: SinkCase[] = [
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
    config: async () => ({ url: web.url, batch_size: 9, timeout_ms: 30_000, auth: { kind: 'bearer', token: { $secret: 'web_token' } } }),
    readBack: async () => {
      const once = new Map(web.bodies.splice(0).map(({ key, body }) => [key, body]))
      return [...once.values()].flatMap(numbersIn)
    },
    poison: { value: '{"n":13000}', before: () => (web.answer = (body) => (body.includes('13000') ? 422 : 200)) },
    // The sink waits for an answer for longer than closing it may take.
    behind: (config, port) => ({
      config: { ...config, url: `http://127.0.0.1:${port}/`, timeout_ms: 120_000 },
      context: {},
      targetPort: web.port,
    }),
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
export async function readRecords(topic: string): Promise<{ value: Buffer; timestamp: number }[]> {
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

export const readTopic = async (topic: string): Promise<Buffer[]> => (await readRecords(topic)).map(({ value }) => value)
