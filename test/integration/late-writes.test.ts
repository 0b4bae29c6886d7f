/** Writes that come late or again: a publisher that stalls midway overwrites nothing when it resumes. Real Postgres, real Kafka. */
import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Kafka } from 'kafkajs'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startPublisher } from '../../services/control-plane/publisher/publisher.ts'
import { createLogger } from '../../shared/telemetry/log.ts'
import { openCluster } from '../../shared/kafka/cluster.ts'
import { followTopic } from '../../shared/kafka/follow.ts'
import { migrate, openDatabase, type Database } from '../../services/control-plane/store/database.ts'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { createStream, readAll } from '../harness/pipelines.ts'
import { makeTopics } from '../harness/topics.ts'

let db: Database
let kafka: Kafka
let name: string
beforeAll(async () => {
  name = unique('late-writes').replaceAll('-', '_').toLowerCase()
  const admin = new pg.Client({ connectionString: service().databaseUrl })
  await admin.connect()
  await admin.query(`CREATE DATABASE ${name}`)
  await admin.end()
  const url = new URL(service().databaseUrl)
  url.pathname = `/${name}`
  db = openDatabase(url.toString())
  await migrate(db)
  kafka = new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING, retry: { retries: 1 } })
  const topics = kafka.admin()
  await topics.connect()
  await makeTopics(topics, { topic: name, numPartitions: 1, configEntries: [{ name: 'max.message.bytes', value: '1048588' }] })
  await topics.disconnect()
})
afterAll(() => db.destroy())

/** The same Kafka client, but its sends wait for `open`. */
function gated(open: () => Promise<void>): Kafka {
  const own = Object.create(kafka) as Kafka
  own.producer = (config) => {
    const producer = kafka.producer(config)
    const { transaction } = producer
    producer.transaction = async () => {
      const sending = await transaction()
      const { send } = sending
      sending.send = async (record) => {
        await open()
        return send(record)
      }
      return sending
    }
    return producer
  }
  return own
}

/** What the topic holds, in order. */
async function published(): Promise<string[]> {
  const cluster = openCluster({ brokers: service().brokers, clientId: 'late-writes' })
  const values: string[] = []
  const following = followTopic({
    cluster,
    topic: name,
    purpose: 'late-writes',
    from: 0n,
    waitsForOpen: true,
    onRecords: (records) => void values.push(...records.map(({ value }) => String(value))),
    onError: () => {},
  })
  await following.caughtUp
  await following.close()
  await cluster.close()
  return values
}

describe('a publisher that stalls between reading and sending', () => {
  it('overwrites nothing that another publisher has sent meanwhile', async () => {
    const gate = Promise.withResolvers<void>()
    let isAsleep = false
    const log = createLogger('test', 'silent')
    const sleeper = startPublisher(
      {
        db,
        kafka: gated(() => {
          isAsleep = true
          return gate.promise
        }),
        log,
      },
      name,
      `${name}.publisher`,
    )
    await db('outbox').insert({ key: 'pipeline/a', value: Buffer.from('old') })
    sleeper.notify()
    await eventually('the first publisher stalls', async () => isAsleep)
    // Postgres ends the stalled transaction; then another publisher takes over and sends the newer value.
    const other = startPublisher({ db, kafka, log }, name, `${name}.publisher`)
    await eventually('the other publisher has sent the old value', async () => (await db('outbox')).length === 0, 40_000)
    await db('outbox').insert({ key: 'pipeline/a', value: Buffer.from('new') })
    other.notify()
    await eventually('the newer value is sent too', async () => (await db('outbox')).length === 0)
    gate.resolve()
    await sleep(3000)
    expect(await published()).toEqual(['old', 'new'])
    await Promise.all([sleeper.close(), other.close()])
  })
})

describe('a publisher', () => {
  it('leaves out what the broker refuses as too large, and publishes what comes after it', async () => {
    const publisher = startPublisher({ db, kafka, log: createLogger('test', 'silent') }, name, `${name}.publisher`)
    // The topic takes 1 MiB.
    await db('outbox').insert([
      { key: 'pipeline/large', value: Buffer.alloc(2 << 20, 1) },
      { key: 'pipeline/b', value: Buffer.from('small') },
    ])
    publisher.notify()
    await eventually('the outbox is empty', async () => (await db('outbox')).length === 0)
    await publisher.close()
    // The marker of a transaction's commit is written a moment after the commit was answered.
    const values = await eventually('the small one is published', async () => {
      const found = await published()
      return found.at(-1) === 'small' && found
    })
    expect(values.every((value) => value.length < 100)).toBe(true)
  })

  it('ends what takes longer than a transaction may stand still', async () => {
    let sends = 0
    const slow = gated(async () => {
      sends++
      await sleep(4000)
    })
    const publisher = startPublisher({ db, kafka: slow, log: createLogger('test', 'silent') }, name, `${name}.publisher`)
    await db('outbox').insert(Array.from({ length: 5 }, (_, n) => ({ key: `pipeline/slow-${n}`, value: Buffer.from('value') })))
    publisher.notify()
    await eventually('the outbox is empty', async () => (await db('outbox')).length === 0, 60_000)
    // None was sent twice. The first may have been published alone.
    expect(sends).toBe(5)
    await publisher.close()
  })
})

describe('a write under an Idempotency-Key whose answer never came', () => {
  let client: Client
  beforeAll(async () => {
    client = await loggedIn(service().accounts.enterprise)
  })

  it('writes its records once, however often it is repeated', async () => {
    const stream = await createStream(client, { n: 'integer' }, { partitions: 3 })
    const key = unique('key')
    const records = Array.from({ length: 100 }, (_, n) => ({ n }))
    const send = () => client.call('POST', `/v1/streams/${stream.id}/data`, { records }, { 'Idempotency-Key': key })
    const first = await send()
    expect(first.status).toBe(201)
    const service_ = new pg.Client({ connectionString: service().databaseUrl })
    await service_.connect()
    for (let again = 0; again < 3; again++) {
      // As after a deadline, or after a control plane died before it could store its answer.
      await service_.query('UPDATE idempotency_keys SET status = NULL, body = NULL, in_doubt = true WHERE key = $1', [key])
      const repeated = await send()
      expect(repeated.status).toBe(201)
      expect(repeated.body.partitions).toEqual(first.body.partitions)
    }
    await service_.end()
    expect((await readAll(client, stream.id)).length).toBe(100)
  })

  it('is written where nothing of it was, and once, however often it is repeated', async () => {
    const stream = await createStream(client, { n: 'integer' }, { partitions: 3 })
    const key = unique('key')
    const records = Array.from({ length: 100 }, (_, n) => ({ n }))
    const send = () => client.call('POST', `/v1/streams/${stream.id}/data`, { records }, { 'Idempotency-Key': key })
    expect((await send()).status).toBe(201)
    const cluster = openCluster({ brokers: service().brokers, clientId: 'late-writes' })
    const service_ = new pg.Client({ connectionString: service().databaseUrl })
    await service_.connect()
    try {
      // As after a control plane died between storing what the write begins with and sending its first byte: of that producer the
      // brokers know nothing. The hundred records before are those of another one.
      const { producerId, producerEpoch } = await cluster.initProducer(() => cluster.anyConnection(), null, 0)
      const begun = JSON.stringify({ producer_id: String(producerId), epoch: producerEpoch, partition: 2 })
      const inDoubt = 'UPDATE idempotency_keys SET status = NULL, body = NULL, in_doubt = true, begun = $2 WHERE key = $1'
      for (let again = 0; again < 3; again++) {
        await service_.query(inDoubt, [key, begun])
        const repeated = await send()
        expect(repeated.status).toBe(201)
        expect(repeated.body.records).toBe(100)
        expect(repeated.body.partitions).toMatchObject([{ partition: 2, records: 100 }])
      }
    } finally {
      await service_.end()
      await cluster.close()
    }
    const counts = Map.groupBy(await readAll(client, stream.id), ({ n }) => n)
    expect(counts.size).toBe(100)
    expect([...counts.values()].every((same) => same.length === 2)).toBe(true)
  })
})
