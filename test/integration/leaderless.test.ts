/** The only broker of one sink partition is down: the pipeline's other partitions go on, and nothing of that partition is lost. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { cacheFolder } from '../../deploy/local/cache.ts'
import { openReaper } from '../../deploy/local/child.ts'
import { temporaryHomeAt } from '../../deploy/local/home.ts'
import { startKafka, type LocalKafka } from '../../deploy/local/kafka.ts'
import { findConnector } from '../../shared/connectors/catalogue.ts'
import { createKafka } from '../../shared/kafka/admin/admin.ts'
import { openCluster } from '../../shared/kafka/cluster.ts'
import { frame } from '../../shared/model/framing.ts'
import { startBenchProcessor } from '../bench/processor.ts'
import { readCommitted } from '../chaos/reader.ts'
import { eventually } from '../harness/client.ts'
import { contextFor, readSplit } from '../harness/conformance.ts'
import { exactProducer } from '../harness/exact-producer.ts'
import { makeTopics } from '../harness/topics.ts'

const reaper = openReaper()
let folder: string
let kafka: LocalKafka

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dps-leaderless-'))
  reaper.watchFolder(folder)
  kafka = await startKafka(temporaryHomeAt(folder, reaper), { count: 3 })
})
afterAll(async () => {
  await Promise.all(kafka?.children.map((child) => child.stop()) ?? [])
  await rm(folder, { recursive: true, force: true })
  reaper.close()
})

it.each([
  ['the sink', 'sink', '{"n":0}'],
  ['the dead letters', 'dead', 'unframed'],
])('one partition of %s without a leader holds up only the records that go there', async (_what, lonely, kind) => {
  const prefix = `leaderless-${lonely}`
  const [source, sink, dead] = ['source', 'sink', 'dead'].map((topic) => `${prefix}-${topic}`) as [string, string, string]
  const { brokers } = kafka
  const client = createKafka(brokers, 'leaderless')
  const cluster = openCluster({ brokers, clientId: 'leaderless' })
  const admin = client.admin()
  const producer = exactProducer(client)
  await Promise.all([admin.connect(), producer.connect()])
  const processor = await startBenchProcessor({
    kafka: client,
    brokers,
    prefix,
    cache: cacheFolder(),
    partitions: 3,
    replicationFactor: 3,
    env: { REPLICATION_FACTOR: '3' },
  })
  try {
    // One broker leads the whole source, so that one fetch brings records of all partitions.
    const create = (topic: string, replicasOf: (partition: number) => number[]) => {
      const replicaAssignment = [0, 1, 2].map((partition) => ({ partition, replicas: replicasOf(partition) }))
      return { topic, numPartitions: -1, replicationFactor: -1, replicaAssignment }
    }
    const placesOf = (topic: string) => (partition: number) => (topic === lonely ? [partition + 1] : [1, 2, 3])
    const topics = [create(source, () => [1, 2, 3]), create(dead, placesOf('dead')), create(sink, placesOf('sink'))]
    await makeTopics(admin, ...topics)
    const written: string[][] = [[], [], []]
    const write = async (count: number) => {
      const messages = Array.from({ length: count * 3 }, (_, index) => {
        const partition = index % 3
        const value = `{"n":${written[partition]!.length}}`
        written[partition]!.push(value)
        // A value without a frame fails and becomes a dead letter.
        const isLetter = kind === 'unframed' && partition === 2
        return { partition, value: isLetter ? Buffer.from(`\u0001----${value}`) : frame(7, value) }
      })
      await producer.send({ topic: source, messages, acks: -1 })
    }
    const found = async (partition: number) => {
      const values: string[] = []
      const topic = kind === 'unframed' && partition === 2 ? dead : sink
      await readCommitted(cluster, topic, (_partition, _offset, _key, value) => values.push(value.toString('utf8', 5)), [partition])
      return values
    }
    const arrived = (partition: number) =>
      eventually(`partition ${partition} has everything`, async () => (await found(partition)).length >= written[partition]!.length, 20_000)

    const definition = processor.definition(`pl_${lonely}`, [], { source, sink, deadLetters: dead })
    await cluster.ensureStartOffsets(definition.group_id, (await cluster.describeTopic(source))!)
    definition.failure_threshold = 1
    await processor.publish(definition, 'running')
    await write(100)
    for (const partition of [0, 1, 2]) await arrived(partition)

    await kafka.nodes[2]!.child().stop()
    await eventually(
      'the partition has no leader',
      async () => (await cluster.describeTopic(`${prefix}-${lonely}`))!.leaders[2]! < 0,
      20_000,
    )
    for (let turn = 0; turn < 5; turn++) {
      await write(100)
      for (const partition of [0, 1]) await arrived(partition)
    }

    await kafka.nodes[2]!.restart()
    await write(100)
    for (const partition of [0, 1, 2]) await arrived(partition)
    for (const partition of [0, 1, 2]) expect(await found(partition)).toEqual(written[partition])
  } finally {
    await processor.close()
    await Promise.all([admin.disconnect(), producer.disconnect()])
    await cluster.close()
  }
})

it('one partition of a kafka source without a leader holds up only its own records', async () => {
  const { brokers } = kafka
  const client = createKafka(brokers, 'leaderless')
  const cluster = openCluster({ brokers, clientId: 'leaderless' })
  const [admin, producer] = [client.admin(), exactProducer(client)]
  await Promise.all([admin.connect(), producer.connect()])
  const topic = 'leaderless-other'
  const replicaAssignment = [0, 1, 2].map((partition) => ({ partition, replicas: [partition + 1] }))
  await makeTopics(admin, { topic, numPartitions: -1, replicationFactor: -1, replicaAssignment })
  const write = (n: number) =>
    producer.send({ topic, messages: [0, 1, 2].map((partition) => ({ partition, value: `{"p":${partition},"n":${n}}` })) })
  const source = await (await findConnector('conn_kafka')!.source!.open!())({ brokers, topic, start: 'earliest' }, contextFor())
  const state = { position: undefined as string | undefined, seen: new Map<string, string>() }
  const read = (count: number) => readSplit(source, { index: 0, count: 1 }, state, (values) => values.length >= count)
  try {
    await write(0)
    expect(await read(3)).toHaveLength(3)
    await write(1)
    await kafka.nodes[2]!.child().stop()
    await eventually('the partition has no leader', async () => (await cluster.describeTopic(topic))!.leaders[2]! < 0, 20_000)
    expect((await read(2)).sort()).toEqual(['{"p":0,"n":1}', '{"p":1,"n":1}'])
    await kafka.nodes[2]!.restart()
    expect(await read(1)).toEqual(['{"p":2,"n":1}'])
  } finally {
    await source.close()
    await Promise.all([admin.disconnect(), producer.disconnect()])
    await cluster.close()
  }
})

it.each([
  ['had no leader', [-1, -1, -1]],
  ['was led by another broker', [2, 3, 1]],
  ['was led by a broker that is no more', [9, 9, 9]],
])('the offsets of a partition that %s when its layout was taken are asked of its leader', async (_what, leaders) => {
  const { brokers } = kafka
  const client = createKafka(brokers, 'leaderless')
  const cluster = openCluster({ brokers, clientId: 'leaderless' })
  const [admin, producer] = [client.admin(), exactProducer(client)]
  await Promise.all([admin.connect(), producer.connect()])
  const topic = `leaderless-offsets${leaders[0]}`
  const replicaAssignment = [0, 1, 2].map((partition) => ({ partition, replicas: [partition + 1] }))
  try {
    await makeTopics(admin, { topic, numPartitions: -1, replicationFactor: -1, replicaAssignment })
    await producer.send({ topic, messages: [0, 1, 1, 2, 2, 2].map((partition) => ({ partition, value: 'x' })) })
    const layout = (await cluster.describeTopic(topic))!
    expect(layout.leaders).toEqual([1, 2, 3])
    const ends = await cluster.offsets({ ...layout, leaders }, [0, 1, 2], 'latest')
    expect([...ends].sort()).toEqual([
      [0, 1n],
      [1, 2n],
      [2, 3n],
    ])
  } finally {
    await Promise.all([admin.disconnect(), producer.disconnect()])
    await cluster.close()
  }
})
