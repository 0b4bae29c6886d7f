/**
 * A topic of another cluster. A split reads every partition whose number modulo the split count is its index; its position is the next
 * offset of each of them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { AbortedTransaction } from '../../kafka/protocol/aborted.ts'
import { batchesIn, sectionOf, type FoundBatch } from '../../kafka/protocol/batches-in.ts'
import { decodeSteps, encodeHeaders, type KafkaRecord } from '../../kafka/protocol/record-batch.ts'
import type { Connection } from '../../kafka/client-library.ts'
import type { Connections, TopicLayout } from '../../kafka/cluster.ts'
import { KAFKA_ERRORS, hasMoved, kafkaErrorName } from '../../kafka/wire/error-codes.ts'
import { fetchBatches, type FetchedPartition, type FetchRequest } from '../../kafka/wire/fetch.ts'
import { FRAMING_BYTES } from '../../model/framing.ts'
import { createTurn, inTurns } from '../../model/turns.ts'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import { createBlockBuilder, type BlockBuilder } from '../record-block.ts'
import type { OpenSource } from '../source.ts'
import { restAfterNothing } from '../../waiting/after-nothing.ts'
import { untilAborted } from '../../waiting/until-aborted.ts'
import type { KafkaSourceConfig } from './connector.ts'
import { createTopicLook, keepLayout, LAYOUT_MS, openOtherCluster } from './other-cluster.ts'
import { openOtherRegistry, type OtherRegistry } from './other-registry.ts'

/** The next offset by partition, and under `id` the topic's id, which differs if the topic is recreated. */
const Position = z.record(z.string(), z.string())
const TOPIC_ID = 'id'

const BYTES_MAX = 4 << 20
/** A block is handed over at this size, however much more was fetched: what is compressed may be a hundred times as large. */
const BLOCK_BYTES = 1 << 20
const WAIT_MS = 500
/** Progress over what holds no record, such as transaction markers, is committed once a minute. */
const QUIET_COMMIT_MS = 60_000

const positionOf = (offsets: ReadonlyMap<number, bigint>, topicId: string): string =>
  JSON.stringify({
    ...Object.fromEntries([...offsets].map(([partition, offset]) => [partition, String(offset)])),
    [TOPIC_ID]: topicId,
  })

type AddRecords = (
  bytes: Buffer,
  partition: number,
  offset: bigint,
  aborted: readonly AbortedTransaction[],
  into: BlockBuilder,
  signal: AbortSignal,
) => AsyncGenerator<bigint>

/**
 * Adds the records from an offset on to a block; after each batch, yields the offset behind it. It pauses within a batch, whose records
 * take up to a tenth of a second to convert.
 */
export function createRecordReader(config: Pick<KafkaSourceConfig, 'topic' | 'framed'>, registry: OtherRegistry | undefined): AddRecords {
  /** All splits have the same one: theirs are one after the other. */
  const turn = createTurn()

  /** The value to pass on. A value that can't be read is passed on unchanged, so that it becomes a dead letter with its own bytes. */
  async function valueOf(value: Uint8Array, signal: AbortSignal): Promise<Uint8Array> {
    if (value[0] !== 0 || value.length < FRAMING_BYTES) return value
    if (!registry) return config.framed ? value.subarray(FRAMING_BYTES) : value
    const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength)
    const codec = await registry.codec(bytes.readInt32BE(1), signal)
    try {
      return codec ? Buffer.from(codec.toJson(bytes.subarray(FRAMING_BYTES))) : value
    } catch {
      return value
    }
  }

  /** The batch's records. One that can't be read becomes a refused record. */
  async function recordsOf(batch: FoundBatch, partition: number, into: BlockBuilder, signal: AbortSignal): Promise<KafkaRecord[]> {
    const { baseOffset, recordCount } = batch.header
    try {
      return await inTurns(decodeSteps(sectionOf(batch), recordCount), signal, turn)
    } catch (error) {
      signal.throwIfAborted()
      const where = `the batch at offset ${baseOffset} of partition ${partition} of ${config.topic}`
      into.refuse('batch_unreadable', `${where} (${recordCount} records) can't be read: ${String(error)}`, Buffer.from(where))
      return []
    }
  }

  return async function* addRecords(bytes, partition, offset, aborted, into, signal) {
    for (const batch of batchesIn(bytes, aborted)) {
      for (const { offsetDelta, key, value, headers } of batch.isData ? await recordsOf(batch, partition, into, signal) : []) {
        if (turn.isOver()) {
          await turn.next()
          signal.throwIfAborted()
        }
        if (batch.header.baseOffset + BigInt(offsetDelta) < offset) continue
        into.add(key, value && (await valueOf(value, signal)), headers.length > 0 ? encodeHeaders(headers) : null)
      }
      yield batch.nextOffset
    }
  }
}

/**
 * The topic as it is now, looked at again from time to time. When it was recreated, `onRecreated` is called, and throws ConfigRefused where
 * the new one must not be read.
 */
function openTopic(look: () => Promise<TopicLayout>, idBefore: string | undefined, onRecreated: () => void) {
  let topicId = idBefore
  return keepLayout(async () => {
    const found = await look()
    if (topicId !== undefined && found.topicId !== topicId) onRecreated()
    topicId = found.topicId
    return found
  })
}

/** A position is lost. Throws ConfigRefused with the reason, unless the pipeline is to go on with the first record that is there. */
function lose({ onLostPosition, log }: ConnectorContext, reason: string): void {
  if (onLostPosition?.() !== 'earliest') throw new ConfigRefused(`${reason} (with on_lost_position earliest it goes on with what is there)`)
  log('warn', `${reason}; it goes on with the first record that is there`)
}

/** Tells partitions with a leader from those without one, which are logged once until they have one again. */
function createLeaderWatch({ topic }: KafkaSourceConfig, log: ConnectorContext['log']) {
  const without = new Set<number>()
  return (partitions: readonly number[], leader: number): boolean => {
    for (const partition of partitions) {
      if (leader < 0 && !without.has(partition))
        log('warn', `partition ${partition} of ${topic} has no leader: it is read once it has one, the others go on`)
      if (leader < 0) without.add(partition)
      else without.delete(partition)
    }
    return leader >= 0
  }
}

/** What was asked for, and nothing else: a lying broker's partitions would all go into the position. */
async function fetchOnly(connection: Connection, request: FetchRequest, topic: string, signal: AbortSignal): Promise<FetchedPartition[]> {
  const { errorCode, partitions } = await untilAborted(signal, fetchBatches(connection, request))
  if (errorCode !== 0) throw new Error(`fetching ${topic}: ${kafkaErrorName(errorCode)}`)
  const asked = new Set(request.partitions.map(({ partition }) => partition))
  const other = partitions.find(({ partition }) => !asked.has(partition))
  if (other) throw new Error(`the broker answers with partition ${other.partition} of ${topic}, which it was not asked for`)
  return partitions
}

/** Opens the source: each split reads its share of the partitions. */
export async function openKafkaSource(config: KafkaSourceConfig, context: ConnectorContext): Promise<OpenSource> {
  const cluster = openOtherCluster(config, context)
  const registry = config.registry && openOtherRegistry(config.registry, context)
  const addRecords = createRecordReader(config, registry)
  const look = createTopicLook(cluster, config.topic)
  const hasLeader = createLeaderWatch(config, context.log)

  /**
   * Fetches once from every leader, and moves the positions on. Yields whenever the block is full. Returns true if a leader has moved or is
   * missing.
   */
  async function* fetchInto(
    into: BlockBuilder,
    connections: Connections,
    layout: TopicLayout,
    own: readonly number[],
    positions: Map<number, bigint>,
    signal: AbortSignal,
  ): AsyncGenerator<void, boolean> {
    let moved = false
    for (const [leader, partitions] of Map.groupBy(own, (partition) => layout.leaders[partition]!)) {
      if (!hasLeader(partitions, leader)) {
        moved = true
        continue
      }
      const request = {
        topicId: layout.topicId,
        partitions: partitions.map((partition) => ({ partition, offset: positions.get(partition)!, bytesMax: 1 << 20 })),
        waitMs: WAIT_MS,
        bytesMin: 1,
        bytesMax: BYTES_MAX,
      }
      const connection = await untilAborted(signal, connections.leader(leader))
      for (const { partition, bytes, aborted, errorCode } of await fetchOnly(connection, request, config.topic, signal)) {
        const position = positions.get(partition)!
        if (errorCode === KAFKA_ERRORS.offsetOutOfRange) {
          const start = (await untilAborted(signal, cluster.offsets(layout, [partition], 'earliest'))).get(partition)!
          const reason = `offset ${position} of partition ${partition} is outside of what ${config.topic} holds (from ${start})`
          // One behind the end is no matter of retention: what was read is perhaps there again.
          if (position > start) throw new ConfigRefused(reason)
          lose(context, reason)
          positions.set(partition, start)
        } else if (hasMoved(errorCode)) moved = true
        else if (errorCode !== 0) throw new Error(`fetching ${config.topic}: ${kafkaErrorName(errorCode)}`)
        else if (bytes)
          for await (const next of addRecords(bytes, partition, position, aborted, into, signal)) {
            positions.set(partition, next)
            if (into.bytes >= BLOCK_BYTES) yield
          }
      }
    }
    return moved
  }

  return {
    async *read(split, position, _seen, signal) {
      const connections = cluster.openConnections(`split-${split.index}`)
      try {
        const { [TOPIC_ID]: knownId, ...offsets } = position === undefined ? {} : Position.parse(JSON.parse(position))
        const positions = new Map(Object.entries(offsets).map(([partition, offset]) => [Number(partition), BigInt(offset!)]))
        let isFirst = position === undefined
        let [yielded, yieldedAt] = [position, performance.now()]
        const topic = openTopic(look, knownId, () => {
          lose(context, `the topic ${config.topic} was deleted and recreated: its offsets are not those of the topic that was being read`)
          positions.clear()
        })
        while (!signal.aborted) {
          const layout = await untilAborted(signal, topic.current())
          const own = layout.leaders.map((_, partition) => partition).filter((partition) => partition % split.count === split.index)
          if (own.length === 0) {
            // Committed, it says that the split had no partition at its start.
            if (isFirst) yield { block: createBlockBuilder(0).take(), position: (yielded = positionOf(positions, layout.topicId)) }
            isFirst = false
            await sleep(LAYOUT_MS, undefined, { signal }).catch(() => {})
            continue
          }
          // At the start all of them: else `latest` would be a later one for some.
          const unknown = own.filter((partition) => !positions.has(partition) && (isFirst || layout.leaders[partition]! >= 0))
          if (unknown.length > 0) {
            // A partition that was added later is read from its first record, whatever `start` says.
            const starts = await untilAborted(signal, cluster.offsets(layout, unknown, isFirst ? config.start : 'earliest'))
            isFirst = false
            for (const [partition, offset] of starts) positions.set(partition, offset)
          }
          const builder = createBlockBuilder(64 << 10)
          const known = own.filter((partition) => positions.has(partition))
          const [before, askedAt] = [positionOf(positions, layout.topicId), performance.now()]
          const fetching = fetchInto(builder, connections, layout, known, positions, signal)
          let step = await fetching.next()
          for (; !step.done; step = await fetching.next()) {
            ;[yielded, yieldedAt] = [positionOf(positions, layout.topicId), performance.now()]
            yield { block: builder.take(), position: yielded }
            if (signal.aborted) return
          }
          const next = positionOf(positions, layout.topicId)
          const leaderIsUnknown = step.value || known.length === 0
          if (leaderIsUnknown) topic.forget()
          // Where a leader has moved, the cluster may not know the new one yet.
          if (leaderIsUnknown ? builder.count === 0 : next === before) await restAfterNothing(askedAt, signal)
          const isQuiet = builder.count === 0 && unknown.length === 0
          if (isQuiet && performance.now() - yieldedAt <= QUIET_COMMIT_MS) continue
          // D2: retention moves the log's start past markers too, and a position before it would look like lost records.
          if (isQuiet && next === yielded) continue
          ;[yielded, yieldedAt] = [next, performance.now()]
          yield { block: builder.take(), position: next }
        }
      } catch (error) {
        if (!signal.aborted) throw error
      } finally {
        await connections.close().catch(() => {})
      }
    },
    async close() {
      await registry?.close()
      await cluster.close()
    },
  }
}
