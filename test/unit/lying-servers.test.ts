/** What servers of accounts answer is not what was asked: nothing of it may pass for a delivery, or fill the memory. */
import { createServer, type AddressInfo, type Socket } from 'node:net'
import { inspect } from 'node:util'
import { expect, it } from 'vitest'
import type { ConnectorContext } from '../../shared/connectors/connector.ts'
import { openKafkaSink } from '../../shared/connectors/kafka/sink.ts'
import { openKafkaSource } from '../../shared/connectors/kafka/source.ts'
import { RedisSinkConfig } from '../../shared/connectors/redis/connector.ts'
import { openRedisSink } from '../../shared/connectors/redis/sink.ts'
import { openRedisSource } from '../../shared/connectors/redis/source.ts'
import type { OpenSink } from '../../shared/connectors/sink.ts'
import type { OpenSource } from '../../shared/connectors/source.ts'
import { openS3Store } from '../../shared/connectors/storage-bucket/s3-store.ts'
import { TableSinkConfig } from '../../shared/connectors/table/connector.ts'
import { openTableSink } from '../../shared/connectors/table/sink.ts'
import { createDecoder } from '../../shared/connectors/table/pgoutput.ts'
import { createSeenEntries } from '../../shared/connectors/seen-entries.ts'
import { KAFKA_ERRORS } from '../../shared/kafka/wire/error-codes.ts'
import { LIES, openLiar } from '../attack/servers/index.ts'
import type { SocketLie } from '../attack/servers/lie.ts'
import { FETCH, NONE, fetch, fetched, honestly, serve } from '../attack/servers/kafka-broker.ts'
import { rowsOf, valuesFrom } from '../harness/conformance.ts'

const context = {
  defaults: { addresses: 'any' },
  runId: 'run',
  now: () => Date.now(),
  secret: () => 'password',
  mask: (text: string) => text,
  log: () => {},
} as unknown as ConnectorContext

const lieOf = (of: string, wanted: string) => LIES.find(({ protocol, name }) => protocol === of && name === wanted)!
const lieOfKafka = (wanted: string) => lieOf('kafka', wanted)

const RANGE = { runId: 'run', topicId: 'id', partition: 0, from: 0n, to: 9n, revision: 1, resetAt: 0, note: '', deadLettered: [] }
/** What becomes of nine rows; an error that is thrown as text. */
const writeTo = (sink: OpenSink): Promise<unknown> =>
  sink.write(RANGE, rowsOf(sink.rows, valuesFrom(0, 9), 0), new AbortController().signal).catch(String)

it('a broker that acknowledges another partition than was written to has delivered nothing', async () => {
  const liar = await openLiar(lieOfKafka('written-elsewhere'))
  const sink = await openKafkaSink({ brokers: [`127.0.0.1:${liar.port}`], topic: 't' }, context)
  expect(await writeTo(sink)).not.toMatchObject({ kind: 'delivered' })
  await sink.close()
  await liar.close()
})

it('a database that is ready before it was given the rows ends the write, not the process', async () => {
  const liar = await openLiar(lieOf('postgres', 'copy-ready-at-once'))
  const connection = `postgres://lie:pencil@127.0.0.1:${liar.port}/lie`
  const own = { ...context, secret: () => connection } as unknown as ConnectorContext
  const sink = await openTableSink(TableSinkConfig.parse({ table: 't', unknown_members: 'ignore', connection: { $secret: 'c' } }), own)
  expect(await writeTo(sink)).toMatchObject({ reason: expect.stringContaining('the server ended the COPY before it had the rows') })
  await sink.close()
  await liar.close()
})

it('a Redis whose position stays is not asked without end', async () => {
  const liar = await openLiar(lieOf('redis', 'position-that-stays'))
  const sink = await openRedisSink(RedisSinkConfig.parse({ url: `redis://127.0.0.1:${liar.port}`, stream: 's' }), context)
  expect(await writeTo(sink)).toEqual({ kind: 'retry', afterMs: 0, reason: expect.stringContaining('the position in Redis stayed at 0') })
  await sink.close()
  await liar.close()
})

it('a broker that asks for more iterations of SCRAM than any real one is refused before a thread is kept by them', async () => {
  const liar = await openLiar(lieOfKafka('scram-iterations-max'))
  const sasl = { mechanism: 'SCRAM-SHA-256', username: 'u', password: { $secret: 'p' } } as const
  const opened = openKafkaSink({ brokers: [`127.0.0.1:${liar.port}`], topic: 't', sasl }, context)
  const causes = await opened.then(
    () => 'opened',
    (error: unknown) => inspect(error, { depth: 10 }),
  )
  expect(causes).toContain('2147483647 iterations of SCRAM')
  await liar.close()
})

it.each([
  ['tells of a partition beyond those that it has', 'partition-number-max', 'that t has 1 partitions, and a partition 2147483647'],
  ['leads back in its list of brokers', 'brokers-that-go-back', 'a negative length'],
  ['leads back in tagged fields', 'tags-that-go-back', 'a negative length'],
  ['leads back in a list of aborted transactions', 'aborted-that-go-back', 'a negative length'],
])('a broker that %s is refused at once', async (_, name, reason) => {
  const liar = await openLiar(lieOfKafka(name))
  const source = await openKafkaSource({ brokers: [`127.0.0.1:${liar.port}`], topic: 't', start: 'earliest', framed: false }, context)
  const read = source.read({ index: 0, count: 1 }, undefined, createSeenEntries(), new AbortController().signal)
  const failed = await read[Symbol.asyncIterator]()
    .next()
    .catch((error: unknown) => error)
  expect(inspect(failed, { depth: 10 })).toContain(reason)
  await source.close()
  await liar.close()
})

it.each([
  ['leads nothing', () => fetch([fetched(NONE, 0, NONE, KAFKA_ERRORS.notLeaderOrFollower)])],
  ['answers nothing at once', () => fetch([])],
  ['answers at once that there is nothing', () => fetch([fetched(NONE)])],
])('a broker that %s is asked again a few times a second, not in a loop', async (_, answer) => {
  let fetches = 0
  const server = createServer((socket) => serve(socket, { ...honestly(), [FETCH]: () => (fetches++, answer()) }))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const source = await openKafkaSource({ brokers: [`127.0.0.1:${port}`], topic: 't', start: 'earliest', framed: false }, context)
  expect(await perSecond(source, () => fetches)).toBeLessThan(10)
  server.close()
})

it('a Redis that answers nothing at once is asked again a few times a second, not in a loop', async () => {
  const lie = lieOf('redis', 'read-of-nothing-at-once') as SocketLie
  let reads = 0
  const answer = (socket: Socket) => {
    socket.on('data', (asked: Buffer) => {
      if (/xread/i.test(asked.toString('latin1'))) reads++
    })
    lie.answer(socket)
  }
  const liar = await openLiar({ ...lie, protocol: 'redis', answer })
  const source = await openRedisSource({ url: `redis://127.0.0.1:${liar.port}`, stream: 's', start: 'earliest' }, context)
  expect(await perSecond(source, () => reads)).toBeLessThan(10)
  await liar.close()
})

/** How often a second a source asks that finds no records; it is read for two seconds, and closed. */
async function perSecond(source: OpenSource, asked: () => number): Promise<number> {
  const ending = new AbortController()
  const from = performance.now()
  const seconds = () => (performance.now() - from) / 1000
  const look = setInterval(() => seconds() > 2 && asked() > 1 && ending.abort(), 50)
  let records = 0
  for await (const { block } of source.read({ index: 0, count: 1 }, undefined, createSeenEntries(), ending.signal))
    records += block?.count ?? 0
  clearInterval(look)
  await source.close()
  expect([records, asked() > 1]).toEqual([0, true])
  return asked() / seconds()
}

it.each(['write-answered-without-end', 'error-without-end', 'listing-without-end'])('a store’s answer is ended: %s', async (name) => {
  const liar = await openLiar(lieOf('s3', name))
  const keys = { accessKey: 'a', secretKey: 's', region: 'r', guard: undefined }
  const store = openS3Store({ bucket: 'bucket', endpoint: `http://127.0.0.1:${liar.port}`, ...keys })
  const { signal } = new AbortController()
  const asked = name.startsWith('write')
    ? store.putNew('k', Buffer.from('x'), {}, signal)
    : store.list('', signal)[Symbol.asyncIterator]().next()
  await expect(asked).rejects.toThrow('more than 16 MiB')
  store.close()
  await liar.close()
})

const int16 = (value: number) => Buffer.from([value >> 8, value & 255])
const int32 = (value: number) => Buffer.from([value >>> 24, value >>> 16, value >>> 8, value])
const RELATION = Buffer.concat([Buffer.from('R'), int32(1), Buffer.from('s\0t\0d'), int16(1), Buffer.from('\x01a\0'), int32(23), int32(-1)])

it.each([
  ['leads back', int32(-12)],
  ['is longer than the message', int32(1 << 30)],
])('a value of a table’s log whose length %s is refused', (_what, length) => {
  const decode = createDecoder()
  decode(RELATION)
  const insert = Buffer.concat([Buffer.from('I'), int32(1), Buffer.from('N'), int16(1), Buffer.from('t'), length, Buffer.from('1')])
  expect(() => decode(insert)).toThrow('bytes long in a message of the log')
})

it('a name in a table’s log that does not end is refused', () => {
  expect(() => createDecoder()(Buffer.concat([Buffer.from('R'), int32(1), Buffer.from('names')]))).toThrow('a name does not end')
})
