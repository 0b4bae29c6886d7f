/** The connector `table`: rows of a Postgres table, exactly once in effect; and a table's changes as records. */
import { z } from 'zod'
import { direction, type Connector } from '../connector.ts'
import { Secret } from '../secret.ts'

const Connection = Secret.optional()
  .describe('connection string (postgres://…) of the database; the operator’s warehouse when left out')
  .meta({ title: 'Connection' })
/** `schema.table` or `table`; each part at most 63 bytes, as Postgres has it. */
const Table = z
  .string()
  .min(1, 'must not be empty')
  .refine((name) => name.split('.').length <= 2 && name.split('.').every((part) => part.length > 0 && Buffer.byteLength(part) <= 63), {
    message: 'must be "table" or "schema.table", each part of 1 to 63 bytes',
  })
  .refine((name) => !name.includes('\0'), 'must not contain NUL')
  .meta({ title: 'Table', examples: ['reviews', 'analytics.reviews'] })

export const TableSinkConfig = z
  .strictObject({
    table: Table,
    batch_size: z.number().int().min(1).max(100_000).default(1000).describe('rows of one COPY').meta({ title: 'Batch size' }),
    mode: z
      .enum(['insert', 'upsert'])
      .default('insert')
      .describe('insert: every record a row; upsert: a record replaces the row of its key, a tombstone is refused')
      .meta({ title: 'Mode' }),
    key: z
      .array(z.string().min(1))
      .min(1)
      .optional()
      .describe('columns that make a row’s key; needed for upsert')
      .meta({ title: 'Key', examples: [['id']] }),
    create: z
      .boolean()
      .default(true)
      .describe(
        'makes the table when it is not there: columns by the stream’s schema, or by the text format and the steps; else one column record of type jsonb',
      )
      .meta({ title: 'Create' }),
    unknown_members: z
      .enum(['fail', 'ignore'])
      .default('fail')
      .describe('what becomes of members that the table has no column for: the record fails, or they are left out')
      .meta({ title: 'Unknown members' }),
    connection: Connection,
  })
  .refine(({ mode, key }) => mode === 'insert' || key !== undefined, { path: ['key'], message: 'is required for this mode' })
export type TableSinkConfig = z.output<typeof TableSinkConfig>

export const tableConnector: Connector = {
  id: 'conn_table',
  name: 'table',
  description: 'Writes records as rows of a Postgres table, each exactly once in effect.',
  version: '1.0.0',
  created_at: '2026-11-21T00:00:00.000Z',
  sink: direction({
    config: TableSinkConfig,
    open: async () => (await import('./sink.ts')).openTableSink,
    check: async () => (await import('./check.ts')).checkTable,
  }),
}
