/**
 * Writes records to a topic of another cluster, with keys and headers unchanged, each to the partition of its key. Batches of one partition
 * are sent one after the other to keep their order. A repeated round writes its records again: at least once.
 */
import {
  BATCH_HEADER_BYTES,
  decodeRecords,
  encodeRecords,
  readBatchHeader,
  stampProducer,
  writeBatchHeader,
} from '../../kafka/protocol/record-batch.ts'
import { KAFKA_ERRORS, hasMoved, isRetriable, kafkaErrorName } from '../../kafka/wire/error-codes.ts'
import { produceBatches } from '../../kafka/wire/produce.ts'
import { frame } from '../../model/framing.ts'
import { batchesOf } from '../block-batches.ts'
import type { ConnectorContext } from '../connector.ts'
import { blockOf } from '../encode/whole-records.ts'
import { SPAN, type RecordBlock } from '../record-block.ts'
import type { OpenSink, Rows, Written } from '../sink.ts'
import type { KafkaSinkConfig } from './connector.ts'
import { layoutOfTopic, openOtherCluster } from './other-cluster.ts'
import { openOtherRegistry } from './other-registry.ts'

/** Opens the sink. Throws where the topic can’t be found. */
export async function openKafkaSink(config: KafkaSinkConfig, context: ConnectorContext): Promise<OpenSink> {
  const cluster = openOtherCluster(config, context)
  const connections = cluster.openConnections('sink')
  const registry = config.registry && openOtherRegistry(config.registry, context)
  const prefix = config.schema_id === undefined ? Buffer.alloc(0) : frame(config.schema_id, '')
  let layout = await layoutOfTopic(cluster, config.topic).catch(async (error: unknown) => {
    await cluster.close().catch(() => {})
    throw error
  })

  /** Sends a batch, halving it as long as the topic does not accept its size. Returns undefined once all of it is written. */
  async function send(partition: number, batch: Buffer, largest: () => bigint): Promise<Written | undefined> {
    stampProducer(batch, -1n, -1, -1)
    const parts = [{ topic: config.topic, partitions: [{ partition, batch }] }]
    const [answer] = await produceBatches(await connections.leader(layout.leaders[partition]!), null, parts)
    const code = answer?.errorCode ?? 0
    if (code === 0) return undefined
    const reason = `the other cluster answered ${kafkaErrorName(code)}${answer?.errorMessage ? `: ${answer.errorMessage}` : ''}`
    if (code === KAFKA_ERRORS.messageTooLarge) {
      const halves = halvesOf(batch)
      // This record alone is too large, so the largest one is too. Without that one, the rest may pass.
      if (!halves) return { kind: 'at_fault', records: [{ offset: largest(), code: 'record_too_large', message: reason }] }
      return (await send(partition, halves[0], largest)) ?? send(partition, halves[1], largest)
    }
    if (hasMoved(code)) layout = await layoutOfTopic(cluster, config.topic)
    return isRetriable(code) ? { kind: 'retry', afterMs: 0, reason } : { kind: 'permanent', reason }
  }

  return {
    rows: { kind: 'records' },
    async write({ partition: from }, pieces, signal): Promise<Written> {
      const partitions = layout.leaders.length
      const codec = registry && (await registry.codec(config.schema_id!, signal))
      if (registry && !codec) return { kind: 'permanent', reason: `the other registry has no usable schema ${config.schema_id}` }
      const { block, faults } = blockOf(pieces, codec?.fromJson)
      if (faults.length > 0) return { kind: 'at_fault', records: faults }
      const batches = batchesOf(block, { partitions, keyless: from % partitions, nowMs: context.now(), attributes: 0, prefix })
      for (const { partition, bytes, length } of batches) {
        const failure = await send(partition, Buffer.from(bytes, 0, length), () => largestOf(block, pieces)).catch(
          async (error: unknown) => {
            // A broker that died does not report where its partitions moved.
            layout = await layoutOfTopic(cluster, config.topic)
            throw error
          },
        )
        if (failure) return failure
      }
      return { kind: 'delivered' }
    },
    async close() {
      await registry?.close()
      await connections.close().catch(() => {})
      await cluster.close()
    },
  }
}

/** Splits a batch into two with half of the records each; undefined for a batch of one record. */
function halvesOf(batch: Buffer): [Buffer, Buffer] | undefined {
  const { recordCount, attributes, baseTimestamp, maxTimestamp } = readBatchHeader(batch, 0)!
  if (recordCount < 2) return undefined
  const records = decodeRecords(batch.subarray(BATCH_HEADER_BYTES), recordCount)
  const made = (some: typeof records): Buffer => {
    const section = encodeRecords(some.map((record, offsetDelta) => ({ ...record, offsetDelta })))
    const half = Buffer.concat([Buffer.alloc(BATCH_HEADER_BYTES), section])
    writeBatchHeader(half, { attributes, recordCount: some.length, baseTimestamp, maxTimestamp })
    return half
  }
  const middle = recordCount >> 1
  return [made(records.slice(0, middle)), made(records.slice(middle))]
}

/** Source offset of the largest record as written; a block has the rows in their order. */
function largestOf({ spans, count }: RecordBlock, pieces: readonly Rows[]): bigint {
  const offsets = pieces.flatMap((piece) => [...piece.offsets.subarray(0, piece.count)])
  let worst = { index: 0, size: -1 }
  for (let index = 0; index < count; index++) {
    let size = 0
    for (let part = index * SPAN; part < (index + 1) * SPAN; part += 2) if (spans[part]! >= 0) size += spans[part + 1]! - spans[part]!
    if (size > worst.size) worst = { index, size }
  }
  return BigInt(offsets[worst.index]!)
}
