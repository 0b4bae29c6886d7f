/** The kafka connector's brokers fall silent: each of those in its config is tried for seconds, unless it is told to stop. */
import type { Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ConnectorContext } from '../../shared/connectors/connector.ts'
import { openKafkaSink } from '../../shared/connectors/kafka/sink.ts'
import { openKafkaSource } from '../../shared/connectors/kafka/source.ts'
import { createSeenEntries } from '../../shared/connectors/seen-entries.ts'
import { openLiar, type Liar } from '../attack/servers/index.ts'
import { honestly, record, serve } from '../attack/servers/kafka-broker.ts'
import { eventually } from '../harness/client.ts'
import { rowsOf, valuesFrom } from '../harness/conformance.ts'
import { limitFromNow } from '../harness/machine-speed.ts'

const BROKERS = 20
let isSilent: boolean
let sockets: Socket[]
let liar: Liar
beforeEach(async () => {
  isSilent = false
  sockets = []
  const answer = (socket: Socket) => {
    sockets.push(socket)
    if (!isSilent) serve(socket, honestly([record(Buffer.from('{"n":0}'))]))
  }
  liar = await openLiar({ protocol: 'kafka', name: 'own', why: 'of a test', way: 'write', answer })
})
afterEach(() => liar.close())

const context = {
  defaults: { addresses: 'any' },
  runId: 'run',
  secret: () => 'pencil',
  now: () => Date.now(),
} as unknown as ConnectorContext
const config = () => ({
  brokers: Array<string>(BROKERS).fill(`127.0.0.1:${liar.port}`),
  topic: 't',
  // A broker that takes connections and says nothing is given up after three seconds, in the middle of the login.
  sasl: { mechanism: 'PLAIN' as const, username: 'u', password: { $secret: 'lie_password' } },
})

/** From now on connections are taken, and nothing is answered. Resolves once one was made. */
async function fallSilent(): Promise<void> {
  isSilent = true
  for (const socket of sockets.splice(0)) socket.destroy()
  await eventually('a silent broker is tried', async () => sockets.length > 0)
}

async function tookMs(work: Promise<unknown>): Promise<number> {
  const from = performance.now()
  await work
  return performance.now() - from
}

describe('a topic whose brokers fall silent', () => {
  it('holds no write that is to stop', async () => {
    const sink = await openKafkaSink(config(), context)
    const stop = new AbortController()
    const delivery = { runId: 'run', topicId: 'id', partition: 0, from: 0n, to: 9n, revision: 1, resetAt: 0, note: '', deadLettered: [] }
    const writing = expect(sink.write(delivery, rowsOf(sink.rows, valuesFrom(0, 9), 0), stop.signal)).rejects.toThrow()
    await fallSilent()
    const limit = limitFromNow(2000)
    stop.abort()
    expect(await tookMs(writing)).toBeLessThan(limit())
    await sink.close()
  })

  it('holds no read that is to stop, which ends without an error', async () => {
    const source = await openKafkaSource({ ...config(), start: 'earliest', framed: false }, context)
    const stop = new AbortController()
    const reads = source.read({ index: 0, count: 1 }, undefined, createSeenEntries(), stop.signal)[Symbol.asyncIterator]()
    expect((await reads.next()).value).toMatchObject({ block: { count: 1 } })
    const silent = fallSilent()
    // The lost connection is an error, after which the intake reads again.
    await expect(reads.next()).rejects.toThrow()
    const again = source.read({ index: 0, count: 1 }, undefined, createSeenEntries(), stop.signal)[Symbol.asyncIterator]()
    const reading = again.next()
    await silent
    const limit = limitFromNow(2000)
    stop.abort()
    expect(await tookMs(reading)).toBeLessThan(limit())
    expect(await reading).toMatchObject({ done: true })
    await source.close()
  })
})
