/** A Kafka broker that lies: in its sizes, its login, its metadata, and the records it holds. */
import type { Socket } from 'node:net'
import { zstdCompressSync } from 'node:zlib'
import { once, sendForever, type SocketLie } from './lie.ts'
import { answerTo, batch, brokerAt, bytesOf, fetch, fetched, honestly, metadata, partitionOf, record, serve } from './kafka-broker.ts'
import {
  AUTHENTICATE,
  FETCH,
  HANDSHAKE,
  int16,
  int32,
  int64,
  METADATA,
  NONE,
  NOTHING,
  PRODUCE,
  produced,
  producedTopics,
  textOf,
  varint,
  VERSIONS,
  zigzag,
} from './kafka-broker.ts'
import type { Asked, Replies, Reply } from './kafka-broker.ts'

const REPLIES = honestly()
const lying = (replies: Replies) => (socket: Socket) => serve(socket, { ...REPLIES, ...replies })
/** Sends bytes of its own in place of an answer. */
const instead =
  (send: (asked: Asked) => void): Reply =>
  (asked) =>
    void send(asked)

const sasl = (mechanism: string) => () => ({ sasl: { mechanism, username: 'u', password: { $secret: 'lie_password' } } })
const PLAIN = sasl('PLAIN')
const SCRAM = sasl('SCRAM-SHA-256')
/** What the broker answers to a step of the login; the session lasts for so many milliseconds. */
const step = (text: string, sessionMs = 0n): Buffer => Buffer.concat([int16(0), NONE, bytesOf(Buffer.from(text)), int64(sessionMs), NONE])
const nonceIn = ({ rest }: Asked): string => /r=([A-Za-z0-9_-]+)/.exec(rest.toString('latin1'))?.[1] ?? ''

const MOST = 0x7fffffff
/** Numbers of Kafka's errors. */
const [LEADERLESS, NOT_LEADER, FORBIDDEN, UNSAVED] = [5, 6, 29, 56]
/** Tagged fields, one of which claims a negative size: the reader goes back to the beginning of what they belong to. */
const tagsBackOver = (item: Buffer): Buffer => Buffer.concat([item, varint(1), NONE, varint(-(item.length + 7))])
const BACKWARD_BROKER = tagsBackOver(Buffer.concat([int32(1), textOf('h'), int32(1), NONE]))
const BACKWARD_ABORTED = tagsBackOver(Buffer.alloc(16))
/** A list that claims two billion items and has one, from which the reader goes back to itself. */
const endless = (item: Buffer): Buffer => Buffer.concat([varint(MOST), item])

const INFLATED = 127 << 20
const zstd = (section: Buffer, count: number): Buffer => bytesOf(batch(zstdCompressSync(section), count, 4))
/** One record of 127 MiB of zeros. */
const zeros = once(() => zstdCompressSync(record(Buffer.alloc(INFLATED))))
/** 19 million records without key or value. */
const nothings = once(() => zstd(Buffer.alloc(INFLATED, record(NOTHING).fill(1, 5, 6)), Math.floor(INFLATED / 7)))
/** One record with 30 million empty headers. */
const headers = once(() => zstd(record(NOTHING, Buffer.concat([zigzag(30_000_000), Buffer.alloc(60_000_000, Buffer.from([0, 1]))])), 1))

const self = ({ socket }: Asked, id = 1): Buffer => brokerAt(id, '127.0.0.1', socket.localPort ?? 0)
let unasked = 1
/** Twenty thousand partitions that were not asked for, others each time. */
const strangers = (): Buffer[] => Array.from({ length: 20_000 }, () => fetched(bytesOf(batch(record(NOTHING), 1)), unasked++))
const JUNK = Buffer.alloc(64 << 10, 'x')

const WIRE: readonly SocketLie[] = [
  {
    name: 'size-max',
    way: 'check source',
    why: 'an answer of 2^31-1 bytes, and as many as are taken',
    answer: lying({ [METADATA]: instead(({ socket }) => (socket.write(int32(MOST)), sendForever(socket, JUNK))) }),
  },
  {
    name: 'size-negative',
    way: 'check source',
    why: 'an answer of -100 bytes: the library consumes as many',
    answer: lying({ [METADATA]: instead(({ socket, id }) => socket.write(Buffer.concat([int32(-100), int32(id), NONE, NONE]))) }),
  },
  {
    name: 'size-zero',
    way: 'check source',
    why: 'answers of 0 bytes',
    answer: lying({ [METADATA]: instead(({ socket, id }) => socket.write(Buffer.concat([int32(0), int32(id), Buffer.alloc(99)]))) }),
  },
  {
    name: 'answer-to-nothing',
    way: 'check source',
    why: 'the answer to another request',
    answer: lying({ [METADATA]: instead(({ socket, key, id }) => socket.write(answerTo({ key, id: id + 9 }, JUNK))) }),
  },
  {
    name: 'reset-in-an-answer',
    way: 'check source',
    why: 'a reset in the middle of the metadata',
    answer: lying({ [METADATA]: instead(({ socket }) => void socket.write(int32(500), () => socket.resetAndDestroy())) }),
  },
  { name: 'silence', way: 'check source', why: 'takes requests and says nothing', answer: () => {} },
]

const LOGIN: readonly SocketLie[] = [
  {
    name: 'versions-of-garbage',
    way: 'check source',
    why: 'ApiVersions with a list of 2^31-1 entries, and noise',
    config: PLAIN,
    answer: lying({ [VERSIONS]: () => Buffer.concat([int16(0), int32(MOST), JUNK]) }),
  },
  {
    name: 'handshake-of-garbage',
    way: 'check source',
    why: 'mechanisms of negative length',
    config: PLAIN,
    answer: lying({ [HANDSHAKE]: () => Buffer.concat([int16(0), int32(MOST), int16(-9), int16(-9)]) }),
  },
  { name: 'scram-first-x', way: 'check source', why: 'no parameters', config: SCRAM, answer: lying({ [AUTHENTICATE]: () => step('x') }) },
  {
    name: 'scram-without-nonce',
    way: 'check source',
    why: 'parameters without r',
    config: SCRAM,
    answer: lying({ [AUTHENTICATE]: () => step('s=c2FsdA==,i=4096') }),
  },
  {
    name: 'scram-iterations-max',
    way: 'check source',
    why: 'SCRAM with 2^31-1 iterations, from brokers one after another: each login is given up after 3 s, but keeps a thread of the pool',
    config: (port) => ({ ...SCRAM(), brokers: Array.from({ length: 20 }, () => `127.0.0.1:${port}`) }),
    answer: lying({ [AUTHENTICATE]: (asked) => step(`r=${nonceIn(asked)}x,s=c2FsdA==,i=2147483647`) }),
  },
  {
    name: 'scram-iterations-beyond',
    way: 'check source',
    why: 'more iterations than the key derivation takes',
    config: SCRAM,
    answer: lying({ [AUTHENTICATE]: (asked) => step(`r=${nonceIn(asked)}x,s=c2FsdA==,i=99999999999`) }),
  },
  {
    name: 'sasl-refused-then-reset',
    way: 'check source',
    why: 'a refused login and a reset',
    config: PLAIN,
    answer: lying({
      [AUTHENTICATE]: instead((asked) => {
        const refused = answerTo(asked, Buffer.concat([int16(58), textOf('no'), bytesOf(NOTHING), int64(0n), NONE]))
        asked.socket.write(refused, () => asked.socket.resetAndDestroy())
      }),
    }),
  },
  {
    name: 'session-too-long',
    way: 'read',
    why: 'a session of 2^62 ms, more than a timer takes: the client logs in again after 1 ms, for ever',
    config: PLAIN,
    answer: lying({ [AUTHENTICATE]: () => step('', 1n << 62n) }),
  },
]

const LAYOUT: readonly SocketLie[] = [
  {
    name: 'brokers-that-go-back',
    way: 'check source',
    why: 'a broker whose tagged fields lead back to itself: a list of two billion from 70 bytes',
    answer: lying({ [METADATA]: () => Buffer.concat([int32(0), endless(BACKWARD_BROKER)]) }),
  },
  {
    name: 'tags-that-go-back',
    way: 'check source',
    why: 'two billion tagged fields, each of which leads back to itself',
    answer: lying({
      [METADATA]: () => Buffer.concat([int32(0), varint(2), int32(1), NONE, int32(1), NONE, varint(MOST), NONE, varint(-6)]),
    }),
  },
  {
    name: 'leader-elsewhere',
    way: 'read',
    why: 'a leader whose address never answers',
    answer: lying({ [METADATA]: () => metadata([brokerAt(1, '192.0.2.1', 9092)], [partitionOf(0, 1)]) }),
  },
  {
    name: 'ten-thousand-brokers',
    way: 'read',
    why: 'ten thousand brokers, all of them this one, and none the leader',
    answer: lying({
      [METADATA]: (asked) =>
        metadata(
          Array.from({ length: 10_000 }, (_, id) => self(asked, id)),
          [partitionOf(0, -1)],
        ),
    }),
  },
  {
    name: 'partitions-negative',
    way: 'check source',
    why: 'partitions -1 and -2147483648',
    answer: lying({ [METADATA]: (asked) => metadata([self(asked)], [partitionOf(-1, 1), partitionOf(-2147483648, 1)]) }),
  },
  {
    name: 'partition-number-max',
    way: 'check source',
    why: 'partition 2^31-1: a list by partition would have two billion places',
    answer: lying({ [METADATA]: (asked) => metadata([self(asked)], [partitionOf(MOST, 1)]) }),
  },
  {
    name: 'errors-everywhere',
    way: 'check source',
    why: 'a topic and a partition with errors that no list names',
    answer: lying({ [METADATA]: (asked) => metadata([self(asked)], [partitionOf(0, 1, -31_000)], 31_000) }),
  },
  {
    name: 'errors-of-known-numbers',
    way: 'read',
    why: 'a topic and a partition with errors, and a leader that says for ever that it is none: it is looked for again at once',
    answer: lying({
      [METADATA]: (asked) => metadata([self(asked)], [partitionOf(0, 1, LEADERLESS)], FORBIDDEN),
      [FETCH]: () => fetch([fetched(NONE, 0, NONE, NOT_LEADER)]),
    }),
  },
]

/** Lies about what a fetch finds: the records of its one partition. */
const found = (name: string, why: string, records: () => Buffer): SocketLie => ({
  name,
  why,
  way: 'read',
  answer: lying({ [FETCH]: () => fetch([fetched(records())]) }),
})

const RECORDS: readonly SocketLie[] = [
  found('batch-of-noise', 'records that are noise', () => bytesOf(batch(JUNK, 10))),
  found('batch-of-no-codec', 'a codec that does not exist', () => bytesOf(batch(JUNK, 10, 7))),
  found('batch-size-max', 'a batch of 2^31-1 bytes', () => bytesOf(batch(JUNK, 10, 0, MOST))),
  found('batch-size-negative', 'a batch of -1 bytes', () => bytesOf(batch(JUNK, 10, 0, -1))),
  found('record-count-max', '2^31-1 records where there is one', () => bytesOf(batch(record(NOTHING), MOST))),
  found('snappy-of-nothing', 'a snappy block that claims 100 MB', () => bytesOf(batch(varint(100_000_000), 1, 2))),
  found('length-max', '2^31-1 bytes of records where there are none', () => varint(MOST)),
  found('zstd-of-zeros', 'twelve batches of 12 KB that inflate to 127 MiB each', () =>
    bytesOf(Buffer.concat(Array.from({ length: 12 }, () => batch(zeros(), 1, 4)))),
  ),
  found('zstd-of-nothings', 'a batch of 12 KB that has 19 million records', nothings),
  found('zstd-of-headers', 'a record with 30 million headers', headers),
  {
    name: 'aborted-that-go-back',
    way: 'read',
    why: 'an aborted transaction whose tagged fields lead back to itself',
    answer: lying({ [FETCH]: () => fetch([fetched(NONE, 0, endless(BACKWARD_ABORTED))]) }),
  },
  {
    name: 'partitions-not-asked-for',
    way: 'read',
    why: 'twenty thousand new partitions with each fetch: they all go into the position',
    answer: lying({ [FETCH]: () => fetch(strangers()) }),
  },
  {
    name: 'fetch-size-max',
    way: 'read',
    why: 'a fetch that never ends',
    answer: lying({ [FETCH]: instead(({ socket }) => (socket.write(int32(MOST)), sendForever(socket, JUNK))) }),
  },
]

const toWriter = (name: string, why: string, answer: Reply): SocketLie => ({
  name,
  why,
  way: 'write',
  answer: lying({ [PRODUCE]: answer }),
})
const WRITES: readonly SocketLie[] = [
  toWriter('written-elsewhere', 'an acknowledgement for another partition, at an offset of nonsense', () => produced(MOST, -(1n << 62n))),
  toWriter('written-to-another-topic', 'an acknowledgement for a topic that nothing was written to', () => {
    const answer = produced(0, 0n)
    answer[answer.indexOf('t')] = 'u'.charCodeAt(0)
    return answer
  }),
  toWriter('written-nowhere', 'an acknowledgement for no topic at all', () => producedTopics()),
  toWriter('acknowledgement-cut', 'an acknowledgement that ends before its error code, in a message of the right size', () =>
    produced(0, 0n).subarray(0, 8),
  ),
  toWriter(
    'acknowledgement-of-another',
    'an acknowledgement for a request that was not sent',
    instead((asked) => asked.socket.write(answerTo({ key: asked.key, id: asked.id + 9 }, produced(0, 0n)))),
  ),
  toWriter('never-saved', 'the same error for ever, with a text of a megabyte', () =>
    produced(0, 0n, UNSAVED, textOf('x'.repeat(1 << 20))),
  ),
  toWriter('refused-that-go-back', 'two billion refused records, each of which leads back to itself', () =>
    produced(0, 0n, 87, NONE, endless(tagsBackOver(Buffer.concat([int32(0), NONE])))),
  ),
]

/** Takes what is written. */
export const HONEST: SocketLie = { name: 'honest', why: 'no lie', way: 'write', answer: lying({}) }
export const LIES: readonly SocketLie[] = [...WIRE, ...LOGIN, ...LAYOUT, ...RECORDS, ...WRITES]
