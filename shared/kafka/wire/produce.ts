/**
 * Produce v12 with batches that are already encoded, in transactions V2 (KIP-890: no AddPartitionsToTxn) or without a transaction.
 * Protocol: https://kafka.apache.org/protocol#The_Messages_Produce
 * HOT: a few calls per round.
 */
import { createAPI, Writer, type Connection, type Reader } from '../client-library.ts'

/** A stamped batch for one partition. */
export type ProducePartition = { partition: number; batch: Buffer }
/** The batches for one topic, one per partition. */
export type ProduceTopic = { topic: string; partitions: ProducePartition[] }
/** The broker's answer for one partition; `baseOffset` is the offset of the batch's first record. */
export type ProducedPartition = { topic: string; partition: number; errorCode: number; errorMessage: string | null; baseOffset: bigint }

const ACKS_ALL = -1
const TIMEOUT_MS = 6000

function createRequest(transactionalId: string | null, topics: ProduceTopic[]): Writer {
  return Writer.create()
    .appendString(transactionalId)
    .appendInt16(ACKS_ALL)
    .appendInt32(TIMEOUT_MS)
    .appendArray(topics, (writer, { topic, partitions }) =>
      writer.appendString(topic).appendArray(partitions, (inner, { partition, batch }) =>
        inner
          .appendInt32(partition)
          .appendUnsignedVarInt(batch.length + 1)
          .append(batch),
      ),
    )
    .appendTaggedFields()
}

function parseResponse(_correlationId: number, _apiKey: number, _apiVersion: number, reader: Reader): ProducedPartition[] {
  return reader
    .readArray((outer) => {
      const topic = outer.readString()
      return outer.readArray((inner) => {
        const partition = inner.readInt32()
        const errorCode = inner.readInt16()
        const baseOffset = inner.readInt64()
        inner.readInt64()
        inner.readInt64()
        const recordErrors = inner.readArray((each) => ({ index: each.readInt32(), message: each.readNullableString() }))
        const errorMessage = inner.readNullableString() ?? recordErrors[0]?.message ?? null
        return { topic, partition, errorCode, errorMessage, baseOffset }
      })
    })
    .flat()
}

const api = createAPI<[string | null, ProduceTopic[]], ProducedPartition[]>(0, 12, createRequest, parseResponse)

/**
 * The answer for each partition, in their order, at acks=all; broker errors are returned as codes. Rejects when the connection fails, and
 * when the broker does not answer for a partition that was written to: nothing is known of that batch.
 */
export async function produceBatches(
  connection: Connection,
  transactionalId: string | null,
  topics: ProduceTopic[],
): Promise<ProducedPartition[]> {
  const answers = await api.async(connection, transactionalId, topics)
  return topics.flatMap(({ topic, partitions }) =>
    partitions.map(({ partition }) => {
      const own = answers.find((answer) => answer.partition === partition && answer.topic === topic)
      if (!own) throw new Error(`the broker did not answer for partition ${partition} of ${topic}`)
      return own
    }),
  )
}
