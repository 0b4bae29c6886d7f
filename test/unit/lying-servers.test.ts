/** What servers of accounts answer is not what was asked: nothing of it may pass for a delivery, or fill the memory. */
import { expect, it } from 'vitest'
import type { ConnectorContext } from '../../shared/connectors/connector.ts'
import { openKafkaSink } from '../../shared/connectors/kafka/sink.ts'
import { createDecoder } from '../../shared/connectors/table/pgoutput.ts'
import { LIES, openLiar } from '../attack/servers/index.ts'
import { rowsOf, valuesFrom } from '../harness/conformance.ts'

it('a broker that acknowledges another partition than was written to has delivered nothing', async () => {
  const liar = await openLiar(LIES.find(({ name }) => name === 'written-elsewhere')!)
  const context = { defaults: { addresses: 'any' }, runId: 'run', now: () => Date.now() } as unknown as ConnectorContext
  const sink = await openKafkaSink({ brokers: [`127.0.0.1:${liar.port}`], topic: 't' }, context)
  const delivery = { runId: 'run', topicId: 'id', partition: 0, from: 0n, to: 9n, revision: 1, resetAt: 0, note: '', deadLettered: [] }
  const outcome = await sink.write(delivery, rowsOf(sink.rows, valuesFrom(0, 9), 0), new AbortController().signal).catch(() => 'thrown')
  expect(outcome).not.toMatchObject({ kind: 'delivered' })
  await sink.close()
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
