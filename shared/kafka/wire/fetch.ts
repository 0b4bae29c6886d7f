/**
 * Fetch v17 with the record batches left as bytes (KIP-903, KIP-516 topic ids). No fetch session.
 * Protocol: https://kafka.apache.org/protocol#The_Messages_Fetch
 * HOT: one call per round.
 */
import { createAPI, Writer, type Connection, type Reader } from '../client-library.ts'
import type { AbortedTransaction } from '../protocol/aborted.ts'

/** A partition to fetch, from `offset` on, up to about `bytesMax` bytes. */
export type FetchPartition = { partition: number; offset: bigint; bytesMax: number }

/** One partition's answer. `bytes` has its own, transferable memory; undefined when there are no bytes. */
export type FetchedPartition = {
  partition: number
  errorCode: number
  highWatermark: bigint
  lastStableOffset: bigint
  logStartOffset: bigint
  aborted: AbortedTransaction[]
  bytes: Buffer | undefined
}

/**
 * A fetch of one topic's partitions. The broker waits up to `waitMs` for `bytesMin` bytes and returns at most `bytesMax`, or the whole
 * first batch when that is larger (KIP-74).
 */
export type FetchRequest = {
  topicId: string
  partitions: FetchPartition[]
  waitMs: number
  bytesMin: number
  bytesMax: number
}

/** Returns memory for a partition's bytes: a buffer of at least `bytes` bytes. */
export type Allocate = (bytes: number) => ArrayBuffer

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

/** Copies the next `length` bytes out of the reader, whose chunks are shared with other answers and not transferable. */
function takeBytes(reader: Reader, length: number, allocate: Allocate): Buffer {
  const target = Buffer.from(allocate(length), 0, length)
  let at = 0
  for (const chunk of reader.buffer.subarray(reader.position, reader.position + length).buffers) at += chunk.copy(target, at)
  reader.skip(length)
  return target
}

function parsePartition(reader: Reader, allocate: Allocate): FetchedPartition {
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
    bytes: length > 0 ? takeBytes(reader, length, allocate) : undefined,
  }
}

/** The answer to a fetch; `errorCode` is for the request as a whole, partitions have their own. */
export type FetchAnswer = { errorCode: number; partitions: FetchedPartition[] }

function parserWith(allocate: Allocate) {
  return (_correlationId: number, _apiKey: number, _apiVersion: number, reader: Reader): FetchAnswer => {
    reader.readInt32()
    const errorCode = reader.readInt16()
    reader.readInt32()
    const topics = reader.readArray((inner) => {
      inner.readUUID()
      return inner.readArray((partition) => parsePartition(partition, allocate))
    })
    return { errorCode, partitions: topics.flat() }
  }
}

/** Sends one fetch. Rejects only when the connection fails; broker errors are returned as codes. */
export type FetchBatches = (connection: Connection, request: FetchRequest) => Promise<FetchAnswer>

/** A fetch function that copies record bytes into memory from `allocate`, once per partition with bytes. */
export function createFetch(allocate: Allocate): FetchBatches {
  const api = createAPI<[FetchRequest], FetchAnswer>(1, 17, createRequest, parserWith(allocate))
  return (connection, request) => api.async(connection, request)
}

/** Fetches at read-committed, each partition's bytes into a new buffer. */
export const fetchBatches: FetchBatches = createFetch((bytes) => Buffer.allocUnsafeSlow(bytes).buffer as ArrayBuffer)
