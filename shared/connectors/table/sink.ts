/**
 * Writes rows to a Postgres table: a COPY of the bytes that lanes encoded, and the position, in one database transaction. A search inside
 * the database finds the rows that Postgres refuses (`fault-search.ts`).
 */
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import { reasonOf } from '../../errors/reason-of.ts'
import { inTime } from '../../waiting/in-time.ts'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import { refusalIn } from '../refusal.ts'
import type { Delivery, OpenSink, Rows, Written } from '../sink.ts'
import { clientConfigOf } from './connection.ts'
import { columnsOf, createTable, whyNoKey } from './columns.ts'
import type { TableSinkConfig } from './connector.ts'
import { createFaultSearch, isRowFault } from './fault-search.ts'
import { createPut } from './write-modes.ts'
import { createPositions, movePosition, readPosition } from './positions.ts'

const CONNECTIONS_MAX = 4
/** Also the longest that a delivery may wait for one of the connections. */
const CONNECT_TIMEOUT_MS = 15_000
const STATEMENT_TIMEOUT_MS = 60_000
/** Longest time that a delivery may take, including the network. */
const WRITE_LIMIT_MS = 90_000
const CLOSE_LIMIT_MS = 3000
/** First version whose COPY has the option DEFAULT. */
const VERSION_WITH_DEFAULT = 160_000
/** Errors that pass by themselves: connection, resources, operator intervention, serialisation, read-only standby, lock timeout. */
const isTransient = ({ code }: { code?: string }): boolean =>
  code === undefined || !/^[0-9A-Z]{5}$/.test(code) || /^(08|53|57|40|25006|55P03)/.test(code)

/** SQLSTATE of a statement that names a column which the table does not have. */
const UNDEFINED_COLUMN = '42703'

/** Opens the sink. Throws ConfigRefused for a table that rows can’t be written to. */
export async function openTableSink(config: TableSinkConfig, context: ConnectorContext): Promise<OpenSink> {
  const pool = new pg.Pool({
    ...clientConfigOf(config, context),
    max: CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    application_name: `dps ${context.runId}`,
  })
  // Listens for the whole life of every connection: if one ends while it is in use, the pool reports nothing, and the unhandled error
  // would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  pool.on('error', (error) => context.log('warn', `a connection to the table's database ended: ${error.message}`))
  try {
    return await openOn(pool, config, context)
  } catch (error) {
    await pool.end().catch(() => {})
    if (isTransient(error as { code?: string }) || error instanceof ConfigRefused) throw error
    throw new ConfigRefused(reasonOf(error))
  }
}

async function openOn(pool: pg.Pool, config: TableSinkConfig, context: ConnectorContext): Promise<OpenSink> {
  const { table, mode, key } = config
  const { columns, defaults, isWhole, knowsDefaults, serverVersion } = await withClient(pool, async (client) => {
    await createPositions(client)
    const { rows } = await client.query<{ server_version_num: string }>('SHOW server_version_num')
    const serverVersion = Number(rows[0]!.server_version_num)
    const knowsDefaults = serverVersion >= VERSION_WITH_DEFAULT
    let found = await columnsOf(client, table, knowsDefaults)
    if (!found && config.create) {
      await createTable(client, table, context.fields, key)
      found = await columnsOf(client, table, knowsDefaults)
    }
    if (!found) throw new ConfigRefused(`the table ${table} does not exist, and "create" is false`)
    const missing = (key ?? []).find((name) => !found.columns.some((column) => column.name === name))
    if (missing !== undefined) throw new ConfigRefused(`${await whyNoKey(client, table, missing)}, and the config names it as key`)
    return { ...found, knowsDefaults, serverVersion }
  })
  const target = { table, mode, key, columns, defaults, knowsDefaults }
  const put = createPut(target)
  const search = createFaultSearch(target, put, serverVersion)

  /** Writes rows and position in one transaction. Returns the error if a row is at fault; nothing is written then. */
  async function transact(client: pg.PoolClient, delivery: Delivery, putAll: () => Promise<void>): Promise<Written | Error> {
    await client.query('BEGIN')
    // Comes first, because it locks the position's row: the second of two writers of a partition waits here, and then finds that it moved.
    if (!(await movePosition(client, delivery))) {
      await client.query('ROLLBACK')
      return { kind: 'moved', reason: `partition ${delivery.partition} is no longer at offset ${delivery.from} in the table's database` }
    }
    try {
      await putAll()
      // Constraints that Postgres would check at the end are checked here, so that a violation is a row's fault and not the commit's.
      await client.query('SET CONSTRAINTS ALL IMMEDIATE')
    } catch (error) {
      await client.query('ROLLBACK')
      if (!isRowFault(error as { code?: string })) throw error
      return error as Error
    }
    // Postgres answers ROLLBACK, and no error, where a commit finds a transaction that has failed.
    const { command } = await client.query('COMMIT')
    if (command !== 'COMMIT') throw new Error(`the commit was answered with ${command || 'nothing'}`)
    return { kind: 'delivered' }
  }

  const isChanged = async (client: pg.PoolClient): Promise<boolean> => {
    const now = await columnsOf(client, table, knowsDefaults)
    return now !== undefined && !isDeepStrictEqual([now.columns, now.defaults], [columns, defaults])
  }
  const changed: Written = { kind: 'changed', reason: `the table ${table} has other columns now` }

  async function write(client: pg.PoolClient, delivery: Delivery, pieces: readonly Rows[]): Promise<Written> {
    if (await isChanged(client)) return changed
    await put.prepare(client)
    const together = await transact(client, delivery, async () => {
      for (const piece of pieces) await put.put(client, piece.bytes)
    })
    if (!(together instanceof Error)) return together
    const records = await search.find(client, pieces)
    if (records.length > 0) return { kind: 'at_fault', records }
    // Some rows are refused together but accepted one by one, for example when a unique value moves from one row to another.
    const inOrder = await transact(client, delivery, () => search.putInOrder(client, pieces))
    if (!(inOrder instanceof Error)) return inOrder
    return { kind: 'retry', afterMs: 0, reason: `the table refused the rows, but no row is at fault by itself: ${together.message}` }
  }

  return {
    // Postgres merges a patch, so it gets the document unchanged.
    rows: {
      kind: 'copy',
      columns,
      isWhole: isWhole || mode === 'merge-patch',
      deletes: mode === 'upsert',
      ignoresUnknown: config.unknown_members === 'ignore',
    },
    position: (place, start) => withClient(pool, (client) => readPosition(client, place, start)),
    async write(delivery, pieces) {
      try {
        return await withClient(pool, (client) => write(client, delivery, pieces))
      } catch (error) {
        if (refusalIn(error)) throw error
        const { code, message } = error as { code?: string; message: string }
        // A column may have gone between the look at them and the write.
        if (code === UNDEFINED_COLUMN && (await withClient(pool, isChanged).catch(() => false))) return changed
        if (isTransient({ code })) return { kind: 'retry', afterMs: 0, reason: `the table's database: ${message}` }
        return { kind: 'permanent', reason: `the table ${table}: ${message} (SQLSTATE ${code})` }
      }
    },
    // Does not wait for a connection that hangs: the process has other things to close.
    close: async () => void (await Promise.race([pool.end(), new Promise((resolve) => setTimeout(resolve, CLOSE_LIMIT_MS).unref())])),
  }
}

/**
 * Runs `work` with a connection of the pool. A connection that failed or got no answer in time is not used again, because its state is
 * unknown; the position then decides whether its work took effect.
 */
async function withClient<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>, limitMs = WRITE_LIMIT_MS): Promise<T> {
  const client = await pool.connect()
  let failure: unknown
  try {
    return await inTime(work(client), limitMs, () => new Error(`no answer within ${limitMs / 1000} s`))
  } catch (error) {
    failure = error
    throw error
  } finally {
    client.release(failure !== undefined)
  }
}
