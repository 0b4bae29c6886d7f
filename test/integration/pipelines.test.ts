/** Pipelines on real Kafka: exactly once under kills, dead letters, trapping SmartModules, lifecycle, two processors. */
import kafkajs from 'kafkajs'
import { beforeAll, describe, expect, it } from 'vitest'
import { placeTask } from '../../services/processor/supervisor/placement.ts'
import { frame } from '../../shared/model/framing.ts'
import { compileSmartModule } from '../../shared/smartmodule/compile.ts'
import { compileFixture } from '../harness/compiled-fixtures.ts'
import { eventually, loggedIn, service, unique, type Client } from '../harness/client.ts'
import { chainTask } from '../../shared/model/task.ts'
import { killProcess, runningProcessors } from '../harness/processes.ts'
import { createPipeline, createStream, readAll, waitForStatus, waitForTotal, write, type Step } from '../harness/pipelines.ts'
import { openCluster } from '../../shared/kafka/cluster.ts'
import { readCommitted } from '../chaos/reader.ts'
import { exactProducer } from '../harness/exact-producer.ts'

let client: Client
let kafka: kafkajs.Kafka
beforeAll(async () => {
  client = await loggedIn(service().accounts.enterprise)
  kafka = new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING })
})

/** Writes `count` framed records {n, user} to a topic with kafkajs, keyed by user. */
async function produce(topic: string, schemaId: number, count: number): Promise<void> {
  const producer = exactProducer(kafka)
  await producer.connect()
  for (let from = 0; from < count; from += 5000) {
    await producer.send({
      topic,
      acks: -1,
      messages: Array.from({ length: Math.min(5000, count - from) }, (_, index) => {
        const n = from + index
        return {
          key: `u${n % 100}`,
          value: frame(schemaId, JSON.stringify({ n, user: `u${n % 100}`, text: 'the quick brown fox jumps over the lazy dog' })),
        }
      }),
    })
  }
  await producer.disconnect()
}

type Read = { n: number; key: string; value: Record<string, unknown>; headers: kafkajs.IHeaders | undefined }

/** Reads a topic at read-committed with kafkajs until `count` records have come and no more follow for a moment. */
async function consume(topic: string, count: number, isFramed = true): Promise<Read[]> {
  const consumer = kafka.consumer({ groupId: unique('witness'), readUncommitted: false })
  await consumer.connect()
  await consumer.subscribe({ topics: [topic], fromBeginning: true })
  const read: Read[] = []
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch }) => {
      for (const { key, value, headers } of batch.messages) {
        const json: Record<string, unknown> = isFramed ? JSON.parse(value!.toString('utf8', 5)) : {}
        read.push({ n: Number(json.n), key: key?.toString() ?? '', value: json, headers })
      }
    },
  })
  await eventually(`${count} records in ${topic}`, async () => read.length >= count, 60_000).finally(async () => {
    await new Promise((resolve) => setTimeout(resolve, 500))
    await consumer.disconnect()
  })
  return read
}

describe('a pipeline', () => {
  it('is refused with the step whose SmartModule never returns from its start', async () => {
    const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const name = unique('endless')
    const code = `import { Config, Record } from 'dps'
export function init(config: Config): void { while (true) {} }
export function filter(record: Record): bool { return true }
`
    expect((await client.call('POST', '/v1/smartmodules', { name, source: { language: 'typescript', code } })).status).toBe(201)
    const filter = { module_id: 'dps/filter', config: { field: 'n', operator: 'gte', value: 1 } }
    // A busy machine may not give it its CPU time before its time is over, which is the machine's fault: 503.
    const refused = await eventually(
      'it is refused',
      async () => {
        const answer = await client.call('POST', '/v1/pipelines', {
          name: unique('pipeline'),
          source: { connector_id: 'stream', config: { stream_id: from.id } },
          processors: [filter, { module_id: name }, filter],
          sink: { connector_id: 'stream', config: { stream_id: to.id } },
        })
        return answer.status !== 503 && answer
      },
      120_000,
    )
    expect(refused).toMatchObject({
      status: 400,
      body: { error: { details: [{ path: '/processors/1/config', message: expect.stringContaining('did not end') }] } },
    })
  })

  it('delivers every record once and in order per key while its processors are killed', async () => {
    const COUNT = 300_000
    const source = await createStream(client, { n: 'integer', user: 'string', text: 'string' })
    const sink = await createStream(client, { n: 'integer', user: 'string', text: 'string' })
    const steps: Step[] = [{ name: 'dps/map-fields', config: { uppercase: ['text'] } }]
    const id = await createPipeline(client, source.id, steps, sink.id, { tasks: 2 })
    await waitForStatus(client, id, 'running')
    let isProducing = true
    const producing = produce(source.topic, source.schema_id, COUNT).then(() => void (isProducing = false))
    let killsAtWork = 0
    for (let kills = 0; kills < 3; kills++) {
      await new Promise((resolve) => setTimeout(resolve, 700))
      // One running processor is killed: the launcher restarts it; meanwhile the group gives its partitions to the other one.
      const pids = await eventually('a processor runs', async () => runningProcessors().length > 0 && runningProcessors())
      if (isProducing) killsAtWork++
      killProcess(pids[kills % pids.length]!)
    }
    await producing
    expect(killsAtWork).toBeGreaterThan(0)
    await eventually(
      'the lag is gone',
      async () => {
        const { body } = await client.call<{ tasks: { partitions: { position: string }[] }[] }>('GET', `/v1/pipelines/${id}/status`)
        return body.tasks.flatMap(({ partitions }) => partitions).reduce((sum, { position }) => sum + Number(position), 0) >= COUNT
      },
      90_000,
    )
    await waitForTotal(client, sink.id, COUNT)
    // Not kafkajs, which may show aborted records where two tasks' transactions abort (test/chaos/reader.ts).
    const cluster = openCluster({ brokers: service().brokers, clientId: 'witness' })
    const read: { n: number; key: string; text: unknown }[] = []
    await readCommitted(cluster, sink.topic, (_partition, _offset, key, value) => {
      const { n, text } = JSON.parse(value.toString('utf8', 5)) as { n: number; text: unknown }
      read.push({ n, key, text })
    }).finally(() => cluster.close())
    expect(read.length).toBe(COUNT)
    expect(new Set(read.map(({ n }) => n)).size).toBe(COUNT)
    const last = new Map<string, number>()
    for (const { key, n } of read) {
      expect(n).toBeGreaterThan(last.get(key) ?? -1)
      last.set(key, n)
    }
    expect(read[0]!.text).toBe('THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG')
    await client.call('POST', `/v1/pipelines/${id}/stop`)
  })

  it('writes exactly the failed records to the dead-letter topic, with key, headers and context', async () => {
    const source = await createStream(client, { n: 'integer', text: 'string' }, { partitions: 2 })
    const sink = await createStream(client, { n: 'integer', text: 'string', label: 'string' }, { partitions: 2 })
    const id = await createPipeline(
      client,
      source.id,
      [{ name: 'dps/text-classifier', config: { field: 'text', output_field: 'label' } }],
      sink.id,
    )
    const producer = exactProducer(kafka)
    await producer.connect()
    await producer.send({
      topic: source.topic,
      messages: [
        { key: 'a', partition: 0, value: frame(source.schema_id, '{"n":1,"text":"good"}') },
        { key: 'b', partition: 0, value: 'no framing', headers: { own: 'header' } },
        { key: 'c', partition: 1, value: frame(source.schema_id, '{"n":2') },
        { key: 'd', partition: 1, value: frame(source.schema_id, '{"n":3,"text":"bad"}') },
      ],
    })
    await producer.disconnect()
    await waitForTotal(client, sink.id, 2)
    expect((await readAll(client, sink.id)).map(({ n, label }) => [n, label]).sort()).toEqual([
      [1, 'positive'],
      [3, 'negative'],
    ])
    const accountId = service().accounts.enterprise.account_id
    const letters = await consume(`${service().env.DPS_PREFIX}.${accountId}.${id}.dead-letters`, 2, false)
    expect(letters.map(({ key }) => key).sort()).toEqual(['b', 'c'])
    const notFramed = letters.find(({ key }) => key === 'b')!
    const header = (name: string) => String(notFramed.headers?.[name])
    expect([
      header('own'),
      header('__connect.errors.topic'),
      header('__connect.errors.partition'),
      header('__connect.errors.exception.class.name'),
      header('dps.step'),
    ]).toEqual(['header', source.topic, '0', 'not_framed', '1'])
    const totals = await eventually('the counters have been published', async () => {
      const { body } = await client.call<{ tasks: { partitions: { steps: Record<string, number>[] }[] }[] }>(
        'GET',
        `/v1/pipelines/${id}/status`,
      )
      const steps = body.tasks.flatMap(({ partitions }) => partitions.map((partition) => partition.steps[0]!))
      const sum = (name: string) => steps.reduce((total, counters) => total + counters[name]!, 0)
      return sum('in') >= 4 && { in: sum('in'), out: sum('out'), filtered: sum('filtered'), failed: sum('failed') }
    })
    expect(totals).toEqual({ in: 4, out: 2, filtered: 0, failed: 2 })
  })

  it('copies records unchanged when it has no steps', async () => {
    const source = await createStream(client, { n: 'integer' })
    const sink = await createStream(client, { n: 'integer' })
    await createPipeline(client, source.id, [], sink.id)
    await write(client, source.id, [{ n: 1 }, { n: 2 }])
    await waitForTotal(client, sink.id, 2)
    expect(await readAll(client, sink.id)).toEqual([{ n: 1 }, { n: 2 }])
  })

  it('makes a dead letter of only the record that a SmartModule traps on', async () => {
    const source = `import { Record, Path, Kind } from 'dps'
const path = new Path('n')
export function filter(record: Record): bool {
  const slice = record.find(path)
  if (slice.kind == Kind.Number && slice.end - slice.start == 2 && load<u8>(slice.start) == 49 && load<u8>(slice.start, 1) == 51) unreachable()
  return true
}`
    const name = unique('trapping')
    const deployed = await client.call('POST', '/v1/smartmodules', {
      name,
      wasm_binary: Buffer.from(await compileSmartModule(source)).toString('base64'),
      config: { input_format: 'json', output_format: 'json' },
    })
    expect(deployed.status).toBe(201)
    const [from, to] = [
      await createStream(client, { n: 'integer' }, { partitions: 1 }),
      await createStream(client, { n: 'integer' }, { partitions: 1 }),
    ]
    const id = await createPipeline(client, from.id, [{ name, config: {} }], to.id)
    await write(
      client,
      from.id,
      Array.from({ length: 100 }, (_, n) => ({ n })),
    )
    await waitForTotal(client, to.id, 99)
    expect((await readAll(client, to.id)).map(({ n }) => n)).toEqual(Array.from({ length: 100 }, (_, n) => n).filter((n) => n !== 13))
    const letters = await consume(`${service().env.DPS_PREFIX}.${service().accounts.enterprise.account_id}.${id}.dead-letters`, 1)
    expect(letters).toMatchObject([{ n: 13 }])
    expect(String(letters[0]!.headers?.['__connect.errors.exception.class.name'])).toBe('module_trapped')
  })

  it('runs an Extism plug-in, record by record', async () => {
    const name = unique('plug-in')
    const plugin = await compileFixture('shout')
    const deployed = await client.call<{ id: string }>('POST', '/v1/smartmodules', {
      name,
      wasm_binary: plugin.toString('base64'),
      config: { input_format: 'json', output_format: 'json' },
    })
    expect(deployed.status).toBe(201)
    expect((await client.call('GET', `/v1/smartmodules/${deployed.body.id}`)).body).toMatchObject({ kind: 'extism' })
    const [from, to] = [await createStream(client, { text: 'string' }), await createStream(client, { text: 'string' })]
    await createPipeline(client, from.id, [{ name, config: {} }], to.id)
    await write(client, from.id, [{ text: 'hello' }, { text: 'world' }])
    await waitForTotal(client, to.id, 2)
    expect(await readAll(client, to.id)).toEqual([{ text: 'HELLO' }, { text: 'WORLD' }])
  })

  it('is not stopped before its tasks are, however soon it is stopped', async () => {
    const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const id = await createPipeline(client, from.id, [], to.id)
    const stopped = await client.call('POST', `/v1/pipelines/${id}/stop`)
    expect([stopped.status, stopped.body.status]).toEqual([200, 'stopping'])
    const { tasks } = (await waitForStatus(client, id, 'stopped')) as { tasks: { status: string }[] }
    expect(tasks.map(({ status }) => status)).toEqual(['stopped'])
    await write(client, from.id, [{ n: 1 }])
    await new Promise((resolve) => setTimeout(resolve, 1500))
    expect(await readAll(client, to.id)).toEqual([])
  })

  it('pauses, resumes, stops and starts without losing or duplicating a record', async () => {
    const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const id = await createPipeline(client, from.id, [], to.id, { autostart: false })
    expect((await client.call('GET', `/v1/pipelines/${id}`)).body).toMatchObject({ status: 'created' })
    expect((await client.call('POST', `/v1/pipelines/${id}/resume`)).status).toBe(409)
    let n = 0
    const writeTen = async () =>
      write(
        client,
        from.id,
        Array.from({ length: 10 }, () => ({ n: n++ })),
      )
    for (const [action, status] of [
      ['start', 'running'],
      ['pause', 'paused'],
      ['resume', 'running'],
      ['stop', 'stopped'],
      ['start', 'running'],
    ] as const) {
      await writeTen()
      expect((await client.call('POST', `/v1/pipelines/${id}/${action}`)).status).toBe(200)
      await waitForStatus(client, id, status)
    }
    await waitForTotal(client, to.id, 50)
    expect((await readAll(client, to.id)).map((record) => Number(record.n)).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 50 }, (_, index) => index),
    )
  })

  it('blocks the deletion of its streams, and leaves no topic behind when it is deleted', async () => {
    const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const id = await createPipeline(client, from.id, [], to.id)
    await waitForStatus(client, id, 'running')
    expect((await client.call('DELETE', `/v1/streams/${from.id}`)).status).toBe(409)
    expect((await client.call('DELETE', `/v1/pipelines/${id}`)).status).toBeOneOf([202, 204])
    expect((await client.call('GET', `/v1/pipelines/${id}`)).status).toBe(404)
    await eventually('the streams can be deleted', async () => (await client.call('DELETE', `/v1/streams/${from.id}`)).status === 204)
    expect((await client.call('DELETE', `/v1/streams/${to.id}`)).status).toBe(204)
    const admin = kafka.admin()
    await admin.connect()
    await eventually(
      'the topics are gone',
      async () => !(await admin.listTopics()).some((topic) => topic.includes(id) || topic === from.topic || topic === to.topic),
    )
    await admin.disconnect()
  })
})

describe('the fleet', () => {
  it('runs each task of a pipeline on the processor that rendezvous hashing gives', async () => {
    const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
    const id = await createPipeline(client, from.id, [], to.id, { tasks: 4 })
    const admin = kafka.admin()
    await admin.connect()
    // Each task runs exactly where rendezvous hashing over the live fleet puts it, once a change of the fleet has got around.
    await eventually(
      'four tasks own all partitions, each where it belongs',
      async () => {
        const { body } = await client.call<{
          status: string
          tasks: { processor_id: string; status: string; partitions: { partition: number }[] }[]
        }>('GET', `/v1/pipelines/${id}/status`)
        const owned = body.tasks.flatMap(({ partitions }) => partitions.map(({ partition }) => partition)).sort()
        const { groups } = await admin.describeGroups([`${service().env.DPS_PREFIX}.fleet`])
        const members = groups[0]!.members.map(({ clientId }) => clientId)
        expect([body.status, owned, members.length]).toEqual(['running', [0, 1, 2, 3], 2])
        const places = [0, 1, 2, 3].map((task) => placeTask(members, id, chainTask(task)))
        expect(body.tasks.map(({ processor_id }) => processor_id)).toEqual(places)
        return true
      },
      60_000,
    )
    await admin.disconnect()
  })
})
