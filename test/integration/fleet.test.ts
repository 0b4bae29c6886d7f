/** The fleet under failures: a processor is killed, leaves or stands still; the control plane stands still. */
import kafkajs from 'kafkajs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openCluster, type Cluster } from '../../shared/kafka/cluster.ts'
import { frame } from '../../shared/model/framing.ts'
import { readCommitted } from '../chaos/reader.ts'
import { childrenOf } from '../harness/child-processes.ts'
import { eventually, loggedIn, service, type Client } from '../harness/client.ts'
import { killProcess, runningControlPlanes, runningProcessors } from '../harness/processes.ts'
import { createPipeline, createStream, waitForStatus, type NewStream } from '../harness/pipelines.ts'
import { limitFromNow } from '../harness/machine-speed.ts'
import { exactProducer } from '../harness/exact-producer.ts'

const PARTITIONS = 4
let client: Client
let kafka: kafkajs.Kafka
let producer: kafkajs.Producer
let cluster: Cluster
beforeAll(async () => {
  cluster = openCluster({ brokers: service().brokers, clientId: 'fleet-test' })
  client = await loggedIn(service().accounts.other)
  kafka = new kafkajs.Kafka({ brokers: service().brokers, logLevel: kafkajs.logLevel.NOTHING })
  producer = exactProducer(kafka)
  await producer.connect()
})
afterAll(async () => {
  await cluster.close()
  await producer.disconnect()
})

type Setup = { id: string; from: NewStream; to: NewStream; seen: Map<number, number>; arrivals: number[]; close(): Promise<void> }

/** A pipeline of four tasks over four partitions, and a reader at read-committed that counts what has arrived, by n. */
async function setUp(): Promise<Setup> {
  const [from, to] = [await createStream(client, { n: 'integer' }), await createStream(client, { n: 'integer' })]
  const id = await createPipeline(client, from.id, [], to.id, { tasks: PARTITIONS })
  await eventually('all partitions are owned', async () => {
    const { body } = await client.call<{ status: string; tasks: { partitions: unknown[] }[] }>('GET', `/v1/pipelines/${id}/status`)
    return body.status === 'running' && body.tasks.length === PARTITIONS && body.tasks.every(({ partitions }) => partitions.length === 1)
  })
  const consumer = kafka.consumer({ groupId: `witness-${id}`, readUncommitted: false, maxWaitTimeInMs: 50 })
  await consumer.connect()
  await consumer.subscribe({ topics: [to.topic], fromBeginning: true })
  const seen = new Map<number, number>()
  const arrivals: number[] = []
  await consumer.run({
    autoCommit: false,
    eachMessage: async ({ message }) => {
      const { n } = JSON.parse(message.value!.toString('utf8', 5)) as { n: number }
      seen.set(n, (seen.get(n) ?? 0) + 1)
      arrivals.push(Date.now())
    },
  })
  return { id, from, to, seen, arrivals, close: () => consumer.disconnect() }
}

async function end({ id, close }: Setup): Promise<void> {
  await close()
  await client.call('POST', `/v1/pipelines/${id}/stop`)
}

/** One record to each partition, numbered from `n` on. */
async function writeRound({ from }: Setup, n: number): Promise<void> {
  await producer.send({
    topic: from.topic,
    messages: Array.from({ length: PARTITIONS }, (_, partition) => ({
      partition,
      value: frame(from.schema_id, JSON.stringify({ n: n + partition })),
    })),
  })
}

/** How long a round takes to arrive. */
async function arrives(setup: Setup, n: number): Promise<number> {
  const from = Date.now()
  await writeRound(setup, n)
  await eventually('the round has arrived', async () =>
    Array.from({ length: PARTITIONS }, (_, at) => n + at).every((each) => setup.seen.has(each)),
  )
  return Date.now() - from
}

/** Numbers that appear more than once, by the oracle's own reader: kafkajs may show aborted records (docs/decisions/006). */
async function notOnce({ to }: Setup): Promise<number[]> {
  const counts = new Map<number, number>()
  await readCommitted(cluster, to.topic, (_partition, _offset, _key, value) => {
    const { n } = JSON.parse(value.toString('utf8', 5)) as { n: number }
    counts.set(n, (counts.get(n) ?? 0) + 1)
  })
  return [...counts].flatMap(([n, count]) => (count === 1 ? [] : [n]))
}

/** Ids of the fleet's members, the dead ones among them until their session ends. */
async function fleetMembers(): Promise<{ isStable: boolean; ids: string[] }> {
  const admin = kafka.admin()
  await admin.connect()
  const { groups } = await admin.describeGroups([`${service().env.DPS_PREFIX}.fleet`])
  await admin.disconnect()
  return { isStable: groups[0]!.state === 'Stable', ids: groups[0]!.members.map(({ memberId }) => memberId) }
}

/** Members that have been killed, and may still be counted. */
let gone: string[] = []
const twoProcessors = () =>
  eventually(
    'two living processors are in the fleet',
    async () => {
      const { isStable, ids } = await fleetMembers()
      return isStable && ids.length === 2 && !(gone.length > 0 && gone.every((id) => ids.includes(id)))
    },
    60_000,
  )

async function killOne(): Promise<void> {
  gone = (await fleetMembers()).ids
  killProcess(runningProcessors()[0]!)
}

/** How long records wait after `end` has ended a processor, by what is allowed for it here and now. Each arrives once. */
async function movedAfter(endProcessor: () => unknown, ms: number): Promise<number> {
  await twoProcessors()
  const setup = await setUp()
  await arrives(setup, 0)
  const limit = limitFromNow(ms)
  await endProcessor()
  const share = (await arrives(setup, PARTITIONS)) / limit()
  expect(await notOnce(setup)).toEqual([])
  await end(setup)
  return share
}

describe('the partitions of a processor', () => {
  it.each([
    ['10 s when it is killed', 10_000, killOne],
    ['2 s when it shuts down cleanly', 2000, () => process.kill(runningProcessors()[0]!, 'SIGTERM')],
  ])('move within %s', async (_, ms, end) => {
    // The machine may stand still for a moment, so the best of three turns counts.
    let best = Infinity
    for (let turn = 0; turn < 3 && best >= 1; turn++) best = Math.min(best, await movedAfter(end, ms))
    expect(best).toBeLessThan(1)
  })

  it('get no duplicates when it resumes after a pause of ten seconds', async () => {
    await twoProcessors()
    let setup = await setUp()
    const countOwners = async () => {
      const path = `/v1/pipelines/${setup.id}/status`
      const { body } = await client.call<{ tasks: { processor_id: string; partitions: unknown[] }[] }>('GET', path)
      return new Set(body.tasks.flatMap(({ processor_id, partitions }) => (partitions.length > 0 ? [processor_id] : []))).size
    }
    // Tasks are placed by hashes of the pipeline's id: of every eight pipelines, one has all four on the same processor, and keeps them
    // there.
    for (let tried = 1; (await countOwners()) !== 2; tried++) {
      expect(tried).toBeLessThan(20)
      await end(setup)
      setup = await setUp()
    }
    const supervisor = runningProcessors()[0]!
    // Runners first: a supervisor that goes on before them would find them silent.
    const paused = [...childrenOf(supervisor), supervisor]
    let n = 0
    for (; n < 40; n += PARTITIONS) await writeRound(setup, n)
    for (const pid of paused) killProcess(pid, 'SIGSTOP')
    try {
      for (const until = Date.now() + 10_000; Date.now() < until; n += PARTITIONS) {
        await writeRound(setup, n)
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      await eventually('the other processor has all tasks', async () => (await countOwners()) === 1)
    } finally {
      for (const pid of paused) killProcess(pid, 'SIGCONT')
    }
    for (const until = Date.now() + 5000; Date.now() < until; n += PARTITIONS) {
      await writeRound(setup, n)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    await eventually('all records have arrived', async () => setup.seen.size === n, 30_000)
    expect(await notOnce(setup)).toEqual([])
    await end(setup)
  })
})

describe('the data plane', () => {
  it('goes on, even through a processor’s restart, while the control plane stands still', async () => {
    await twoProcessors()
    const setup = await setUp()
    const [controlPlane] = runningControlPlanes()
    process.kill(controlPlane!, 'SIGSTOP')
    try {
      await killOne()
      await arrives(setup, 0)
      await twoProcessors()
      await arrives(setup, PARTITIONS)
    } finally {
      process.kill(controlPlane!, 'SIGCONT')
    }
    await waitForStatus(client, setup.id, 'running')
    await end(setup)
  })
})
