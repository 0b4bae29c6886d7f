/**
 * Fetch v17 with the record batches left as bytes (KIP-903, KIP-516 topic ids). No fetch session.
 * Protocol: https://kafka.apache.org/protocol#The_Messages_Fetch
 * HOT: one call per round.
 */
import { createAPI, Writer, type Connection, type Reader } from '@platformatic/kafka'
import type { AbortedTransaction } from '../protocol/aborted.ts'

export type FetchPartition = { partition: number; offset: bigint; bytesMax: number }

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

export type FetchRequest = {
  topicId: string
  partitions: FetchPartition[]
  waitMs: number
  bytesMin: number
  bytesMax: number
}

/** Where a partition's bytes go: a buffer of at least that many bytes. */
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

/** Copies the next `length` bytes into memory of their own: the reader's chunks are shared with other answers, and not transferable. */
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

/** `errorCode` is the whole answer's; the partitions carry their own. */
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

export type FetchBatches = (connection: Connection, request: FetchRequest) => Promise<FetchAnswer>

/** A fetch whose bytes go where `allocate` says. Rejects only when the connection fails; broker errors come as codes. */
export function createFetch(allocate: Allocate): FetchBatches {
  const api = createAPI<[FetchRequest], FetchAnswer>(1, 17, createRequest, parserWith(allocate))
  return (connection, request) => api.async(connection, request)
}

/** Fetches at read-committed into buffers of their own. */
export const fetchBatches: FetchBatches = createFetch((bytes) => Buffer.allocUnsafeSlow(bytes).buffer as ArrayBuffer)
