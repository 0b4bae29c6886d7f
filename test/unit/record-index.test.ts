/** Pages of a stream whose records are still being counted in the background. */
import { expect, it } from 'vitest'
import { createRecordIndex } from '../../services/control-plane/stream-data/record-index.ts'
import type { Cluster, Connections, TopicLayout } from '../../shared/kafka/cluster.ts'
import { limitMs } from '../harness/machine-speed.ts'
import { recordedDatabase } from '../harness/recorded-database.ts'

it(
  'get an estimate in time, though the count in the background takes longer than a request may',
  async () => {
    const { db } = recordedDatabase((sql) => (sql.startsWith('insert into "stream_index_heads"') ? [{ partition: 0 }] : []))
    const layout = { topic: 't', topicId: 't1', leaders: [1] } as unknown as TopicLayout
    const cluster = {
      describeTopic: () => Promise.resolve(layout),
      bounds: () => Promise.resolve(new Map([[0, { start: 0n, end: 10n }]])),
    } as unknown as Cluster
    const reading = Promise.withResolvers<void>()
    const connections = {
      leader() {
        reading.resolve()
        // As long as a test takes.
        return new Promise(() => {})
      },
    } as unknown as Connections
    const index = createRecordIndex(db, cluster, connections, Date.now)
    index.notify({ id: 'st_1', topic: 't' })
    await reading.promise
    const from = performance.now()
    const [count] = await index.count({ id: 'st_1', topic: 't' }, layout)
    expect(count).toMatchObject({ records: 0, estimated: 10 })
    expect(performance.now() - from).toBeLessThan(8000)
  },
  limitMs(20_000),
)
