/** Writes keyed records, which may be duplicated, to one of the service's one-partition topics: no transaction, no idempotence. */
import type { Cluster, Connections } from './cluster.ts'
import { KafkaError } from './kafka-error.ts'
import { compressBatch, encodeBatch, stampProducer } from './protocol/record-batch.ts'
import { produceBatches } from './wire/produce.ts'

/** From this size on, batches are compressed: topics take 1 MiB unless told otherwise, and the service's JSON becomes a tenth. */
const COMPRESSED_FROM_BYTES = 512 << 10

/** Below the broker's default limit of 1 MiB for a batch. */
const BATCH_BYTES_MAX = 500_000

/** The first entries that fit into one batch of a topic with the broker's default limit; at least one. */
export function firstBatch<E extends { key: string; value: Buffer }>(entries: readonly E[]): E[] {
  let bytes = 0
  const end = entries.findIndex(({ key, value }, index) => (bytes += key.length + value.length) > BATCH_BYTES_MAX && index > 0)
  return entries.slice(0, end < 0 ? undefined : end)
}

/**
 * Appends all records as one batch; a null value is a tombstone. Throws KafkaError with the broker’s error, an Error for a missing topic.
 */
export async function appendRecords(
  cluster: Cluster,
  connections: Connections,
  topic: string,
  entries: readonly { key: string; value: Buffer | null }[],
  nowMs: number,
): Promise<void> {
  const layout = await cluster.describeTopic(topic)
  if (!layout) throw new Error(`topic ${topic} does not exist`)
  const records = entries.map(({ key, value }, offsetDelta) => ({
    offsetDelta,
    timestampDelta: 0n,
    key: Buffer.from(key),
    value,
    headers: [],
  }))
  const plain = encodeBatch(records, BigInt(nowMs), 0)
  const batch = plain.length < COMPRESSED_FROM_BYTES ? plain : compressBatch(plain, 'zstd')
  stampProducer(batch, -1n, -1, -1)
  const connection = await connections.leader(layout.leaders[0]!)
  const [answer] = await produceBatches(connection, null, [{ topic, partitions: [{ partition: 0, batch }] }])
  if (answer?.errorCode !== 0) throw new KafkaError(answer?.errorCode ?? -1)
}
