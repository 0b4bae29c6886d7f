/** One suite for every source, against the real system: it reads everything once, resumes from any position, and stops when told to. */
import registryPackage from '@kafkajs/confluent-schema-registry'
import { Redis } from 'ioredis'
import kafkajs from 'kafkajs'
import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findConnector } from '../../shared/connectors/catalogue.ts'
import type { ConnectorContext } from '../../shared/connectors/connector.ts'
import type { OpenSource } from '../../shared/connectors/source.ts'
import { createSeenEntries } from '../../shared/connectors/seen-entries.ts'
import { eventually, service, unique } from '../harness/client.ts'
import { contextFor, createTopic, openSecondKafka, readSplit, valuesFrom, type SplitState } from '../harness/conformance.ts'
import { openS3, openWarehouse } from '../harness/connectors.ts'
import { limitFromNow, limitMs } from '../harness/machine-speed.ts'
import { exactProducer } from '../harness/exact-producer.ts'

let warehouse: pg.Client
let s3: ReturnType<typeof openS3>
let redis: Redis
let second: Awaited<ReturnType<typeof openSecondKafka>>
beforeAll(async () => {
  warehouse = await openWarehouse()
  s3 = openS3()
  redis = new Redis(service().redisUrl)
  second = await openSecondKafka()
})
afterAll(async () => {
  await second.close()
  s3.close()
  redis.disconnect()
  await warehouse.end()
})

const { SchemaRegistry, SchemaType } = registryPackage
const { CompressionTypes } = kafkajs
const NUMBERS = '{"type":"record","name":"Numbers","fields":[{"name":"n","type":"long"}]}'
const name = (kind: string) => unique(kind).replaceAll('-', '_').toLowerCase()
const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)
const openSource = async (id: string, config: unknown, context: ConnectorContext): Promise<OpenSource> =>
  (await findConnector(id)!.source!.open!())(config, context)

type SourceCase = {
  id: string
  what: string
  splits: number
  prepare(count: number): Promise<Record<string, unknown>>
  numberOf?: (value: string) => number
}

const SOURCES: SourceCase[] = [
  {
    id: 'conn_storage_bucket',
    what: 'storage-bucket',
    splits: 2,
    async prepare(count) {
      const prefix = `${unique('conform')}/`
      for (let file = 0; file < 5; file++)
        await s3.put(
          `${prefix}${file}.ndjson`,
          valuesFrom(0, count)
            .filter((_, n) => n % 5 === file)
            .join('\n'),
        )
      return { bucket: service().bucket.name, prefix, poll_interval_ms: 100 }
    },
  },
  {
    id: 'conn_table',
    what: 'table (replication)',
    splits: 1,
    async prepare(count) {
      const table = name('conform')
      await warehouse.query(`CREATE TABLE ${table} (n int PRIMARY KEY)`)
      await warehouse.query(`INSERT INTO ${table} SELECT generate_series(0, ${count - 1})`)
      return { table }
    },
  },
  {
    id: 'conn_table',
    what: 'table (query)',
    splits: 1,
    async prepare(count) {
      const table = name('conform')
      await warehouse.query(`CREATE TABLE ${table} (n int PRIMARY KEY)`)
      await warehouse.query(`INSERT INTO ${table} SELECT generate_series(0, ${count - 1})`)
      return { table, mode: 'query', cursor: 'n', poll_interval_ms: 100 }
    },
  },
  {
    id: 'conn_kafka',
    what: 'kafka',
    splits: 2,
    async prepare(count) {
      const topic = await createTopic(second.kafka, 3)
      const producer = exactProducer(second.kafka)
      await producer.connect()
      for (let at = 0; at < count; at += 100)
        await producer.send({
          topic,
          messages: valuesFrom(at, Math.min(at + 100, count)).map((value, n) => ({ key: `k${n}`, value, headers: { h: 'x' } })),
        })
      await producer.disconnect()
      return { brokers: second.brokers, topic }
    },
  },
  {
    id: 'conn_kafka',
    what: 'kafka with a registry',
    splits: 2,
    async prepare(count) {
      const topic = await createTopic(second.kafka, 3)
      const registry = new SchemaRegistry({ host: service().registryUrl })
      const { id } = await registry.register({ type: SchemaType.AVRO, schema: NUMBERS }, { subject: `${topic}-value` })
      const producer = exactProducer(second.kafka)
      await producer.connect()
      const messages = await Promise.all(
        Array.from({ length: count }, async (_, n) => ({ key: `k${n}`, value: await registry.encode(id, { n }) })),
      )
      await producer.send({ topic, messages })
      await producer.disconnect()
      return { brokers: second.brokers, topic, registry: { url: service().registryUrl } }
    },
  },
  {
    id: 'conn_redis',
    what: 'redis',
    splits: 2,
    async prepare(count) {
      const stream = unique('conform')
      const entries = redis.pipeline()
      for (let n = 0; n < count; n++) entries.xadd(stream, '*', 'n', n)
      await entries.exec()
      return { url: service().redisUrl, stream }
    },
  },
  {
    id: 'conn_redis',
    what: 'redis (a field)',
    splits: 2,
    async prepare(count) {
      const stream = unique('conform')
      const entries = redis.pipeline()
      for (let n = 0; n < count; n++) entries.xadd(stream, '*', 'other', 'x', 'value', `{"n":${n}}`)
      await entries.exec()
      return { url: service().redisUrl, stream, field: 'value' }
    },
  },
  {
    id: 'conn_generator',
    what: 'generator',
    splits: 2,
    prepare: async (count) => ({ records_per_second: 100_000, records_max: count, schema: { n: 'integer' } }),
  },
]

/** What never ends says what it is. */
async function within<T>(what: string, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`${what} does not end`)), limitMs(90_000))
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer))
}

describe.each(SOURCES)('$what as a source', ({ id, splits, prepare }) => {
  const COUNT = 600
  const nOf = (value: string | null) => Number((JSON.parse(value!) as { n: number }).n)
  const newState = (): SplitState => ({ position: undefined, seen: new Map() })
  /** Reads all splits until they have given every record, `before` of which were read already, and for a moment more: none comes twice. */
  async function readAllSplits(source: OpenSource, states: SplitState[], before = 0): Promise<number[]> {
    const stop = new AbortController()
    const counts = states.map(() => 0)
    const isEnough = (index: number, found: number) => {
      counts[index] = found
      if (before + counts.reduce((sum, count) => sum + count, 0) >= COUNT) setTimeout(() => stop.abort(), 300)
      return false
    }
    // None is left to come where all were read already.
    isEnough(0, 0)
    const parts = states.map((state, index) =>
      readSplit(source, { index, count: splits }, state, (values) => isEnough(index, values.length), limitMs(60_000), stop.signal),
    )
    return (await Promise.all(parts)).flat().map(nOf)
  }

  it('reads every record once over all its splits', async () => {
    const config = await within('preparing', prepare(COUNT))
    const context = contextFor()
    const source = await within('opening', openSource(id, config, context))
    const found = await within('reading', readAllSplits(source, numbers(0, splits).map(newState)))
    await within('closing', source.close())
    expect(found.sort((a, b) => a - b)).toEqual(numbers(0, COUNT))
    await within('disposing', dispose(config, context))
  })

  it('resumes from every position without losing or repeating a record', async () => {
    const config = await prepare(COUNT)
    const context = contextFor()
    const found: number[] = []
    const states = numbers(0, splits).map(newState)
    // First each is stopped after every read, then all are left to run.
    for (const [index, state] of states.entries())
      for (let stops = 0; stops < 4; stops++) {
        const source = await openSource(id, config, context)
        found.push(...(await readSplit(source, { index, count: splits }, state, (_, reads) => reads >= 1, 1500)).map(nOf))
        await source.close()
      }
    const source = await openSource(id, config, context)
    found.push(...(await readAllSplits(source, states, found.length)))
    await source.close()
    expect(found.sort((a, b) => a - b)).toEqual(numbers(0, COUNT))
    await dispose(config, context)
  })

  it('ends within 5 s when it is aborted', async () => {
    const config = await prepare(10)
    const context = contextFor()
    const source = await openSource(id, config, context)
    const stop = new AbortController()
    const reading = (async () => {
      for await (const _read of source.read({ index: 0, count: 1 }, undefined, createSeenEntries(), stop.signal)) void _read
    })()
    await new Promise((resolve) => setTimeout(resolve, 800))
    const [limit, from] = [limitFromNow(10_000), performance.now()]
    stop.abort()
    await reading
    await source.close()
    // Twice the time of a quick machine, which one event may take on a busy one.
    expect(performance.now() - from).toBeLessThan(limit())
    await dispose(config, context)
  })

  async function dispose(config: unknown, context: ConnectorContext): Promise<void> {
    const run = await findConnector(id)!.source!.dispose?.()
    await run?.(config, context)
  }
})

describe('a topic of another cluster', () => {
  it('is read in small blocks, however large its batches are once they are inflated', async () => {
    const topic = await createTopic(second.kafka, 1)
    const producer = exactProducer(second.kafka)
    await producer.connect()
    const value = 'x'.repeat(900_000)
    for (let n = 0; n < 12; n++) await producer.send({ topic, messages: [{ value }], compression: CompressionTypes.GZIP })
    await producer.disconnect()
    const source = await openSource('conn_kafka', { brokers: second.brokers, topic }, contextFor())
    const sizes: number[] = []
    for await (const { block, position } of source.read(
      { index: 0, count: 1 },
      undefined,
      createSeenEntries(),
      new AbortController().signal,
    )) {
      sizes.push(block.bytes.length)
      if ((JSON.parse(position) as Record<string, string>)[0] === '12') break
    }
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(12 * value.length)
    expect(Math.max(...sizes)).toBeLessThan(3_000_000)
    await source.close()
  })

  it('is read from the first record of a partition that was added, with start latest, also by a split that had none', async () => {
    const topic = await createTopic(second.kafka, 1)
    const source = await openSource('conn_kafka', { brokers: second.brokers, topic, start: 'latest' }, contextFor())
    const state: SplitState = { position: undefined, seen: new Map() }
    const split = { index: 2, count: 4 }
    expect(await readSplit(source, split, state, () => true, limitMs(10_000))).toEqual([])
    expect(state.position).toBeDefined()
    const [admin, producer] = [second.kafka.admin(), exactProducer(second.kafka)]
    await Promise.all([admin.connect(), producer.connect()])
    await admin.createPartitions({ topicPartitions: [{ topic, count: 4 }] })
    await eventually('the new partition takes a record', () => producer.send({ topic, messages: [{ partition: 2, value: 'first' }] }))
    await Promise.all([admin.disconnect(), producer.disconnect()])
    // A try that failed may have written it, too.
    expect(await readSplit(source, split, state, (values) => values.length > 0, limitMs(30_000))).toContain('first')
    await source.close()
  })

  it('is committed past what holds no record within a minute, so that retention can’t move its start past the position', async () => {
    const topic = await createTopic(second.kafka, 1)
    const producer = second.kafka.producer({ transactionalId: unique('aborts'), idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    const send = async (values: string[], isKept: boolean) => {
      const transaction = await producer.transaction()
      await transaction.send({ topic, messages: values.map((value) => ({ value })) })
      await (isKept ? transaction.commit() : transaction.abort())
    }
    await send(valuesFrom(0, 3), true)
    const startedAt = Date.now()
    // A minute of this clock is a second.
    const context = contextFor({ now: () => startedAt + (Date.now() - startedAt) * 60 })
    const source = await openSource('conn_kafka', { brokers: second.brokers, topic }, context)
    const state: SplitState = { position: undefined, seen: new Map() }
    const offset = () => state.position && (JSON.parse(state.position) as Record<string, string>)[0]
    const split = { index: 0, count: 1 }
    const reading = readSplit(source, split, state, () => offset() === '7')
    await eventually('the three records and the marker behind them', () => Promise.resolve(offset() === '4'))
    await send(valuesFrom(3, 5), false)
    expect(await reading).toHaveLength(3)
    // Behind the aborted ones and their marker.
    expect(offset()).toBe('7')
    let reads = 0
    await readSplit(source, split, state, () => ++reads > 0, 2500)
    expect(reads).toBe(0)
    await source.close()
    await producer.disconnect()
  })
})
