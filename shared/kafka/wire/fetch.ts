/**
 * Fetch v17 with the record batches left as bytes (KIP-903, KIP-516 topic ids). No fetch session.
 * Protocol: https://kafka.apache.org/protocol#The_Messages_Fetch
 * HOT: one call per round.
 */
import { createAPI, Writer, type Connection, type Reader } from '@platformatic/kafka'

export type FetchPartition = { partition: number; offset: bigint; bytesMax: number }

/** A transaction that was aborted: its batches from `firstOffset` up to its abort marker don't count. */
export type AbortedTransaction = { producerId: bigint; firstOffset: bigint }

/** One partition's answer. `bytes` is a buffer of its own (transferable), undefined when there is nothing. */
export type FetchedPartition = {
  partition: number
  errorCode: number
  highWatermark: bigint
  lastStableOffset: bigint
  logStartOffset: bigint
  aborted: AbortedTransaction[]
  bytes: Buffer | undefined
}

export type FetchRequest = { topicId: string; partitions: FetchPartition[]; waitMs: number; bytesMin: number; bytesMax: number }

const READ_COMMITTED = 1
const NO_EPOCH = -1

function createRequest(request: FetchRequest): Writer {
  return Writer.create()
    .appendInt32(request.waitMs)
    .appendInt32(request.bytesMin)
    .appendInt32(request.bytesMax)
    .appendInt8(READ_COMMITTED)
    .appendInt32(0)
    .appendInt32(NO_EPOCH)
    .appendArray([request], (writer, { topicId, partitions }) =>
      writer
        .appendUUID(topicId)
        .appendArray(partitions, (inner, { partition, offset, bytesMax }) =>
          inner
            .appendInt32(partition)
            .appendInt32(NO_EPOCH)
            .appendInt64(offset)
            .appendInt32(NO_EPOCH)
            .appendInt64(-1n)
            .appendInt32(bytesMax),
        ),
    )
    .appendArray([], () => {})
    .appendString('')
    .appendTaggedFields()
}

/** Copies the next `length` bytes into memory of their own: the reader's chunks are shared with other answers, and not transferable. */
function takeBytes(reader: Reader, length: number): Buffer {
  const target = Buffer.allocUnsafeSlow(length)
  let at = 0
  for (const chunk of reader.buffer.subarray(reader.position, reader.position + length).buffers) at += chunk.copy(target, at)
  reader.skip(length)
  return target
}

function parsePartition(reader: Reader): FetchedPartition {
  const partition = reader.readInt32()
  const errorCode = reader.readInt16()
  const highWatermark = reader.readInt64()
  const lastStableOffset = reader.readInt64()
  const logStartOffset = reader.readInt64()
  const aborted = reader.readNullableArray((inner) => ({ producerId: inner.readInt64(), firstOffset: inner.readInt64() })) ?? []
  reader.readInt32()
  // A compact nullable byte string: its length plus one, 0 for null.
  const length = reader.readUnsignedVarInt() - 1
  return {
    partition,
    errorCode,
    highWatermark,
    lastStableOffset,
    logStartOffset,
    aborted,
    bytes: length > 0 ? takeBytes(reader, length) : undefined,
  }
}

/** `errorCode` is the whole answer's; the partitions carry their own. */
export type FetchAnswer = { errorCode: number; partitions: FetchedPartition[] }

function parseResponse(_correlationId: number, _apiKey: number, _apiVersion: number, reader: Reader): FetchAnswer {
  reader.readInt32()
  const errorCode = reader.readInt16()
  reader.readInt32()
  const topics = reader.readArray((inner) => {
    inner.readUUID()
    return inner.readArray(parsePartition)
  })
  return { errorCode, partitions: topics.flat() }
}

const api = createAPI<[FetchRequest], FetchAnswer>(1, 17, createRequest, parseResponse)

/** Fetches at read-committed. Rejects only when the connection fails; broker errors come as codes. */
export function fetchBatches(connection: Connection, request: FetchRequest): Promise<FetchAnswer> {
  return api.async(connection, request)
}
