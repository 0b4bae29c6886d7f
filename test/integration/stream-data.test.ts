/** Pages of streams written by clients, by Kafka producers and by pipelines: every record once, full pages, exact totals. */
import kafkajs from 'kafkajs'
import { beforeAll, describe, expect, it } from 'vitest'
import { openSourceReader } from '../../services/control-plane/trace/source-records.ts'
import { openCluster } from '../../shared/kafka/cluster.ts'
import { frame } from '../../shared/model/framing.ts'
import { eventually, loggedIn, service, type Client } from '../harness/client.ts'
import { createPipeline, createStream, readAll, waitForTotal, write, type Page } from '../harness/pipelines.ts'
import { exactProducer } from '../harness/exact-producer.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
})

async function pages(streamId: string, limit: number): Promise<Record<string, unknown>[][]> {
  const all = []
  for (let page = 1; ; page++) {
    const { body } = await client.call<Page>('GET', `/v1/streams/${streamId}/data?limit=${limit}&page=${page}`)
    if (body.data.length === 0) return all
    all.push(body.data)
  }
}

describe('stream data', () => {
  it('is paged without gaps or repeats when it comes from several requests and partitions', async () => {
    const stream = await createStream(client, { n: 'integer', user: 'string' }, { key: 'user', partitions: 3 })
    for (let from = 0; from < 500; from += 100)
      await write(
        client,
        stream.id,
        Array.from({ length: 100 }, (_, index) => ({ n: from + index, user: `u${(from + index) % 17}` })),
      )
    const byNumber = await pages(stream.id, 33)
    expect(byNumber.slice(0, -1).every((page) => page.length === 33)).toBe(true)
    expect(
      byNumber
        .flat()
        .map(({ n }) => n)
        .sort((a, b) => Number(a) - Number(b)),
    ).toEqual(Array.from({ length: 500 }, (_, n) => n))
    const walked = await readAll(client, stream.id)
    expect(new Set(walked.map(({ n }) => n)).size).toBe(500)
    const one = await client.call<Page>('GET', `/v1/streams/${stream.id}/data?partition=1&limit=1000`)
    expect(one.body.pagination.total).toBe(one.body.data.length)
  })

  it('has full pages and exact totals when a pipeline wrote it, despite transaction markers in the topic', async () => {
    const source = await createStream(client, { n: 'integer' }, { partitions: 2 })
    const sink = await createStream(client, { n: 'integer' }, { partitions: 2 })
    await createPipeline(client, source.id, [{ name: 'dps/filter', config: { field: 'n', operator: 'gte', value: 100 } }], sink.id)
    for (let from = 0; from < 400; from += 20)
      await write(
        client,
        source.id,
        Array.from({ length: 20 }, (_, index) => ({ n: from + index })),
      )
    await waitForTotal(client, sink.id, 300)
    const all = await pages(sink.id, 50)
    expect(all.map((page) => page.length)).toEqual([50, 50, 50, 50, 50, 50])
    expect(new Set(all.flat().map(({ n }) => n)).size).toBe(300)
  })

  it('is read when a Kafka producer wrote it, and what can’t be decoded is null and listed by offset', async () => {
    const stream = await createStream(client, { n: 'integer' }, { partitions: 1 })
    const kafka = new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING })
    const producer = exactProducer(kafka)
    await producer.connect()
    await producer.send({
      topic: stream.topic,
      compression: kafkajs.CompressionTypes.GZIP,
      messages: [
        { value: frame(stream.schema_id, '{"n":1}') },
        { value: 'garbage' },
        { key: 'k', value: null },
        { value: frame(stream.schema_id, '{"n":2}') },
      ],
    })
    await producer.disconnect()
    const { status, body } = await client.call<Page>('GET', `/v1/streams/${stream.id}/data`)
    expect(status).toBe(200)
    expect(body.data).toEqual([{ n: 1 }, null, null, { n: 2 }])
    expect(body.pagination).toMatchObject({
      total: 4,
      undecodable: [
        { index: 1, partition: 0, offset: '1' },
        { index: 2, offset: '2' },
      ],
    })
  })

  it.each([true, false])(
    'is counted from the middle of a batch, where it was deleted up to there (counted before: %s)',
    async (isCounted) => {
      const stream = await createStream(client, { n: 'integer' }, { partitions: 1 })
      const rows = Array.from({ length: 50 }, (_, n) => ({ n }))
      await write(client, stream.id, rows)
      if (isCounted) await waitForTotal(client, stream.id, 50)
      const admin = new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING }).admin()
      await admin.connect()
      await admin.fetchTopicOffsets(stream.topic)
      await admin.deleteTopicRecords({ topic: stream.topic, partitions: [{ partition: 0, offset: '40' }] })
      await admin.disconnect()
      const { data, pagination } = (await client.call<Page>('GET', `/v1/streams/${stream.id}/data?limit=5&page=2`)).body
      expect([data, pagination.total]).toEqual([rows.slice(45), 10])
    },
  )

  it('is read by cursor without gaps or repeats while more arrives', async () => {
    const stream = await createStream(client, { n: 'integer' }, { partitions: 2 })
    await write(
      client,
      stream.id,
      Array.from({ length: 60 }, (_, n) => ({ n })),
    )
    const first = await client.call<Page>('GET', `/v1/streams/${stream.id}/data?limit=40`)
    await write(
      client,
      stream.id,
      Array.from({ length: 60 }, (_, index) => ({ n: 60 + index })),
    )
    const rest = await client.call<Page>('GET', `/v1/streams/${stream.id}/data?limit=1000&cursor=${first.body.pagination.next_cursor}`)
    expect([...first.body.data, ...rest.body.data].map(({ n }) => n).sort((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: 120 }, (_, n) => n),
    )
  })
})

describe('stream records', () => {
  type Shown = {
    records: {
      partition: number
      offset: number
      record: { timestamp: string; key: { text: string } | null; value: { base64: string }; headers: { key: string }[] }
    }[]
    incomplete?: true
  }

  it('are shown as they are in the topic, from any place', async () => {
    // The broker would delete records of that time by and by.
    const stream = await createStream(client, { n: 'integer' }, { partitions: 2, retention_ms: 300_000_000_000 })
    const { schema_id } = (await client.call<{ schema_id: number }>('GET', `/v1/streams/${stream.id}`)).body
    const kafka = new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING })
    const producer = exactProducer(kafka)
    await producer.connect()
    const at = Date.parse('2026-01-01T00:00:00Z')
    const messages = Array.from({ length: 30 }, (_, n) => ({
      partition: n % 2,
      key: `k${n}`,
      value: frame(schema_id, `{"n": 90071992547409930${n}}`),
      headers: { a: 'x', b: ['y', 'z'] },
      timestamp: String(at + n * 1000),
    }))
    await producer.send({ topic: stream.topic, messages })
    await producer.disconnect()
    const read = async (query: string) => (await client.call<Shown>('GET', `/v1/streams/${stream.id}/records${query}`)).body.records
    const newest = await read('?limit=4')
    expect(newest.map(({ partition, offset }) => [partition, offset])).toEqual([
      [0, 13],
      [1, 13],
      [0, 14],
      [1, 14],
    ])
    const [first] = await read('?partition=1&offset=3&limit=1')
    expect([first!.offset, first!.record.key?.text, first!.record.timestamp]).toEqual([3, 'k7', '2026-01-01T00:00:07.000Z'])
    expect(first!.record.headers.map(({ key }) => key)).toEqual(['a', 'b', 'b'])
    expect(Buffer.from(first!.record.value.base64, 'base64').equals(messages[7]!.value)).toBe(true)
    expect((await read('?timestamp=2026-01-01T00:00:28Z')).map(({ record }) => record.key?.text)).toEqual(['k28', 'k29'])
    expect((await read('?from=earliest&limit=1'))[0]?.record.key?.text).toBe('k0')
  })

  it('are browsed page by page in both directions, each record once, over transaction markers', async () => {
    const source = await createStream(client, { n: 'integer' }, { partitions: 3 })
    const sink = await createStream(client, { n: 'integer' }, { partitions: 3 })
    await createPipeline(client, source.id, [{ name: 'dps/filter', config: { field: 'n', operator: 'gte', value: 50 } }], sink.id)
    for (let from = 0; from < 300; from += 30)
      await write(
        client,
        source.id,
        Array.from({ length: 30 }, (_, index) => ({ n: from + index })),
      )
    await waitForTotal(client, sink.id, 250)
    type Browsed = Shown & { older?: string; newer?: string }
    const read = async (query: string) => (await client.call<Browsed>('GET', `/v1/streams/${sink.id}/records?${query}`)).body
    const placesOf = ({ records }: Browsed) => records.map(({ partition, offset }) => `${partition}:${offset}`)
    async function walk(first: string, [edge, parameter]: readonly ['older', 'before'] | readonly ['newer', 'after'], more = '') {
      const pages: Browsed[] = [await read(`${first}&limit=23${more}`)]
      for (let next = pages[0]![edge]; next !== undefined; next = pages.at(-1)![edge])
        pages.push(await read(`${parameter}=${next}&limit=23${more}`))
      return pages
    }
    const all = (await Promise.all([0, 1, 2].map((each) => read(`partition=${each}&from=earliest&limit=100`)))).flatMap(placesOf)
    expect(all).toHaveLength(250)
    const back = await walk('from=latest', ['older', 'before'])
    const forth = await walk('from=earliest', ['newer', 'after'])
    expect(back[0]!.newer).toBeUndefined()
    for (const walked of [back, forth]) {
      const places = walked.flatMap(placesOf)
      expect(places).toHaveLength(250)
      expect(places.toSorted()).toEqual(all.toSorted())
    }
    // Turning round shows the same records again.
    expect(placesOf(await read(`before=${forth[2]!.older}&limit=23`)).toSorted()).toEqual(placesOf(forth[1]!).toSorted())
    const one = (await walk('from=latest', ['older', 'before'], '&partition=1')).flatMap(placesOf)
    expect(one.toSorted()).toEqual(all.filter((place) => place.startsWith('1:')).toSorted())
    // What comes later is behind the newest page that was shown.
    await write(client, source.id, [{ n: 1000 }])
    await waitForTotal(client, sink.id, 251)
    expect(placesOf(await read(`after=${forth.at(-2)!.newer}&limit=100`))).toHaveLength(forth.at(-1)!.records.length + 1)
  })

  it('are found by their key: the newest, or the first from a place on', async () => {
    const stream = await createStream(client, { user: 'string', n: 'integer' }, { key: 'user', partitions: 3 })
    // More than one look back from the end covers.
    const rows = Array.from({ length: 60_000 }, (_, n) => ({ user: n % 20_000 === 7 ? 'rare ✓' : `u${n % 10}`, n }))
    for (let from = 0; from < rows.length; from += 15_000) await write(client, stream.id, rows.slice(from, from + 15_000))
    /** A search may take four seconds, which a busy machine may have nothing of. */
    const read = (query: string) =>
      eventually('the search has come to its end', async () => {
        const { body } = await client.call<Shown>('GET', `/v1/streams/${stream.id}/records?${query}`)
        return body.incomplete === undefined && body
      })
    const numbers = ({ records }: Shown) =>
      records.map(({ record }) => JSON.parse(Buffer.from(record.value.base64, 'base64').subarray(5).toString()).n)
    const rare = `key=${encodeURIComponent('rare ✓')}`
    expect(numbers(await read(rare))).toEqual([7, 20_007, 40_007])
    expect(numbers(await read(`${rare}&limit=2`))).toEqual([20_007, 40_007])
    expect(numbers(await read(`${rare}&limit=2&from=earliest`))).toEqual([7, 20_007])
    const none = await read('key=none')
    expect([none.records, none.incomplete]).toEqual([[], undefined])
    const { partition, offset } = (await read(`${rare}&limit=1`)).records[0]!
    expect(numbers(await read(`${rare}&partition=${partition}&offset=${offset}`))).toEqual([40_007])
    expect(numbers(await read(`${rare}&partition=${(partition + 1) % 3}`))).toEqual([])
  })

  it('are searched for a key for a while, and the answer says where that was not enough', async () => {
    const stream = await createStream(client, { user: 'string' }, { key: 'user' })
    await write(client, stream.id, [{ user: 'a' }, { user: 'b' }])
    const cluster = openCluster({ brokers: service().brokers, clientId: 'search' })
    const reader = openSourceReader(cluster)
    const layout = (await cluster.describeTopic(stream.topic))!
    const search = (start: bigint | undefined, isSpent: boolean) =>
      reader.withKey(layout, 0, { key: Buffer.from('a'), start, limit: 5, isSpent: () => isSpent })
    for (const start of [0n, undefined]) {
      expect(await search(start, true)).toEqual({ records: [], isCut: false, isWhole: false })
      expect(await search(start, false)).toMatchObject({ records: [{ offset: 0n }], isWhole: true })
    }
    await reader.close()
    await cluster.close()
  })
})
