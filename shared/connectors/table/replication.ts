/**
 * Reads a table by logical replication: first the existing rows in key order, then every change since the slot was created. A record's key
 * is the row's primary key, its value the row; a deleted row is a record without a value. Changes made while the rows were being read come
 * after them, so that the last record of a key is always its newest.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { LogicalReplicationService } from 'pg-logical-replication'
import { z } from 'zod'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import { createBlockBuilder, type BlockBuilder } from '../record-block.ts'
import { createChangeHeaders, SNAPSHOT_HEADERS, type ChangeHeaders } from './change-headers.ts'
import type { OpenSource, SourceRead } from '../source.ts'
import { rowToJson, SESSION_OPTIONS, type SourceColumn } from './column-json.ts'
import { quoted, quotedTable } from './columns.ts'
import type { TableSourceConfig } from './connector.ts'
import { createDecoder, lsnText, parseLsn, type Change, type Relation, type Tuple } from './pgoutput.ts'
import { clientConfigOf, withDatabase } from './connection.ts'
import { readColumns, readTextRows, type TableShape } from './table-shape.ts'

/**
 * `l`: LSN from which the slot is read. `k`: key after which the existing rows are still to be read. `n`: changes of the current
 * transaction already read.
 */
const Position = z.object({ l: z.string(), k: z.array(z.string()).nullable().optional(), n: z.number().default(0) })
type Position = z.infer<typeof Position>

const SNAPSHOT_ROWS = 5000
const BLOCK_BYTES = 1 << 20
/** Most bytes of changes that wait to be yielded; beyond it the stream is paused. */
const WAITING_BYTES_MAX = 4 << 20
const GATHER_MS = 10
/** The server ends a connection that is silent for a minute (wal_sender_timeout). */
const STATUS_MS = 5000
const GOODBYE_MS = 2000

/** Name of a pipeline's slot and publication. */
export const slotOf = (runId: string): string => `dps_${runId.toLowerCase().replaceAll(/[^a-z0-9_]/g, '_')}`.slice(0, 63)

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

export async function openReplication(config: TableSourceConfig, context: ConnectorContext): Promise<OpenSource> {
  const server = clientConfigOf(config, context)
  const slot = slotOf(context.runId)
  const { table } = config
  /** LSN that the server may forget up to; the intake confirms positions once their records are committed. */
  let confirmed: bigint | undefined

  const withClient = <T>(work: (client: pg.Client) => Promise<T>): Promise<T> =>
    withDatabase({ ...server, options: SESSION_OPTIONS, statement_timeout: 60_000 }, work)

  /**
   * Creates the publication and the slot; from the slot's LSN on, nothing is missed. A slot left by an unfinished first start is recreated.
   */
  async function prepare(): Promise<Position> {
    return withClient(async (client) => {
      const { rows: published } = await client.query('SELECT 1 FROM pg_publication WHERE pubname = $1', [slot])
      if (published.length === 0) await client.query(`CREATE PUBLICATION ${quoted(slot)} FOR TABLE ONLY ${quotedTable(table)}`)
      const { rows: slots } = await client.query('SELECT 1 FROM pg_replication_slots WHERE slot_name = $1', [slot])
      if (slots.length > 0) await client.query('SELECT pg_drop_replication_slot($1)', [slot])
      const { rows } = await client.query<{ lsn: string }>(`SELECT lsn FROM pg_create_logical_replication_slot($1, 'pgoutput')`, [slot])
      return { l: rows[0]!.lsn, k: [], n: 0 }
    })
  }

  /** Reads the existing rows in key order, `SNAPSHOT_ROWS` at a time. */
  async function* readRows(from: Position, shape: TableShape, signal: AbortSignal): AsyncGenerator<SourceRead> {
    let behind = from.k ?? []
    const builder = createBlockBuilder(BLOCK_BYTES)
    while (!signal.aborted) {
      const rows = await withClient((client) => readTextRows(client, table, shape, shape.key, behind, SNAPSHOT_ROWS))
      for (const row of rows)
        builder.add(Buffer.from(keyJson(shape.columns, row, shape.key)), Buffer.from(rowToJson(shape.columns, row)), SNAPSHOT_HEADERS)
      const last = rows.at(-1)
      if (last) behind = shape.key.map((name) => last[shape.columns.findIndex((column) => column.name === name)]!)
      const isDone = rows.length < SNAPSHOT_ROWS
      yield { block: builder.take(), position: JSON.stringify({ l: from.l, k: isDone ? null : behind, n: 0 }) }
      if (isDone) return
    }
  }

  async function assertSlot(): Promise<void> {
    const { rows } = await withClient((client) =>
      client.query<{ active_pid: number | null; wal_status: string }>(
        'SELECT active_pid, wal_status FROM pg_replication_slots WHERE slot_name = $1',
        [slot],
      ),
    )
    const [found] = rows
    if (!found || found.wal_status === 'lost')
      throw new ConfigRefused(
        `the replication slot ${slot} is gone: changes since the last one that was read are lost; recreate the pipeline`,
      )
    // Another holder was fenced off by its group, so the split's current owner may end its connection.
    if (found.active_pid !== null) await withClient((client) => client.query('SELECT pg_terminate_backend($1)', [found.active_pid]))
  }

  async function* follow(from: Position, key: readonly string[], signal: AbortSignal): AsyncGenerator<SourceRead> {
    await assertSlot()
    const builder = createBlockBuilder(BLOCK_BYTES)
    let place: Position = { l: from.l, k: null, n: from.n }
    // Reading starts only at committed positions.
    confirmed = later(confirmed, parseLsn(from.l))
    let skip = from.n
    let isNew = false
    let failure: unknown
    let lacking: { change: Change & { kind: 'update' }; headers: ChangeHeaders }[] = []
    let headers = createChangeHeaders(0n)
    let wake: (() => void) | undefined
    const decode = createDecoder()
    const plugin = createPlugin(slot, (message) => {
      if (failure !== undefined) return
      try {
        const change = decode(message)
        if (change) apply(change)
      } catch (error) {
        failure = error
      }
      if (builder.bytes > WAITING_BYTES_MAX) streamOf(plugin)?.pause()
      wake?.()
    })

    function apply(change: Change): void {
      if (change.kind === 'begin') {
        skip = place.n
        headers = createChangeHeaders(change.committedAt)
        return
      }
      if (change.kind === 'commit') {
        isNew = true
        place = { l: lsnText(change.end), k: null, n: 0 }
        skip = 0
        return
      }
      // Postgres sends the transaction again from its start: skip the changes already committed.
      if (skip > 0) {
        skip--
        return
      }
      // Thrown before the position moves, so that a restart meets the truncation again.
      if (change.kind === 'truncate')
        throw new ConfigRefused(
          `the table ${table} was truncated: Postgres does not report which rows it removed, so a copy can't follow; recreate the pipeline`,
        )
      place = { ...place, n: place.n + 1 }
      isNew = true
      if (change.kind === 'update' && change.after.includes(undefined)) {
        change.after = change.after.map(
          (value, index) => value ?? (value === undefined && change.isBeforeWhole ? change.before?.[index] : value),
        )
        if (change.after.includes(undefined)) {
          lacking.push({ change, headers })
          streamOf(plugin)?.pause()
          return
        }
      }
      if (lacking.length > 0) lacking.push({ change: change as Change & { kind: 'update' }, headers })
      else addChange(builder, change, key, headers)
    }

    /**
     * Looks up values that did not change and were not sent. If a later change of the row altered them, it follows as a record of its own.
     */
    async function completeLacking(): Promise<void> {
      while (lacking.length > 0) {
        const { change, headers: own } = lacking[0]!
        if (change.kind === 'update' && change.after.includes(undefined)) await complete(change)
        addChange(builder, change, key, own)
        lacking.shift()
      }
      lacking = []
    }

    async function complete(change: Change & { kind: 'update' }): Promise<void> {
      const { columns } = change.relation
      const values = key.map((name) => change.after[columns.findIndex((column) => column.name === name)]!)
      const [row] = await withClient((client) =>
        readTextRows(client, table, { columns, key: [...key], types: new Map() }, key, values, 1, '='),
      )
      // If the row is deleted by now, its deletion follows, so the missing values do not matter.
      change.after = change.after.map((value, index) => (value === undefined ? (row?.[index] ?? null) : value))
    }

    const service = new LogicalReplicationService(
      { ...server, options: SESSION_OPTIONS, connectionTimeoutMillis: 5000 },
      // The library's own timer would confirm what was received, not what is committed.
      { acknowledge: { auto: false, timeoutSeconds: 0 } },
    )
    service.on('error', (error: Error) => {
      failure ??= error
      wake?.()
    })
    service.on('heartbeat', (lsn: string) => {
      // If nothing is pending, the log of other tables' changes may be forgotten too.
      if (builder.count === 0 && place.n === 0 && (confirmed ?? 0n) >= parseLsn(place.l)) confirmed = later(confirmed, parseLsn(lsn))
    })
    const status = setInterval(() => {
      // The library adds one to the LSN it is given, but `confirmed` already is the first byte that is not safe.
      if (confirmed !== undefined) void service.acknowledge(lsnText(confirmed - 1n)).catch(() => {})
    }, STATUS_MS)
    const running = service.subscribe(plugin, slot, from.l).then(
      () => {
        failure ??= new Error('the replication ended')
        wake?.()
      },
      (error: unknown) => {
        failure ??= error
        wake?.()
      },
    )
    const onAbort = () => wake?.()
    signal.addEventListener('abort', onAbort)
    try {
      while (!signal.aborted) {
        while (!isNew && failure === undefined && !signal.aborted) await new Promise<void>((resolve) => (wake = resolve))
        if (builder.bytes < BLOCK_BYTES && failure === undefined) await sleep(GATHER_MS)
        await completeLacking()
        if (isNew) {
          isNew = false
          yield { block: builder.take(), position: JSON.stringify(place) }
          streamOf(plugin)?.resume()
        }
        if (failure !== undefined) throw failure
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
      clearInterval(status)
      // A silent server would never end the connection.
      await Promise.race([service.destroy().catch(() => {}), sleep(GOODBYE_MS)])
      // The library has removed its listeners; a late error must not end the process.
      plugin.client?.on('error', () => {})
      void running
    }
  }

  return {
    async *read(split, position, _seen, signal) {
      // One slot has one order, so only the owner of the first split reads it.
      if (split.index !== 0) return
      const shape = await withClient((client) => readColumns(client, table))
      if (shape.key.length === 0)
        throw new ConfigRefused(`the table ${table} has no primary key, which is needed to tell changes of its rows apart`)
      let at = position === undefined ? undefined : Position.parse(JSON.parse(position))
      if (!at) {
        at = await prepare()
        yield { block: createBlockBuilder(0).take(), position: JSON.stringify(at) }
      }
      if (at.k) for await (const read of readRows(at, shape, signal)) yield read
      if (!signal.aborted) yield* follow({ ...at, k: null }, shape.key, signal)
    },
    confirm(_split, position) {
      const { l, k } = Position.parse(JSON.parse(position))
      if (!k) confirmed = later(confirmed, parseLsn(l))
    },
    close: async () => {},
  }
}

const later = (a: bigint | undefined, b: bigint): bigint => (a !== undefined && a > b ? a : b)

/** The socket of a replication connection, which pg does not expose. */
function streamOf({ client }: ChangePlugin): { pause(): void; resume(): void } | undefined {
  return (client as unknown as { connection?: { stream?: { pause(): void; resume(): void } } } | undefined)?.connection?.stream
}

function keyJson(columns: readonly SourceColumn[], values: Tuple, key: readonly string[]): string {
  return rowToJson(
    columns,
    values.map((value, index) => (key.includes(columns[index]!.name) ? value : undefined)),
  )
}

function addChange(
  builder: BlockBuilder,
  change: Exclude<Change, { kind: 'begin' | 'commit' | 'truncate' }> | Change,
  key: readonly string[],
  headers: ChangeHeaders,
): void {
  if (change.kind !== 'insert' && change.kind !== 'update' && change.kind !== 'delete') return
  const { columns }: Relation = change.relation
  if (change.kind === 'delete') return builder.add(Buffer.from(keyJson(columns, change.before, key)), null, headers.delete)
  const own = keyJson(columns, change.after, key)
  if (change.kind === 'update' && change.before) {
    const before = keyJson(columns, change.before, key)
    // The row's key has changed: the old key no longer has a row.
    if (before !== own) builder.add(Buffer.from(before), null, headers.delete)
  }
  builder.add(Buffer.from(own), Buffer.from(rowToJson(columns, change.after)), headers[change.kind])
}

/** Removes the slot and the publication; a slot left behind would keep the server's log forever. */
export async function disposeReplication(config: TableSourceConfig, context: ConnectorContext): Promise<void> {
  const slot = slotOf(context.runId)
  await withDatabase({ ...clientConfigOf(config, context), statement_timeout: 10_000 }, async (client) => {
    await client.query(
      'SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = $1 AND active_pid IS NOT NULL',
      [slot],
    )
    for (let attempt = 0; attempt < 20; attempt++) {
      const { rows } = await client.query<{ active: boolean }>('SELECT active FROM pg_replication_slots WHERE slot_name = $1', [slot])
      if (rows.length === 0) break
      if (!rows[0]!.active) await client.query('SELECT pg_drop_replication_slot($1)', [slot])
      else await sleep(100)
    }
    await client.query(`DROP PUBLICATION IF EXISTS ${quoted(slot)}`)
  })
}
