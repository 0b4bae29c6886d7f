/** How records are written to a sink: to the partition of their key, and compressed. */
import { beforeAll, describe, expect, it } from 'vitest'
import { loggedIn, service, unique, type Client } from '../harness/client.ts'
import { createPipeline, createStream, readAll, readPartition, waitForTotal, write } from '../harness/pipelines.ts'

let client: Client
beforeAll(async () => {
  client = await loggedIn(service().accounts.other)
})

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => ({ n: from + index }))
const streams = async (more: Record<string, unknown> = {}) =>
  Promise.all([createStream(client, { n: 'integer' }, more), createStream(client, { n: 'integer' }, more)])

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
    for (const compression of ['gzip', 'snappy', 'lz4', 'zstd']) {
      const [from, to] = await streams({ partitions: 1 })
      const created = await client.call('POST', '/v1/pipelines', {
        name: unique('compressed'),
        source: { connector_id: 'conn_stream', config: { stream_id: from.id } },
        sink: { connector_id: 'conn_stream', config: { stream_id: to.id, compression } },
      })
      expect(created.status).toBe(201)
      await write(client, from.id, numbers(0, 500))
      await waitForTotal(client, to.id, 500)
      expect((await readAll(client, to.id)).map(({ n }) => n)).toEqual(numbers(0, 500).map(({ n }) => n))
    }
  })
})
