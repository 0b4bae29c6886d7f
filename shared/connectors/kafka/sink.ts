/**
 * Records into a topic of another cluster, with keys and headers as they are, each to the partition of its key. Batches of one partition
 * go one after the other, so that order holds; a round that is repeated writes its records again: at least once.
 */
import { stampProducer } from '../../kafka/protocol/record-batch.ts'
import { KAFKA_ERRORS, hasMoved, isRetriable, kafkaErrorName } from '../../kafka/wire/error-codes.ts'
import { produceBatches } from '../../kafka/wire/produce.ts'
import { frame } from '../../registry/framing.ts'
import { batchesOf } from '../block-batches.ts'
import type { ConnectorContext } from '../connector.ts'
import { blockOf } from '../encode/whole-records.ts'
import type { OpenSink, Written } from '../sink.ts'
import type { KafkaSinkConfig } from './connector.ts'
import { layoutOfTopic, openOtherCluster } from './other-cluster.ts'
import { openOtherRegistry } from './other-registry.ts'

export async function openKafkaSink(config: KafkaSinkConfig, context: ConnectorContext): Promise<OpenSink> {
  const cluster = openOtherCluster(config, context)
  const connections = cluster.openConnections('sink')
  const registry = config.registry && openOtherRegistry(config.registry, context)
  const prefix = config.schema_id === undefined ? Buffer.alloc(0) : frame(config.schema_id, '')
  let layout = await layoutOfTopic(cluster, config.topic).catch(async (error: unknown) => {
    await cluster.close().catch(() => {})
    throw error
  })

  const send = async (partition: number, batch: Buffer) =>
    produceBatches(await connections.leader(layout.leaders[partition]!), null, [
      { topic: config.topic, partitions: [{ partition, batch }] },
    ])

  return {
    rows: { kind: 'records' },
    async write({ partition: from }, pieces, signal): Promise<Written> {
      const partitions = layout.leaders.length
      const codec = registry && (await registry.codec(config.schema_id!, signal))
      if (registry && !codec) return { kind: 'permanent', reason: `the other registry has no schema ${config.schema_id}` }
      const { block, faults } = blockOf(pieces, codec?.fromJson)
      if (faults.length > 0) return { kind: 'at_fault', records: faults }
      const batches = batchesOf(block, { partitions, keyless: from % partitions, nowMs: context.now(), attributes: 0, prefix })
      for (const { partition, bytes, length } of batches) {
        const batch = Buffer.from(bytes, 0, length)
        stampProducer(batch, -1n, -1, -1)
        const answers = await send(partition, batch).catch(async (error: unknown) => {
          // A broker that died says nothing of where its partitions went.
          layout = await layoutOfTopic(cluster, config.topic)
          throw error
        })
        const [answer] = answers
        const code = answer?.errorCode ?? 0
        if (code === 0) continue
        const reason = `the other cluster answered ${kafkaErrorName(code)}${answer?.errorMessage ? `: ${answer.errorMessage}` : ''}`
        if (hasMoved(code)) layout = await layoutOfTopic(cluster, config.topic)
        if (isRetriable(code)) return { kind: 'retry', afterMs: 0, reason }
        if (code === KAFKA_ERRORS.messageTooLarge) return tooLarge(pieces, reason)
        return { kind: 'permanent', reason }
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

/** The largest record is to blame; without it the rest may pass. */
function tooLarge(pieces: Parameters<OpenSink['write']>[1], reason: string): Written {
  let worst = { offset: 0n, size: -1 }
  for (const { ends, offsets, count } of pieces)
    for (let row = 0; row < count; row++) {
      const size = ends[row]! - (row === 0 ? 0 : ends[row - 1]!)
      if (size > worst.size) worst = { offset: BigInt(offsets[row]!), size }
    }
  return { kind: 'at_fault', records: [{ offset: worst.offset, code: 'record_too_large', message: reason }] }
}
