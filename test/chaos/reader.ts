/**
 * The oracle's own reader: reads a topic at read-committed by raw fetches, with its own filter of aborted transactions, written from the
 * protocol alone. kafkajs 2.2.4 cannot be the witness: it assumes that the broker lists aborted transactions in the order of their first
 * offsets, but they come in the order of their ends. With two writers and many aborts it lets aborted records through.
 */
import type { Cluster } from '../../shared/kafka/cluster.ts'
import { inflate } from '../../shared/kafka/protocol/compression.ts'
import {
  BATCH_HEADER_BYTES,
  COMPRESSION_MASK,
  CONTROL,
  TRANSACTIONAL,
  decodeRecords,
  readBatchHeader,
} from '../../shared/kafka/protocol/record-batch.ts'
import { fetchBatches } from '../../shared/kafka/wire/fetch.ts'

export type OnRecord = (partition: number, offset: bigint, key: string, value: Buffer) => void

const FETCH_BYTES = 8 << 20
/** Errors of a partition whose leader is moving, or has moved (Kafka's error codes 5 and 6). */
const MOVING = [5, 6]
const TRIES = 100
const PAUSE_MS = 200
/** Kafka's control records: version, then type; type 0 is an abort (KIP-98). */
const ABORT = 0

/** Reads every partition, or those in `only`, from its first record to the end that it has when reading begins. */
export async function readCommitted(cluster: Cluster, topic: string, onRecord: OnRecord, only?: number[]): Promise<void> {
  let layout = await cluster.describeTopic(topic)
  if (!layout) throw new Error(`topic ${topic} does not exist`)
  const partitions = only ?? [...layout.leaders.keys()]
  const first = await cluster.offsets(layout, partitions, 'earliest')
  const ends = await cluster.offsets(layout, partitions, 'latest')
  const connections = cluster.openConnections('oracle')
  const lookAgain = async (): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    layout = (await cluster.describeTopic(topic)) ?? layout
  }
  try {
    for (const partition of partitions) {
      let position = first.get(partition)!
      let tries = 0
      while (position < ends.get(partition)!) {
        let answer: Awaited<ReturnType<typeof fetchBatches>>
        try {
          answer = await fetchBatches(await connections.leader(layout.leaders[partition]!), {
            topicId: layout.topicId,
            partitions: [{ partition, offset: position, bytesMax: FETCH_BYTES }],
            waitMs: 500,
            bytesMin: 1,
            bytesMax: FETCH_BYTES,
          })
        } catch (error) {
          if (tries++ >= TRIES) throw error
          await lookAgain()
          continue
        }
        const fetched = answer.partitions[0]
        if (fetched && MOVING.includes(fetched.errorCode) && tries++ < TRIES) {
          await lookAgain()
          continue
        }
        if (answer.errorCode !== 0 || fetched === undefined || fetched.errorCode !== 0)
          throw new Error(`reading ${topic}: Kafka error ${answer.errorCode || fetched?.errorCode}`)
        if (fetched.bytes) position = readBytes(fetched.bytes, partition, position, fetched.aborted, onRecord)
      }
    }
  } finally {
    await connections.close().catch(() => {})
  }
}

function readBytes(
  bytes: Buffer,
  partition: number,
  from: bigint,
  aborted: { producerId: bigint; firstOffset: bigint }[],
  onRecord: OnRecord,
): bigint {
  /** By producer, the first offsets of its aborted transactions, the earliest last. */
  const begins = new Map<bigint, bigint[]>()
  for (const { producerId, firstOffset } of aborted) begins.set(producerId, [...(begins.get(producerId) ?? []), firstOffset])
  for (const offsets of begins.values()) offsets.sort((a, b) => (a < b ? 1 : -1))
  let position = from
  for (let at = 0, header = readBatchHeader(bytes, 0); header; at += header.size, header = readBatchHeader(bytes, at)) {
    const last = header.baseOffset + BigInt(header.lastOffsetDelta)
    const section = () => inflate(header!.attributes & COMPRESSION_MASK, bytes.subarray(at + BATCH_HEADER_BYTES, at + header!.size))
    const own = begins.get(header.producerId)
    if ((header.attributes & CONTROL) !== 0) {
      const [marker] = decodeRecords(section(), header.recordCount)
      // The abort marker ends the producer's earliest aborted transaction.
      if (marker?.key?.readInt16BE(2) === ABORT && own && own.length > 0 && own.at(-1)! <= last) own.pop()
    } else {
      const isAborted = (header.attributes & TRANSACTIONAL) !== 0 && own !== undefined && own.length > 0 && own.at(-1)! <= header.baseOffset
      if (!isAborted) {
        for (const { offsetDelta, key, value } of decodeRecords(section(), header.recordCount)) {
          const offset = header.baseOffset + BigInt(offsetDelta)
          if (offset >= from) onRecord(partition, offset, key?.toString('latin1') ?? '', value ?? EMPTY)
        }
      }
    }
    position = last + 1n
  }
  return position
}

const EMPTY = Buffer.alloc(0)
