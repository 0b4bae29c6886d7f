/**
 * Reads a table by logical replication: first the existing rows in key order, then every change since the slot was created. A record's key
 * is the row's primary key, its value the row; a deleted row is a record without a value. Changes made while the rows were being read come
 * after them, so that the last record of a key is always its newest.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { LogicalReplicationService } from 'pg-logical-replication'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import { nextCount } from '../next-count.ts'
import { createBlockBuilder } from '../record-block.ts'
import { SNAPSHOT_HEADERS } from './change-headers.ts'
import { BLOCK_BYTES, createChangeCollector, keyJson, Position } from './collect-changes.ts'
import type { OpenSource, SourceRead } from '../source.ts'
import { rowToJson, SESSION_OPTIONS } from './column-json.ts'
import { quoted } from './columns.ts'
import type { TableSourceConfig } from './connector.ts'
import { createDecoder, lsnText, parseLsn } from './pgoutput.ts'
import { clientConfigOf, SOURCE_LIMITS, socketOf, withDatabase } from './connection.ts'
import { assertPublished, assertSlot, createSlot, dropOtherSlots, findSlot, publicationOf, type WithClient } from './replication-slot.ts'
import { findRow, readLoggedColumns, readTextRows, ROWS, ROWS_FIRST, type LoggedShape, type TableShape } from './table-shape.ts'

/** Most bytes of changes that wait to be yielded; beyond it the stream is paused. */
const WAITING_BYTES_MAX = 4 << 20
const GATHER_MS = 10
/** The server ends a connection that is silent for a minute (wal_sender_timeout). */
const STATUS_MS = 5000
const GOODBYE_MS = 2000
/** How often the table is looked at. */
const LOOK_MS = 15_000

/** What the library requires of a plug-in. It keeps the connection, whose socket is needed here. */
type ChangePlugin = {
  options: object
  name: string
  parse(message: Buffer): void
  start(client: pg.Client, slot: string, from: string): Promise<unknown>
  client?: pg.Client
}

function createPlugin(publication: string, onMessage: (message: Buffer) => void): ChangePlugin {
  const plugin: ChangePlugin = {
    options: {},
    name: 'pgoutput',
    parse: onMessage,
    start(client, slot, from) {
      plugin.client = client
      return client.query(`START_REPLICATION SLOT ${quoted(slot)} LOGICAL ${from} (proto_version '1', publication_names '${publication}')`)
    },
  }
  return plugin
}

/** Reads the existing rows in key order. */
async function* readRows(
  withClient: WithClient,
  table: string,
  from: Position,
  shape: TableShape,
  signal: AbortSignal,
): AsyncGenerator<SourceRead> {
  let behind = from.k ?? []
  const builder = createBlockBuilder(BLOCK_BYTES)
  let asked = ROWS_FIRST
  while (!signal.aborted) {
    const rows = await withClient((client) => readTextRows(client, table, shape, shape.key, behind, asked))
    for (const row of rows)
      builder.add(Buffer.from(keyJson(shape.columns, row, shape.key)), Buffer.from(rowToJson(shape.columns, row)), SNAPSHOT_HEADERS)
    const last = rows.at(-1)
    if (last) behind = shape.key.map((name) => last[shape.columns.findIndex((column) => column.name === name)]!)
    const isDone = rows.length < asked
    asked = nextCount(asked, { count: rows.length, bytes: builder.bytes }, ROWS)
    yield { block: builder.take(), position: JSON.stringify({ ...from, k: isDone ? null : behind, n: 0 }) }
    if (isDone) return
  }
}

/** Works with a connection of its own until the signal aborts. */
const withClientOf =
  (server: ReturnType<typeof clientConfigOf>) =>
  (signal?: AbortSignal): WithClient =>
  (work) =>
    withDatabase({ ...server, options: SESSION_OPTIONS, ...SOURCE_LIMITS }, work, signal)

async function endService(service: LogicalReplicationService, plugin: ReturnType<typeof createPlugin>): Promise<void> {
  // A silent server would never end the connection.
  await Promise.race([service.destroy().catch(() => {}), sleep(GOODBYE_MS)])
  socketOf(plugin.client)?.destroy()
  // The library has removed its listeners; a late error must not end the process.
  plugin.client?.on('error', () => {})
}

/** Opens the source that reads the rows and then follows the log; split 0 reads it. */
export async function openReplication(config: TableSourceConfig, context: ConnectorContext): Promise<OpenSource> {
  const server = clientConfigOf(config, context)
  const publication = publicationOf(context.runId)
  const { table } = config
  const slotOf = ({ s }: Position): string => s ?? publication
  /** LSN that the server may forget up to; the intake confirms positions once their records are committed. */
  let confirmed: bigint | undefined
  /** The slot that the committed position names. */
  let committed: string | undefined
  /** The slot of the first start: it is tried again until a position is committed, and each try must not leave a slot behind. */
  let made: Awaited<ReturnType<typeof createSlot>> | undefined

  const withClientUntil = withClientOf(server)

  async function* follow(from: Position, { key, named }: LoggedShape, signal: AbortSignal): AsyncGenerator<SourceRead> {
    const withClient = withClientUntil(signal)
    const slot = slotOf(from)
    await assertSlot(withClient, slot)
    await assertPublished(withClient, publication, table)
    let failure: unknown
    let wake: (() => void) | undefined
    const fail = (error: unknown): void => {
      failure ??= error
      wake?.()
    }
    // Reading starts only at committed positions.
    confirmed = later(confirmed, parseLsn(from.l))
    const decode = createDecoder()
    const changes = createChangeCollector(named, key, from, (columns, values) =>
      withClient((client) => findRow(client, table, columns, key, values)),
    )
    const plugin = createPlugin(publication, (message) => {
      if (failure !== undefined) return
      try {
        const change = decode(message)
        if (change) changes.apply(change)
      } catch (error) {
        failure = error
      }
      if (changes.bytes() > WAITING_BYTES_MAX || changes.isLacking()) socketOf(plugin.client)?.pause()
      wake?.()
    })
    const service = new LogicalReplicationService(
      { ...server, options: SESSION_OPTIONS, connectionTimeoutMillis: 5000, keepAlive: true },
      // The library's own timer would confirm what was received, not what is committed.
      { acknowledge: { auto: false, timeoutSeconds: 0 } },
    )
    service.on('error', fail)
    service.on('heartbeat', (lsn: string) => {
      // If nothing is pending, the log of other tables' changes may be forgotten too.
      if (changes.isEmpty() && (confirmed ?? 0n) >= parseLsn(changes.position().l)) confirmed = later(confirmed, parseLsn(lsn))
    })
    const status = setInterval(() => {
      // The library adds one to the LSN it is given, but `confirmed` already is the first byte that is not safe.
      if (confirmed !== undefined) void service.acknowledge(lsnText(confirmed - 1n)).catch(() => {})
    }, STATUS_MS)
    // A table that was dropped has no changes that would tell.
    const look = setInterval(() => {
      void assertPublished(withClient, publication, table).catch((error: unknown) => {
        if (error instanceof ConfigRefused) fail(error)
      })
    }, LOOK_MS)
    const running = service.subscribe(plugin, slot, from.l).then(() => fail(new Error('the replication ended')), fail)
    const onAbort = () => wake?.()
    signal.addEventListener('abort', onAbort)
    try {
      while (!signal.aborted) {
        while (!changes.isNew() && failure === undefined && !signal.aborted) await new Promise<void>((resolve) => (wake = resolve))
        if (changes.bytes() < BLOCK_BYTES && failure === undefined) await sleep(GATHER_MS)
        await changes.complete()
        if (changes.isNew()) {
          yield changes.take()
          socketOf(plugin.client)?.resume()
        }
        if (failure !== undefined) throw failure
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
      clearInterval(status)
      clearInterval(look)
      await endService(service, plugin)
      void running
    }
  }

  return {
    async *read(split, position, _seen, signal) {
      // One slot has one order, so only the owner of the first split reads it.
      if (split.index !== 0) return
      const withClient = withClientUntil(signal)
      const shape = await withClient((client) => readLoggedColumns(client, table))
      if (shape.refusal !== undefined) throw new ConfigRefused(`the table ${table} ${shape.refusal}`)
      let at = position === undefined ? undefined : Position.parse(JSON.parse(position))
      committed = at && slotOf(at)
      const sweep = setInterval(() => {
        if (committed !== undefined) void dropOtherSlots(withClient, publication, committed).catch(() => {})
      }, LOOK_MS)
      try {
        if (!at) {
          if (made && !(await findSlot(withClient, made.slot))) made = undefined
          // To its end, also when reading stops meanwhile: a slot whose name is not known could not be used again.
          const { slot, lsn } = (made ??= await createSlot(withClientUntil(), publication, table))
          at = { s: slot, l: lsn, k: [], n: 0 }
          yield { block: createBlockBuilder(0).take(), position: JSON.stringify(at) }
        }
        if (at.k) for await (const read of readRows(withClient, table, at, shape, signal)) yield read
        if (!signal.aborted) yield* follow({ ...at, k: null }, shape, signal)
      } finally {
        clearInterval(sweep)
      }
    },
    confirm(_split, position) {
      const at = Position.parse(JSON.parse(position))
      committed = slotOf(at)
      if (!at.k) confirmed = later(confirmed, parseLsn(at.l))
    },
    close: async () => {},
  }
}

const later = (a: bigint | undefined, b: bigint): bigint => (a !== undefined && a > b ? a : b)
