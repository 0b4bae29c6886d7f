/** Reads a table's columns as COPY needs them, and creates a missing table. */
import type { ClientBase } from 'pg'
import { ConfigRefused } from '../connector.ts'
import type { CopyColumn } from '../row-format.ts'

/** Quotes an identifier (Postgres, "Lexical Structure": quotes are doubled). */
export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`
/** A table’s name, with or without its schema, quoted as identifiers. */
export const quotedTable = (table: string): string => table.split('.').map(quoted).join('.')

/** Column types by stream type name. */
const TYPES: Record<string, string> = {
  string: 'text',
  integer: 'bigint',
  number: 'double precision',
  boolean: 'boolean',
  datetime: 'timestamptz',
  date: 'date',
  uuid: 'uuid',
  decimal: 'numeric',
  bytes: 'bytea',
}

/** COPY's text for the column's default (its option DEFAULT, since Postgres 16). */
export const DEFAULT_MARKER = '\\D'
/** COPY's text for null. */
const NULL_MARKER = '\\N'

/** The column that takes a whole record as JSON. */
export const RECORD_COLUMN = 'record'

/**
 * Creates the table unless it exists: a column for each field, or one for the whole record if no fields are known. Throws ConfigRefused
 * when a key column is not a known field.
 */
export async function createTable(
  client: ClientBase,
  table: string,
  fields: Readonly<Record<string, string>> | undefined,
  key: readonly string[] | undefined,
): Promise<void> {
  const known = Object.entries(fields ?? {})
  const columns = known.map(([name, type]) => {
    const isOptional = type.endsWith('?')
    const sqlType = TYPES[isOptional ? type.slice(0, -1) : type] ?? 'jsonb'
    return `${quoted(name)} ${sqlType}`
  })
  if (key && !key.every((name) => fields && Object.hasOwn(fields, name)))
    throw new ConfigRefused(
      `the table ${table} can't be created: its key ${key.join(', ')} is not among the known fields of the records; make the table yourself`,
    )
  const primary = key ? `, PRIMARY KEY (${key.map(quoted).join(', ')})` : ''
  const text = `CREATE TABLE IF NOT EXISTS ${quotedTable(table)} (${columns.length > 0 ? columns.join(', ') : `${RECORD_COLUMN} jsonb`}${primary})`
  // Two tasks may create it at once; one of them then gets a conflict with the other's catalogue row.
  await client.query(text).catch((error: { code?: string }) => {
    if (error.code !== '23505' && error.code !== '42P07') throw error
  })
}

/** The columns that rows have; `isWhole`: the record goes into one column. */
export type TableColumns = { columns: CopyColumn[]; isWhole: boolean }

/** Returns the table's columns in their order, without generated ones; undefined if there is no such table. */
export async function columnsOf(client: ClientBase, table: string, knowsDefaults: boolean): Promise<TableColumns | undefined> {
  const { rows } = await client.query<{ name: string; type: string; has_default: boolean }>(
    `SELECT a.attname AS name, t.typname AS type, a.atthasdef OR a.attidentity <> '' AS has_default FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
     WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attidentity <> 'a'
     ORDER BY a.attnum`,
    [quotedTable(table)],
  )
  if (rows.length === 0) return undefined
  const columns = rows.map(({ name, type, has_default }): CopyColumn => ({
    name,
    kind: type === 'json' || type === 'jsonb' ? 'json' : type === 'bytea' ? 'bytes' : 'plain',
    absent: has_default && knowsDefaults ? DEFAULT_MARKER : NULL_MARKER,
  }))
  const [only] = columns
  return { columns, isWhole: columns.length === 1 && only!.name === RECORD_COLUMN && only!.kind === 'json' }
}
