/** What the conformance suites share: a connector's context, rows as lanes hand them over, split reading, a second Kafka, silent peers. */
import { createServer as createTcpServer, connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import kafkajs from 'kafkajs'
import { openReaper } from '../../deploy/local/child.ts'
import { temporaryHomeAt } from '../../deploy/local/home.ts'
import { startKafka } from '../../deploy/local/kafka.ts'
import type { ConnectorContext } from '../../shared/connectors/connector.ts'
import { createRowBuffer, endRow, takeRows } from '../../shared/connectors/encode/row-buffer.ts'
import { createRowEncoder } from '../../shared/connectors/encode/row-encoder.ts'
import type { RecordBlock } from '../../shared/connectors/record-block.ts'
import { SPAN } from '../../shared/connectors/record-block.ts'
import type { RowFormat } from '../../shared/connectors/row-format.ts'
import type { Delivery, OpenSink, Rows } from '../../shared/connectors/sink.ts'
import type { OpenSource, SourceRead } from '../../shared/connectors/source.ts'
import { createSeenEntries } from '../../shared/connectors/seen-entries.ts'
import { remember } from '../../services/processor/intake/seen.ts'
import { service, unique } from './client.ts'
import { limitMs } from './machine-speed.ts'
import { makeTopics } from './topics.ts'

export const PLANTED = 'planted-secret-never-to-be-seen'

export function contextFor(change: Partial<ConnectorContext> = {}): ConnectorContext & { logged: string[] } {
  const { endpoint, access_key, secret_key } = service().bucket
  const logged: string[] = []
  return {
    defaults: {
      bucket: { endpoint, region: 'us-east-1', access_key, secret_key },
      warehouse_url: service().warehouseUrl,
      addresses: 'any',
      per_account: { warehouse: false, bucket: false },
      bucket_folders: [],
    },
    runId: unique('run').toLowerCase().replaceAll('-', '_'),
    origin: 'numbers',
    fields: { n: 'integer' },
    secret: () => PLANTED,
    learn: () => {},
    mask: (text) => text.replaceAll(PLANTED, '***'),
    log: (_level, message) => void logged.push(message),
    now: () => Date.now(),
    logged,
    ...change,
  }
}

const TIME_MS = Date.parse('2026-11-21T12:00:00Z')

/** Values as lanes hand them over: row `i` came from the record at `from + i`. */
export function rowsOf(format: RowFormat, values: readonly string[], from: number): Rows[] {
  const buffer = createRowBuffer()
  const encode = createRowEncoder(format)
  for (const [index, value] of values.entries()) {
    const key = `k${(from + index) % 5}`
    // Key, value, and a zero byte for no headers.
    const source = Buffer.concat([Buffer.from(key + value), Buffer.from([0])])
    const fault = encode(
      source,
      key.length,
      source.length - 1,
      buffer,
      0,
      key.length,
      source.length - 1,
      source.length,
      from + index,
      TIME_MS,
    )
    if (fault) throw new Error(`${fault.code}: ${value}`)
    endRow(buffer, from + index, TIME_MS + from + index)
  }
  return [takeRows(buffer)]
}

export const valuesFrom = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, index) => `{"n":${from + index}}`)

export function deliveryOf(context: ConnectorContext, from: number, to: number, partition = 0): Delivery {
  return {
    runId: context.runId,
    topicId: '5c5f2f4e-0000-4000-8000-000000000001',
    partition,
    from: BigInt(from),
    to: BigInt(to),
    revision: 1,
    resetAt: 0,
    note: `${to}`,
    deadLettered: [],
  }
}

export async function writeRange(sink: OpenSink, context: ConnectorContext, from: number, to: number) {
  return sink.write(deliveryOf(context, from, to), rowsOf(sink.rows, valuesFrom(from, to), from), new AbortController().signal)
}

export const blockValues = ({ bytes, spans, count }: RecordBlock): (string | null)[] =>
  Array.from({ length: count }, (_, i) =>
    spans[i * SPAN + 2]! < 0 ? null : bytes.toString('utf8', spans[i * SPAN + 2], spans[i * SPAN + 3]),
  )

export type SplitState = { position: string | undefined; seen: Map<string, string> }

/** Reads a split from `state` until `enough` returns true, or `outer` is aborted; each read is "committed" to `state`. */
export async function readSplit(
  source: OpenSource,
  split: { index: number; count: number },
  state: SplitState,
  enough: (values: (string | null)[], reads: number) => boolean,
  deadlineMs = limitMs(60_000),
  outer?: AbortSignal,
): Promise<(string | null)[]> {
  const stop = new AbortController()
  outer?.addEventListener('abort', () => stop.abort())
  const timer = setTimeout(() => stop.abort(), deadlineMs)
  const values: (string | null)[] = []
  let reads = 0
  const seen = createSeenEntries()
  for (const [key, value] of state.seen) seen.set(key, value)
  const take = (read: SourceRead) => {
    values.push(...blockValues(read.block))
    state.position = read.position
    remember(seen, read)
    for (const { key, value } of read.seen ?? []) {
      if (value === null) state.seen.delete(key)
      else state.seen.set(key, value)
    }
    for (const key of state.seen.keys())
      if (read.forgetBefore !== undefined && seen.isBefore(key, read.forgetBefore)) {
        seen.delete(key)
        state.seen.delete(key)
      }
    source.confirm?.(split.index, read.position)
  }
  try {
    for await (const read of source.read(split, state.position, seen, stop.signal)) {
      take(read)
      if (enough(values, ++reads)) stop.abort()
      if (stop.signal.aborted) break
    }
  } finally {
    clearTimeout(timer)
  }
  return values
}

/** A Kafka cluster beside the service's own. */
export async function openSecondKafka(): Promise<{ brokers: string[]; kafka: kafkajs.Kafka; folder: string; close(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'dps-second-'))
  const reaper = openReaper()
  reaper.watchFolder(folder)
  const { brokers, children } = await startKafka(temporaryHomeAt(folder, reaper))
  return {
    brokers,
    folder,
    kafka: new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING }),
    async close() {
      await Promise.all(children.map((child) => child.stop()))
      await rm(folder, { recursive: true, force: true })
      reaper.close()
    },
  }
}

export async function createTopic(kafka: kafkajs.Kafka, partitions: number, config: Record<string, string> = {}): Promise<string> {
  const topic = unique('conform')
  const admin = kafka.admin()
  await admin.connect()
  const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }))
  await makeTopics(admin, { topic, numPartitions: partitions, configEntries })
  await admin.disconnect()
  return topic
}

/** A way to a server that can fail as networks do. */
export type Silence = {
  port: number
  /** All connections stay open and carry nothing any more, not even their end: a silent peer does not answer a FIN. So do new ones. */
  freeze(): void
  /** All connections are cut, and new ones refused. */
  refuse(): Promise<void>
  /** New connections work; those that were frozen stay silent for good. */
  restore(): Promise<void>
  close(): void
}

/** Forwards to a port until told otherwise. */
export async function openSilence(targetPort: number): Promise<Silence> {
  let frozen = false
  const silenced = new Set<Socket>()
  const sockets = new Set<Socket>()
  const server = createTcpServer({ allowHalfOpen: true }, (client) => {
    const target = connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true })
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const) {
      sockets.add(from)
      if (frozen) silenced.add(from)
      from.on('data', (bytes) => void (silenced.has(from) || to.write(bytes)))
      from.on('end', () => void (silenced.has(from) || to.end()))
      from.on('error', () => {})
      from.on('close', () => void (silenced.has(from) || to.destroy()))
    }
  })
  const listen = async (at: number) => {
    server.listen(at, '127.0.0.1')
    await once(server, 'listening')
  }
  await listen(0)
  const { port } = server.address() as { port: number }
  const cut = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
    sockets.clear()
  }
  return {
    port,
    freeze() {
      frozen = true
      for (const socket of sockets) silenced.add(socket)
    },
    async refuse() {
      cut()
      await once(server, 'close')
    },
    async restore() {
      frozen = false
      if (!server.listening) await listen(port)
    },
    close: cut,
  }
}
