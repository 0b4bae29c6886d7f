/** Pages of a stream whose batches inflate to thousands of times what they are in the topic. */
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it } from 'vitest'
import { createDeadLetterProjection } from '../../services/control-plane/dead-letters/projection.ts'
import { createPacer } from '../../services/control-plane/concurrency/pacing.ts'
import { openDatabase } from '../../services/control-plane/store/database.ts'
import type { StreamRow } from '../../services/control-plane/store/streams.ts'
import { createStreamData } from '../../services/control-plane/stream-data/stream-data.ts'
import { openCluster } from '../../shared/kafka/cluster.ts'
import { compressBatch, encodeBatch, stampProducer, type KafkaRecord } from '../../shared/kafka/protocol/record-batch.ts'
import { produceBatches } from '../../shared/kafka/wire/produce.ts'
import { frame } from '../../shared/model/framing.ts'
import { eventually, loggedIn, service, type Client } from '../harness/client.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { timesOf } from '../harness/times-of.ts'
import { createPipeline, createStream, type NewStream } from '../harness/pipelines.ts'

const MIB = 1 << 20
const BATCHES = 100

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
})

type Content = Pick<KafkaRecord, 'key' | 'value'>

/** Writes batches to the topic's only partition, as they are written with zstd. */
async function writeBatches(topic: string, batches: readonly Content[][]): Promise<void> {
  const cluster = openCluster({ brokers: service().brokers, clientId: 'inflated' })
  const connections = cluster.openConnections('inflated')
  const layout = (await cluster.describeTopic(topic))!
  for (const contents of batches) {
    const records = contents.map((content, offsetDelta) => ({ offsetDelta, timestampDelta: 0n, headers: [], ...content }))
    const batch = compressBatch(encodeBatch(records, BigInt(Date.now()), 0), 'zstd')
    stampProducer(batch, -1n, -1, -1)
    const partitions = [{ partition: 0, batch }]
    const [answer] = await produceBatches(await connections.leader(layout.leaders[0]!), null, [{ topic, partitions }])
    expect(answer?.errorCode).toBe(0)
  }
  await connections.close()
  await cluster.close()
}

/** A stream of one partition with so many batches of one record. */
async function streamOf(recordOf: (schemaId: number, n: number) => Content): Promise<NewStream> {
  const stream = await createStream(client, { n: 'integer', text: 'string?' }, { partitions: 1 })
  await writeBatches(
    stream.topic,
    Array.from({ length: BATCHES }, (_, n) => [recordOf(stream.schema_id, n)]),
  )
  return stream
}

/** How much more was in buffers at most while the work went on, in MiB, and for how long a timer was held up at most. */
async function costOf(work: () => Promise<unknown>): Promise<{ mib: number; lateMs: number }> {
  const before = process.memoryUsage().arrayBuffers
  let most = 0
  const look = () => void (most = Math.max(most, process.memoryUsage().arrayBuffers - before))
  const timer = setInterval(look, 5)
  await sleep(20)
  const { held } = await timesOf(work)
  await sleep(20)
  clearInterval(timer)
  return { mib: most / MIB, lateMs: held }
}

/** The page; an account rests after large ones, for as long as it is told. */
const rested = (path: string) =>
  eventually('the account has rested', async () => {
    const answer = await client.call<Page>('GET', path)
    return answer.status !== 429 && answer
  })

type Page = { data: { n: number }[]; pagination: { total: number; has_more?: true; next_cursor?: string } }

describe('batches that inflate to megabytes', () => {
  it('are inflated one after the other as a page comes to them, and not kept', async () => {
    const text = 'x'.repeat(8 * MIB)
    const stream = await streamOf((schemaId, n) => ({ key: null, value: Buffer.from(frame(schemaId, JSON.stringify({ n, text }))) }))
    const db = openDatabase(service().env.DATABASE_URL!, 2)
    const cluster = openCluster({ brokers: service().brokers, clientId: 'pages' })
    const data = createStreamData(db, cluster, () => Date.now())
    const row = (await db<StreamRow>('streams').where({ id: stream.id }).first())!
    const pacer = createPacer({ waitMs: 600_000 })
    const page = (limit: number, pageNumber?: number) =>
      pacer.during('one', (pace) => data.readPage(row, { limit, page: pageNumber, order: 'asc' }, pace))
    const shown = async (limit: number, pageNumber?: number) => {
      const { data: records, pagination } = JSON.parse((await page(limit, pageNumber)).toString()) as Page
      return [records.map(({ n }) => n), pagination.has_more, pagination.total]
    }
    expect(await shown(1)).toEqual([[0], true, BATCHES])
    expect(await shown(1, 60)).toEqual([[59], true, BATCHES])
    for (const limit of [1, 1000]) {
      const { mib, lateMs } = await costOf(() => page(limit))
      expect(mib).toBeLessThan(320)
      expect(lateMs).toBeLessThan(limitMs(500))
    }
    await data.close()
    await cluster.close()
    await db.destroy()
  })

  it('end a page of small values early, which goes on by cursor; a numbered one is refused', async () => {
    const key = Buffer.alloc(8 * MIB, 'k')
    const { id } = await streamOf((schemaId, n) => ({ key, value: Buffer.from(frame(schemaId, JSON.stringify({ n }))) }))
    const path = `/v1/streams/${id}/data`
    const read: number[] = []
    let pages = 0
    for (let cursor = '', more: true | undefined = true; more; pages++) {
      const { status, body } = await rested(`${path}?limit=1000${cursor}`)
      expect(status).toBe(200)
      read.push(...body.data.map(({ n }) => n))
      cursor = `&cursor=${body.pagination.next_cursor}`
      more = body.pagination.has_more
    }
    expect(read).toEqual(Array.from({ length: BATCHES }, (_, n) => n))
    expect(pages).toBeGreaterThan(2)
    const refused = await rested(`${path}?page=1&limit=1000`)
    expect([refused.status, refused.body.error?.details]).toEqual([
      400,
      [{ path: '/query/limit', message: expect.stringContaining('inflate to more than 256 MiB') }],
    ])
    expect((await rested(`${path}?page=4&limit=20`)).body.data.map(({ n }) => n)).toEqual(Array.from({ length: 20 }, (_, n) => 60 + n))
  })
  it('of dead letters go to the database a few at a time', async () => {
    const large = { key: null, value: Buffer.alloc(4 * MIB, 'x') }
    const [fromStream, toStream] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const id = await createPipeline(client, fromStream.id, [{ name: 'dps/map-fields', config: {} }], toStream.id)
    const db = openDatabase(service().env.DATABASE_URL!, 2)
    const { definition } = await db('pipelines').where({ id }).first()
    const topic = definition.dead_letter_topic as string
    const small = Array.from({ length: 2500 }, (_, n) => ({ key: null, value: Buffer.from(String(n)) }))
    await writeBatches(topic, [...Array.from({ length: 30 }, () => [large]), small])
    const cluster = openCluster({ brokers: service().brokers, clientId: 'letters' })
    const letters = createDeadLetterProjection(db, cluster, () => {})
    const { mib } = await costOf(() => letters.catchUp({ id, definition }, 600_000))
    expect(mib).toBeLessThan(80)
    const found = await db('dead_letters').where({ pipeline_id: id }).orderBy('letter_offset').pluck('letter_offset')
    expect(found.map(Number)).toEqual(Array.from({ length: 30 + small.length }, (_, offset) => offset))
    await letters.close()
    await cluster.close()
    await db.destroy()
  })
})
