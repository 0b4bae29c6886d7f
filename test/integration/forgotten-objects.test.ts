/** Entries of objects that a bucket source has read leave the topic of entries once they are old, and no object is read twice for that. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { forget, readSeen } from '../../services/processor/intake/seen.ts'
import { seenValue } from '../../shared/connectors/seen-entries.ts'
import { createKafka } from '../../shared/kafka/admin/admin.ts'
import { openCluster, type Cluster } from '../../shared/kafka/cluster.ts'
import { serviceNames } from '../../shared/model/definition.ts'
import { eventually, service, unique } from '../harness/client.ts'
import { bucket, connect, stream } from '../harness/connectors.ts'
import { placeAt } from '../harness/object-store.ts'
import { entriesIn } from '../harness/topic-entries.ts'
import { openAccount } from '../harness/operator.ts'
import { createStream, readAll, waitForStatus, waitForTotal } from '../harness/pipelines.ts'
import { exactProducer } from '../harness/exact-producer.ts'
import { makeTopics } from '../harness/topics.ts'
import { openWebServer, type WebServer } from '../harness/web-server.ts'

const DAY_MS = 86_400_000
/** More than are forgotten in one commit. */
const OBJECTS = 6000

let cluster: Cluster
beforeAll(() => {
  cluster = openCluster({ brokers: service().brokers, clientId: 'forgotten' })
})
afterAll(() => cluster.close())

type StoredObject = { etag: string; modifiedAt: number; body: string }

/** A store whose objects have the times that a test gives them. */
function openTimedStore(objects: Map<string, StoredObject>): Promise<WebServer> {
  return openWebServer((request, response) => {
    const key = decodeURIComponent(new URL(request.url ?? '', 'http://x').pathname)
      .split('/')
      .slice(2)
      .join('/')
    if (key !== '') return response.end(objects.get(key)!.body)
    const contents = [...objects].map(
      ([name, { etag, modifiedAt, body }]) =>
        `<Contents><Key>${name}</Key><ETag>"${etag}"</ETag><Size>${body.length}</Size>` +
        `<LastModified>${new Date(modifiedAt).toISOString()}</LastModified></Contents>`,
    )
    return response
      .writeHead(200, { 'content-type': 'application/xml' })
      .end(`<ListBucketResult><IsTruncated>false</IsTruncated>${contents.join('')}</ListBucketResult>`)
  })
}

it('old entries leave the topic, those of deleted objects too, but not that of an object which was replaced meanwhile', async () => {
  const now = Date.now()
  const nameOf = (n: number) => `o-${String(n).padStart(5, '0')}.ndjson`
  const old = (n: number): StoredObject => ({ etag: `e${n}`, modifiedAt: now - 3 * DAY_MS, body: n % 1000 === 0 ? `{"n":${n}}\n` : '' })
  const objects = new Map(Array.from({ length: OBJECTS }, (_, n) => [nameOf(n), old(n)]))
  const store = await openTimedStore(objects)
  const { account, client } = await openAccount('enterprise')
  const to = await createStream(client, { n: 'integer' })
  const place = await placeAt(client, store.url)
  const id = await connect(client, bucket({ ...place, order: 'name', poll_interval_ms: 200 }), [], stream(to.id))
  const topic = serviceNames(service().env.DPS_PREFIX!).seenTopic(account.account_id, id)
  await waitForTotal(client, to.id, OBJECTS / 1000)
  await eventually('each object has an entry', async () => (await entriesIn(cluster, topic)).size === OBJECTS)

  for (let n = 1; n < OBJECTS; n += 2) objects.delete(nameOf(n))
  objects.set(nameOf(0), { etag: 'other', modifiedAt: now, body: '{"n":-1}\n' })
  objects.set('young.ndjson', { etag: 'young', modifiedAt: now, body: '{"n":-2}\n' })
  await eventually('only young objects have an entry', async () => (await entriesIn(cluster, topic)).size === 2)
  expect([...(await entriesIn(cluster, topic)).keys()].sort()).toEqual([`0/${nameOf(0)}`, '0/young.ndjson'])

  await client.call('POST', `/v1/pipelines/${id}/stop`)
  await waitForStatus(client, id, 'stopped')
  await client.call('POST', `/v1/pipelines/${id}/start`, {})
  await waitForStatus(client, id, 'running')
  objects.set('younger.ndjson', { etag: 'younger', modifiedAt: now, body: '{"n":-3}\n' })
  await waitForTotal(client, to.id, OBJECTS / 1000 + 3)
  // A few looks more.
  await sleep(1000)
  const read = (await readAll(client, to.id)).map(({ n }) => Number(n)).sort((a, b) => a - b)
  expect(read).toEqual([-3, -2, -1, ...Array.from({ length: OBJECTS / 1000 }, (_, n) => n * 1000)])
  await store.close()
})

it('old entries are found wherever they are in a large topic; a removal that fails is not repeated, and one that is void ends', async () => {
  const COUNT = 30_000
  const topic = unique('seen')
  const kafka = createKafka(service().brokers, 'forgotten')
  const [admin, producer] = [kafka.admin(), exactProducer(kafka)]
  await Promise.all([admin.connect(), producer.connect()])
  await makeTopics(admin, { topic, numPartitions: 1 })
  // Some 10 MB, which are several fetches. Of split 1 every third is old; split 2 is another task's.
  const keyOf = (n: number) => `${'folder/'.repeat(40)}${n}`
  const messages = Array.from({ length: COUNT }, (_, n) => ({
    key: `${n % 5 === 0 ? 2 : 1}/${keyOf(n)}`,
    value: seenValue('"e"', n % 3 === 0 ? 1 : 9),
  }))
  for (let from = 0; from < COUNT; from += 2500) await producer.send({ topic, messages: messages.slice(from, from + 2500) })
  await Promise.all([admin.disconnect(), producer.disconnect()])

  const { entries } = await readSeen(cluster, topic, [0, 1])
  expect([...entries].map(([split, { size }]) => [split, size])).toEqual([
    [0, 0],
    [1, COUNT * 0.8],
  ])
  const before = new Map([
    [0, 5],
    [1, 5],
  ])
  let tries = 0
  const refuse = () => Promise.reject(new Error(`refused ${++tries}`))
  await expect(forget(cluster, topic, entries, before, refuse, () => true)).rejects.toThrow('refused 1')

  const removed: string[] = []
  const remove = (split: number, keys: string[]) => {
    for (const key of keys) entries.get(split)!.delete(key)
    return Promise.resolve(void removed.push(...keys))
  }
  await forget(cluster, topic, entries, before, remove, () => removed.length === 0)
  expect(removed.length).toBeGreaterThan(0)
  expect(removed.length).toBeLessThan((COUNT * 0.8) / 3)
  await forget(cluster, topic, entries, before, remove, () => true)
  const old = Array.from({ length: COUNT }, (_, n) => n).filter((n) => n % 5 !== 0 && n % 3 === 0)
  expect(removed.sort()).toEqual(old.map(keyOf).sort())
  expect(entries.get(1)!.size).toBe(COUNT * 0.8 - old.length)
  expect(tries).toBe(1)
})
