/** Requests that are work for the control plane: while one account sends them, another one gets its answers. */
import { beforeAll, describe, expect, it } from 'vitest'
import { openCluster } from '../../shared/kafka/cluster.ts'
import { encodeBatch, stampProducer } from '../../shared/kafka/protocol/record-batch.ts'
import { produceBatches } from '../../shared/kafka/wire/produce.ts'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { listen } from '../harness/events.ts'
import { createStream } from '../harness/pipelines.ts'
import { limitFromNow } from '../harness/machine-speed.ts'

let client: Client
let neighbour: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  neighbour = await loggedIn(service().accounts.professional)
})

/** Generous for a busy machine: each of these requests held all others for far longer. */
const WAIT_MAX_MS = 4000
const BETWEEN_MS = 250

/** The answer of `work`, during which the neighbour asks for its pipelines again and again. */
async function besides<T>(work: () => Promise<T>, waitMaxMs = WAIT_MAX_MS): Promise<T> {
  let isDone = false
  const waits: number[] = []
  const asking = (async () => {
    while (!isDone) {
      const from = performance.now()
      expect((await neighbour.call('GET', '/v1/pipelines')).status).toBe(200)
      waits.push(performance.now() - from)
      await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS))
    }
  })()
  const limit = limitFromNow(waitMaxMs)
  const [answer] = await Promise.all([work().finally(() => (isDone = true)), asking])
  expect(Math.max(...waits)).toBeLessThan(limit())
  return answer
}

describe('a neighbour does not wait for', () => {
  it('the types of expressions that are mostly white space', async () => {
    const { id } = await createStream(client, { a: 'integer' }, { partitions: 1 })
    const set = Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`f${index}`, `1${' '.repeat(9990)}`]))
    const source = { connector_id: 'stream', config: { stream_id: id } }
    const sink = { connector_id: 'blackhole', config: {} }
    const body = { name: unique('white'), autostart: false, source, processors: [{ module_id: 'dps/cel', config: { set } }], sink }
    const created = await besides(() => client.call<{ pipeline_id: string }>('POST', '/v1/pipelines?check=false', body))
    expect(created.status).toBe(201)
    const path = `/v1/pipelines/${created.body.pipeline_id}`
    expect((await besides(() => client.call('PATCH', path, { sink }))).status).toBe(200)
    expect((await client.call('DELETE', path)).status).toBeLessThan(300)
  })

  it('the search for a thousand fields in large configs', async () => {
    const fields = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`field${index}`, 'integer?']))
    const { id } = await createStream(client, fields, { partitions: 1 })
    const source = { connector_id: 'stream', config: { stream_id: id } }
    const sink = { connector_id: 'blackhole', config: {} }
    const config = { field: 'field1', into: 'x', table: { k: `value${' '.repeat(15)}`.repeat(44_000), l: 'value.field2' } }
    const paths: string[] = []
    for (let index = 0; index < 2; index++) {
      const body = { name: unique('large'), autostart: false, source, processors: [{ module_id: 'dps/lookup', config }], sink }
      const created = await client.call<{ pipeline_id: string }>('POST', '/v1/pipelines', body)
      expect(created.status).toBe(201)
      paths.push(`/v1/pipelines/${created.body.pipeline_id}`)
    }
    type Checked = { pipelines: { mentions: { path: string; fields: string[] }[] }[] }
    const checked = await besides(() => client.call<Checked>('POST', `/v1/streams/${id}/schemas/check`, { schema: { z: 'integer' } }))
    expect(checked.body.pipelines.map(({ mentions }) => mentions)).toEqual(
      paths.map(() => [{ path: '/processors/0/config', fields: ['field1', 'field2'] }]),
    )
    for (const path of paths) expect((await client.call('DELETE', path)).status).toBeLessThan(300)
  })

  it('forty requests at once for the lineage of large pipelines', async () => {
    const { id } = await createStream(client, { a: 'string' }, { partitions: 1 })
    const source = { connector_id: 'stream', config: { stream_id: id } }
    const sink = { connector_id: 'blackhole', config: {} }
    const config = { field: 'a', into: 'x', table: { k: { v: Array.from({ length: 24_000 }, () => 1) } } }
    const paths: string[] = []
    for (let index = 0; index < 8; index++) {
      const body = { name: unique('line'), autostart: false, source, processors: [{ module_id: 'dps/lookup', config }], sink }
      const created = await client.call<{ pipeline_id: string }>('POST', '/v1/pipelines', body)
      expect(created.status).toBe(201)
      paths.push(`/v1/pipelines/${created.body.pipeline_id}`)
    }
    type Shown = { pipelines: { name: string; modules: string[]; from: string }[] }
    const answers = await besides(() => Promise.all(Array.from({ length: 40 }, () => client.call<Shown>('GET', '/v1/lineage'))))
    // A slow machine has no time for all of them.
    for (const { status } of answers) expect([200, 429]).toContain(status)
    const shown = answers.find(({ status }) => status === 200)!.body.pipelines.filter(({ from }) => from === id)
    expect(shown.map(({ modules }) => modules)).toEqual(paths.map(() => ['dps/lookup']))
    for (const path of paths) expect((await client.call('DELETE', path)).status).toBeLessThan(300)
  })

  it.each([
    [5_000_000, 400],
    [24_000, 200],
  ])('a manifest of %i empty arrays', async (count, status) => {
    const set = unique('set')
    const [from, to] = [`${set} from`, `${set} to`]
    const streams = JSON.stringify({ [from]: { schema: { a: 'string' } }, [to]: { schema: { a: 'string' } } })
    const k = `[${'[],'.repeat(count - 1)}[]]`
    const config = `{"field":"a","into":"x","table":{"k":{"v":${k}}}}`
    const pipeline = `{"source":{"stream":"${from}"},"steps":[{"module":"dps/lookup","with":${config}}],"sink":{"stream":"${to}"}}`
    const body = `{"manifest":{"dps":1,"set":"${set}","streams":${streams},"pipelines":{"p":${pipeline}}}}`
    expect((await besides(() => client.call('POST', '/v1/manifests/plan', body))).status).toBe(status)
  })

  it('twenty tails of, and forty looks at, a stream with megabytes of the smallest records in each partition', async () => {
    const partitions = 64
    const { id, topic } = await createStream(client, { a: 'string' }, { partitions })
    const records = Array.from({ length: 100_000 }, (_, offsetDelta) => ({
      offsetDelta,
      timestampDelta: 0n,
      key: null,
      value: null,
      headers: [],
    }))
    const batch = encodeBatch(records, BigInt(Date.now()), 0)
    stampProducer(batch, -1n, -1, -1)
    const cluster = openCluster({ brokers: service().brokers, clientId: 'smallest' })
    const connections = cluster.openConnections('smallest')
    for (let partition = 0; partition < partitions; partition++)
      await eventually('the partition takes a batch', async () => {
        const { leaders } = (await cluster.describeTopic(topic))!
        const topics = [{ topic, partitions: [{ partition, batch }] }]
        return (await produceBatches(await connections.leader(leaders[partition]!), null, topics))[0]?.errorCode === 0
      })
    await connections.close()
    await cluster.close()
    const path = `/v1/streams/${id}`
    const tails = await Promise.all(Array.from({ length: 20 }, () => listen(client, `${path}/tail?last=100`)))
    type Shown = { records: { partition: number; offset: number }[] }
    const look = () => client.call<Shown>('GET', `${path}/records?limit=1`)
    const answers = await besides(() => Promise.all(Array.from({ length: 40 }, look)), 1000)
    for (const tail of tails) tail.close()
    // A slow machine has no time for all of them.
    for (const { status } of answers) expect([200, 429, 503]).toContain(status)
    const { body } = await eventually('the account has rested', async () => {
      const answer = await look()
      return answer.status === 200 && answer
    })
    expect(body.records).toMatchObject([{ offset: records.length - 1 }])
    expect(tails.some(({ events }) => events.some(({ event }) => event === 'frame'))).toBe(true)
  })
})
