/**
 * Writes records to a topic of another cluster, with keys, headers and times unchanged, each to the partition of its key. Batches of one
 * partition are sent one after the other to keep their order. A process does not write again what was acknowledged; after a crash a range
 * is written again: at least once.
 */
import { hasMoved } from '../../kafka/wire/error-codes.ts'
import { produceBatches } from '../../kafka/wire/produce.ts'
import { frame } from '../../model/framing.ts'
import { inTurns } from '../../model/turns.ts'
import type { ConnectorContext } from '../connector.ts'
import { blockSteps } from '../encode/whole-records.ts'
import type { OpenSink, Written } from '../sink.ts'
import { untilAborted } from '../../waiting/until-aborted.ts'
import type { KafkaSinkConfig } from './connector.ts'
import { createTopicLook, keepLayout, openOtherCluster } from './other-cluster.ts'
import { openOtherRegistry } from './other-registry.ts'
import { createBlockWriter } from './write-block.ts'

/** Opens the sink. Throws where the topic can’t be found. */
export async function openKafkaSink(config: KafkaSinkConfig, context: ConnectorContext): Promise<OpenSink> {
  const cluster = openOtherCluster(config, context)
  const connections = cluster.openConnections('sink')
  const registry = config.registry && openOtherRegistry(config.registry, context)
  const prefix = config.schema_id === undefined ? Buffer.alloc(0) : frame(config.schema_id, '')
  const topic = keepLayout(createTopicLook(cluster, config.topic))
  const lookAgain = (signal: AbortSignal) => {
    topic.forget()
    return untilAborted(signal, topic.current())
  }
  let layout = await topic.current().catch(async (error: unknown) => {
    await cluster.close().catch(() => {})
    throw error
  })

  const writeBlock = createBlockWriter(async (partition, batch, signal) => {
    const parts = [{ topic: config.topic, partitions: [{ partition, batch }] }]
    try {
      const leader = await untilAborted(signal, connections.leader(layout.leaders[partition]!))
      const answer = (await untilAborted(signal, produceBatches(leader, null, parts)))[0]!
      if (hasMoved(answer.errorCode)) layout = await lookAgain(signal)
      return answer
    } catch (error) {
      // A broker that died does not report where its partitions moved.
      layout = await lookAgain(signal)
      throw error
    }
  })

  return {
    rows: { kind: 'records' },
    async write(delivery, pieces, signal): Promise<Written> {
      // Keys go to other partitions once there are more of them.
      layout = await untilAborted(signal, topic.current())
      const partitions = layout.leaders.length
      const codec = registry && (await registry.codec(config.schema_id!, signal))
      if (registry && !codec) return { kind: 'permanent', reason: `the other registry has no usable schema ${config.schema_id}` }
      const { faults, ...rows } = await inTurns(blockSteps(pieces, codec?.fromJson), signal)
      if (faults.length > 0) return { kind: 'at_fault', records: faults }
      const keyless = delivery.partition % partitions
      return writeBlock(delivery, pieces, rows, { partitions, keyless, nowMs: context.now(), attributes: 0, prefix }, signal)
    },
    async close() {
      await registry?.close()
      await connections.close().catch(() => {})
      await cluster.close()
    },
  }
}
