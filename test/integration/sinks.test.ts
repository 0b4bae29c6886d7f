/** How records are written to a sink: to the partition of their key, and compressed. */
import { beforeAll, describe, expect, it } from 'vitest'
import { openCluster, type Cluster } from '../../shared/kafka/cluster.ts'
import { COMPRESSION_MASK, CONTROL, readBatchHeader } from '../../shared/kafka/protocol/record-batch.ts'
import { fetchBatches } from '../../shared/kafka/wire/fetch.ts'
import { loggedIn, service, type Client } from '../harness/client.ts'
import { connect, stream } from '../harness/connectors.ts'
import { createPipeline, createStream, readAll, readPartition, waitForTotal, write } from '../harness/pipelines.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.other)
})

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => ({ n: from + index }))
const streams = async (more: Record<string, unknown> = {}) =>
  Promise.all([createStream(client, { n: 'integer' }, more), createStream(client, { n: 'integer' }, more)])

/** Kafka's numbers of the codecs in which the batches of a topic's first partition are compressed, those of transaction markers aside. */
async function codecsOf(cluster: Cluster, topic: string): Promise<number[]> {
  const { topicId, leaders } = (await cluster.describeTopic(topic))!
  const connections = cluster.openConnections('sinks')
  const request = { topicId, partitions: [{ partition: 0, offset: 0n, bytesMax: 1 << 20 }], waitMs: 500, bytesMin: 1, bytesMax: 1 << 20 }
  const [fetched] = (await fetchBatches(await connections.leader(leaders[0]!), request)).partitions
  await connections.close()
  const codecs = new Set<number>()
  const bytes = fetched!.bytes!
  for (let at = 0, header = readBatchHeader(bytes, 0); header; at += header.size, header = readBatchHeader(bytes, at))
    if ((header.attributes & CONTROL) === 0) codecs.add(header.attributes & COMPRESSION_MASK)
  return [...codecs]
}

describe('records of a pipeline', () => {
  it('go to the partition of Kafka’s own partitioner when source and sink have different partition counts', async () => {
    const from = await createStream(client, { n: 'integer', user: 'string' }, { partitions: 3, key: 'user' })
    const to = await createStream(client, { n: 'integer', user: 'string' }, { partitions: 5, key: 'user' })
    const reference = await createStream(client, { n: 'integer', user: 'string' }, { partitions: 5, key: 'user' })
    await createPipeline(client, from.id, [], to.id)
    const records = Array.from({ length: 500 }, (_, n) => ({ n, user: `u${n % 37}` }))
    await write(client, from.id, records)
    await write(client, reference.id, records)
    await waitForTotal(client, to.id, 500)
    for (let partition = 0; partition < 5; partition++)
      expect((await readPartition(client, to.id, partition)).sort((a, b) => a - b)).toEqual(
        await readPartition(client, reference.id, partition),
      )
  })

  it('arrive unchanged under every compression of the sink', async () => {
    const cluster = openCluster({ brokers: service().brokers, clientId: 'sinks' })
    for (const [index, compression] of ['gzip', 'snappy', 'lz4', 'zstd'].entries()) {
      const [from, to] = await streams({ partitions: 1 })
      await connect(client, stream(from.id), [], { connector_id: 'conn_stream', config: { stream_id: to.id, compression } })
      await write(client, from.id, numbers(0, 500))
      await waitForTotal(client, to.id, 500)
      expect((await readAll(client, to.id)).map(({ n }) => n)).toEqual(numbers(0, 500).map(({ n }) => n))
      expect(await codecsOf(cluster, to.topic)).toEqual([index + 1])
    }
    await cluster.close()
  })
})
