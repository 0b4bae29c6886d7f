/**
 * TxnOffsetCommit v5 (KIP-447 member and generation, KIP-890: no AddOffsetsToTxn before it).
 * Protocol: https://kafka.apache.org/protocol#The_Messages_TxnOffsetCommit
 */
import { createAPI, txnOffsetCommitV4, type Connection, type Reader } from '../client-library.ts'

/** The offset to commit for one partition, the next to be read, with its metadata. */
export type TxnOffset = { partition: number; offset: bigint; metadata: string }

/** Offsets to add to a transaction; the broker checks member and generation (KIP-447) and the producer's epoch (KIP-98). */
export type TxnOffsetCommitRequest = {
  transactionalId: string
  groupId: string
  producerId: bigint
  producerEpoch: number
  generationId: number
  memberId: string
  topic: string
  offsets: TxnOffset[]
}

type Answer = { partition: number; errorCode: number }[]

function createRequest(request: TxnOffsetCommitRequest) {
  const { transactionalId, groupId, producerId, producerEpoch, generationId, memberId, topic, offsets } = request
  const partitions = offsets.map(({ partition, offset, metadata }) => ({
    partitionIndex: partition,
    committedOffset: offset,
    committedLeaderEpoch: -1,
    committedMetadata: metadata,
  }))
  // v5 has the same body as v4; only the broker's handling differs.
  return txnOffsetCommitV4.createRequest(transactionalId, groupId, producerId, producerEpoch, generationId, memberId, null, [
    { name: topic, partitions },
  ])
}

function parseResponse(_correlationId: number, _apiKey: number, _apiVersion: number, reader: Reader): Answer {
  reader.readInt32()
  return reader
    .readArray((outer) => {
      outer.readString()
      return outer.readArray((inner) => ({ partition: inner.readInt32(), errorCode: inner.readInt16() }))
    })
    .flat()
}

const api = createAPI<[TxnOffsetCommitRequest], Answer>(28, 5, createRequest, parseResponse)

/**
 * Adds consumed offsets to the transaction; returns the first non-zero error code, else 0. Rejects when the connection fails, and when the
 * broker does not answer for a partition.
 */
export async function commitOffsetsInTransaction(connection: Connection, request: TxnOffsetCommitRequest): Promise<number> {
  const answer = await api.async(connection, request)
  const missing = request.offsets.find(({ partition }) => !answer.some((each) => each.partition === partition))
  if (missing) throw new Error(`the broker did not answer for partition ${missing.partition} of ${request.topic}`)
  return answer.find(({ errorCode }) => errorCode !== 0)?.errorCode ?? 0
}
