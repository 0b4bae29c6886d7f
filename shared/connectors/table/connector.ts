/** The connector `table`: writes rows of a Postgres table, exactly once in effect, and reads a table's changes as records. */
import { z } from 'zod'
import { direction, type Connector } from '../connector.ts'
import { endingQuietly } from '../ended-by-abort.ts'
import { Secret } from '../secret.ts'

const Connection = Secret.optional()
  .describe('connection string (postgres://…) of the database; the operator’s warehouse when left out')
  .meta({ title: 'Connection' })
/** `schema.table` or `table`; each part has at most 63 bytes, Postgres' limit. */
const Table = z
  .string()
  .min(1, 'must not be empty')
  .refine((name) => name.split('.').length <= 2 && name.split('.').every((part) => part.length > 0 && Buffer.byteLength(part) <= 63), {
    message: 'must be "table" or "schema.table", each part of 1 to 63 bytes',
  })
  .refine((name) => !name.includes('\0'), 'must not contain NUL')
  .meta({ title: 'Table', examples: ['reviews', 'analytics.reviews'] })

/** Tables of Postgres itself, temporary ones among them, which end with a session, and of this connector. */
const RESERVED = /^(?:pg_[^.]*|information_schema)\.|^(?:[^.]*\.)?dps_(?:positions|stage|text)$/

/** Config of a table as a sink, as requests give it. */
export const TableSinkConfig = z
  .strictObject({
    table: Table.refine((name) => !RESERVED.test(name), 'must not be a table of Postgres itself (pg_…) or one that this connector uses'),
    batch_size: z
      .number()
      .int()
      .min(1)
      .max(100_000)
      .default(1000)
      .describe('accepted for compatibility; the rows of a round are always written in one COPY')
      .meta({ title: 'Batch size' }),
    mode: z
      .enum(['insert', 'upsert', 'merge-patch'])
      .default('insert')
      .describe(
        'insert: each record becomes a row; upsert: a record replaces the row of its key, and one without a value deletes it; merge-patch: a record changes the columns whose members it has',
      )
      .meta({ title: 'Mode' }),
    key: z
      .array(z.string().min(1))
      .min(1)
      .optional()
      .describe('columns that form a row’s key; required for upsert and merge-patch')
      .meta({ title: 'Key', examples: [['id']] }),
    create: z
      .boolean()
      .default(true)
      .describe(
        'creates the table if it is missing: columns from the stream’s schema, or from the text format and the steps; otherwise one column record of type jsonb',
      )
      .meta({ title: 'Create' }),
    unknown_members: z
      .enum(['fail', 'ignore'])
      .default('fail')
      .describe('members that the table has no column for: they fail the record, or are left out')
      .meta({ title: 'Unknown members' }),
    connection: Connection,
  })
  .refine(({ mode, key }) => mode === 'insert' || key !== undefined, { path: ['key'], message: 'is required for this mode' })
/** A validated config with its defaults filled in. */
export type TableSinkConfig = z.output<typeof TableSinkConfig>

/** Config of a table as a source, as requests give it. */
export const TableSourceConfig = z
  .strictObject({
    table: Table,
    mode: z
      .enum(['replication', 'query'])
      .default('replication')
      .describe(
        'replication: all rows, then every change (needs wal_level = logical and the replication privilege); query: polls for rows whose cursor has grown',
      )
      .meta({ title: 'Mode' }),
    cursor: z
      .string()
      .min(1)
      .max(63)
      .optional()
      .describe('column that grows with every change; for mode query')
      .meta({ title: 'Cursor', examples: ['updated_at'] }),
    poll_interval_ms: z
      .number()
      .int()
      .min(100)
      .max(86_400_000)
      .default(2000)
      .describe('for mode query')
      .meta({ title: 'Poll interval (ms)' }),
    connection: Connection,
  })
  .refine(({ mode, cursor }) => mode === 'replication' || cursor !== undefined, { path: ['cursor'], message: 'is required for this mode' })
/** A validated config with its defaults filled in. */
export type TableSourceConfig = z.output<typeof TableSourceConfig>

/** The connector’s entry in the catalogue. */
export const tableConnector: Connector = {
  id: 'conn_table',
  name: 'table',
  description: 'Reads a Postgres table and all its changes; writes records as rows, each exactly once in effect.',
  version: '1.0.0',
  created_at: '2026-11-21T00:00:00.000Z',
  place: { members: ['connection', 'table'], called: (text) => text('table') },
  source: direction({
    config: TableSourceConfig,
    open: async () => async (config, context) => {
      const source =
        config.mode === 'query'
          ? await (await import('./query-source.ts')).openQuerySource(config, context)
          : await (await import('./replication.ts')).openReplication(config, context)
      return endingQuietly(source, (await import('./connection.ts')).failureOf)
    },
    check: async () => (await import('./check.ts')).checkTableSource,
    dispose: async () => async (config, context) => {
      if (config.mode === 'replication') await (await import('./replication-slot.ts')).disposeReplication(config, context)
    },
  }),
  sink: direction({
    config: TableSinkConfig,
    open: async () => (await import('./sink.ts')).openTableSink,
    check: async () => (await import('./check.ts')).checkTable,
    holdsPosition: ['connection'],
    lastWinsBy: ({ mode, key }) => (mode === 'insert' ? undefined : key?.[0]),
  }),
}
