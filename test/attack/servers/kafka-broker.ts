/** A Kafka broker as far as the connector needs one. Formats: https://kafka.apache.org/protocol, and KIP-98 for record batches. */
import type { Socket } from 'node:net'

export const int16 = (value: number): Buffer => Buffer.from([(value >> 8) & 0xff, value & 0xff])
export const int32 = (value: number): Buffer => Buffer.from([value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff])
export function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(value)
  return bytes
}

/** An unsigned varint of 32 bits; a negative number takes the five bytes of its two's complement. */
export function varint(value: number): Buffer {
  const bytes: number[] = []
  let rest = value >>> 0
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80)
  return Buffer.from([...bytes, rest])
}
/** A signed varint, as records have them. */
export const zigzag = (value: number): Buffer => varint((value << 1) ^ (value >> 31))

export const NOTHING = Buffer.alloc(0)
/** No tagged fields; as a length, null. */
export const NONE = Buffer.from([0])
const NO_ID = Buffer.alloc(16, 7)
export const bytesOf = (value: Buffer): Buffer => Buffer.concat([varint(value.length + 1), value])
export const textOf = (value: string): Buffer => bytesOf(Buffer.from(value))
export const listOf = (items: readonly Buffer[]): Buffer => Buffer.concat([varint(items.length + 1), ...items])

/** Kafka's numbers of the requests that the connector sends. */
export const PRODUCE = 0
export const FETCH = 1
const OFFSETS = 2
export const METADATA = 3
export const HANDSHAKE = 17
export const VERSIONS = 18
export const AUTHENTICATE = 36
/** Requests whose answers have no tagged fields in their header. */
const OLD = new Set([HANDSHAKE, VERSIONS])

/** A request: its number, its correlation id, and everything behind that. */
export type Asked = { key: number; id: number; rest: Buffer; socket: Socket }
/** Returns the answer's body; undefined if it has sent its own. */
export type Reply = (asked: Asked) => Buffer | undefined
export type Replies = Readonly<Record<number, Reply>>

/** A whole answer, with its true size. */
export function answerTo({ key, id }: Pick<Asked, 'key' | 'id'>, body: Buffer): Buffer {
  const all = Buffer.concat([int32(id), OLD.has(key) ? NOTHING : NONE, body])
  return Buffer.concat([int32(all.length), all])
}

export const brokerAt = (id: number, host: string, port: number): Buffer =>
  Buffer.concat([int32(id), textOf(host), int32(port), NONE, NONE])
export const partitionOf = (index: number, leader: number, error = 0): Buffer =>
  Buffer.concat([int16(error), int32(index), int32(leader), int32(0), listOf([]), listOf([]), listOf([]), NONE])

export function metadata(brokers: readonly Buffer[], partitions: readonly Buffer[], error = 0): Buffer {
  const topic = Buffer.concat([int16(error), textOf('t'), NO_ID, NONE, listOf(partitions), int32(0), NONE])
  return Buffer.concat([int32(0), listOf(brokers), NONE, int32(1), listOf([topic]), NONE])
}

/** What a fetch finds in a partition; `aborted`: the list of aborted transactions, encoded. */
export function fetched(records: Buffer, partition = 0, aborted: Buffer = NONE, error = 0): Buffer {
  const offsets = Buffer.concat([int64(1n << 40n), int64(1n << 40n), int64(0n)])
  return Buffer.concat([int32(partition), int16(error), offsets, aborted, int32(-1), records, NONE])
}
export const fetch = (partitions: readonly Buffer[]): Buffer =>
  Buffer.concat([int32(0), int16(0), int32(0), listOf([Buffer.concat([NO_ID, listOf(partitions), NONE])]), NONE])

/** The answer to a batch. `problems`: the list of records that were refused, encoded. */
export function produced(partition: number, offset: bigint, error = 0, message: Buffer = NONE, problems: Buffer = listOf([])): Buffer {
  const answer = Buffer.concat([int32(partition), int16(error), int64(offset), int64(-1n), int64(0n), problems, message, NONE])
  return producedTopics(Buffer.concat([textOf('t'), listOf([answer]), NONE]))
}
export const producedTopics = (...topics: Buffer[]): Buffer => Buffer.concat([listOf(topics), int32(0), NONE])

/** A record batch. `codec`: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd. Its checksum is wrong. */
export function batch(section: Buffer, count: number, codec = 0, size = section.length + 49): Buffer {
  const head = Buffer.concat([int64(0n), int32(size), int32(0), Buffer.from([2]), int32(0), int16(codec), int32(Math.max(0, count - 1))])
  return Buffer.concat([head, int64(0n), int64(0n), int64(-1n), int16(-1), int32(-1), int32(count), section])
}

/** A record without a key. `headers`: their number and the headers, encoded. */
export function record(value: Buffer, headers: Buffer = NONE): Buffer {
  const body = Buffer.concat([Buffer.from([0, 0, 0, 1]), zigzag(value.length), value, headers])
  return Buffer.concat([zigzag(body.length), body])
}

/** The answers of an honest broker that has a topic `t` of one partition with these values. */
export const honestly = (values: readonly Buffer[] = []): Replies => ({
  [VERSIONS]: () => Buffer.concat([int16(0), int32(1), int16(AUTHENTICATE), int16(0), int16(2), int32(0)]),
  [HANDSHAKE]: () => Buffer.concat([int16(0), int32(0)]),
  [AUTHENTICATE]: () => Buffer.concat([int16(0), NONE, bytesOf(NOTHING), int64(0n), NONE]),
  [METADATA]: ({ socket }) => metadata([brokerAt(1, '127.0.0.1', socket.localPort ?? 0)], [partitionOf(0, 1)]),
  [OFFSETS]: () => {
    const partition = Buffer.concat([int32(0), int16(0), int64(-1n), int64(0n), int32(0), NONE])
    return Buffer.concat([int32(0), listOf([Buffer.concat([textOf('t'), listOf([partition]), NONE])]), NONE])
  },
  [PRODUCE]: () => produced(0, 0n),
  [FETCH]: (asked) => {
    const records = values.length === 0 ? NONE : bytesOf(batch(Buffer.concat(values.map((value) => record(value))), values.length))
    setTimeout(() => asked.socket.writable && asked.socket.write(answerTo(asked, fetch([fetched(records)]))), 200)
    return undefined
  },
})

/** Answers every request, honestly unless there is another reply to it. */
export function serve(socket: Socket, replies: Replies): void {
  let bytes: Buffer = NOTHING
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    while (bytes.length >= 14 && bytes.length >= 4 + bytes.readInt32BE(0)) {
      const size = 4 + bytes.readInt32BE(0)
      const asked = { key: bytes.readInt16BE(4), id: bytes.readInt32BE(8), rest: bytes.subarray(12, size), socket }
      bytes = bytes.subarray(size)
      const body = replies[asked.key]?.(asked)
      if (body && socket.writable) socket.write(answerTo(asked, body))
    }
  })
}
