/** Reads a table's columns as COPY needs them, and creates a missing table. */
import { escapeLiteral, type ClientBase } from 'pg'
import { bare } from '../../model/stream-schema.ts'
import { ConfigRefused } from '../connector.ts'
import type { CopyColumn } from '../row-format.ts'
import { isMadeMeanwhile } from './made-meanwhile.ts'

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

/** Why the column, which is not among those that rows have, can't be part of the config's key. */
export async function whyNoKey(client: ClientBase, table: string, name: string): Promise<string> {
  const { rows } = await client.query(
    'SELECT 1 FROM pg_attribute WHERE attrelid = to_regclass($1) AND attname = $2 AND attnum > 0 AND NOT attisdropped',
    [quotedTable(table), name],
  )
  return rows.length === 0
    ? `the table ${table} has no column ${name}`
    : `the column ${name} of the table ${table} is GENERATED ALWAYS: rows can't bring its values`
}

/** COPY's text for the column's default (its option DEFAULT, since Postgres 16). */
export const DEFAULT_MARKER = '\\D'
/** COPY's text for null. */
const NULL_MARKER = '\\N'

/** The column that takes a whole record as JSON. */
const RECORD_COLUMN = 'record'

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
    return `${quoted(name)} ${TYPES[bare(type)] ?? 'jsonb'}`
  })
  if (key && !key.every((name) => fields && Object.hasOwn(fields, name)))
    throw new ConfigRefused(
      `the table ${table} can't be created: its key ${key.join(', ')} is not among the known fields of the records; make the table yourself`,
    )
  const primary = key ? `, PRIMARY KEY (${key.map(quoted).join(', ')})` : ''
  const text = `CREATE TABLE IF NOT EXISTS ${quotedTable(table)} (${columns.length > 0 ? columns.join(', ') : `${RECORD_COLUMN} jsonb`}${primary})`
  await client.query(text).catch((error: unknown) => {
    if (!isMadeMeanwhile(error)) throw error
  })
}

/** The columns that rows have; `isWhole`: the record goes into one column. `defaults`: SQL by column, for those that have one. */
export type TableColumns = { columns: CopyColumn[]; isWhole: boolean; defaults: Record<string, string> }

/** What Postgres takes for an identity column that a row has no value for. */
export const identityDefault = (table: string, column: string): string =>
  `nextval(pg_get_serial_sequence(${escapeLiteral(quotedTable(table))}, ${escapeLiteral(column)})::regclass)`

/** Returns the table's columns in their order, without generated ones; undefined if there is no such table. */
export async function columnsOf(client: ClientBase, table: string, knowsDefaults: boolean): Promise<TableColumns | undefined> {
  const { rows } = await client.query<{ name: string; type: string; sql_type: string; identity: string; set_by: string | null }>(
    `SELECT a.attname AS name, t.typname AS type, format_type(a.atttypid, -1) AS sql_type, a.attidentity AS identity,
       pg_get_expr(d.adbin, d.adrelid) AS set_by
     FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attidentity <> 'a'
     ORDER BY a.attnum`,
    [quotedTable(table)],
  )
  if (rows.length === 0) return undefined
  const defaults: Record<string, string> = {}
  for (const { name, sql_type, identity, set_by } of rows) {
    const text = identity === '' ? set_by : identityDefault(table, name)
    // An expression may have another type than its column, into which Postgres turns it when it assigns it.
    if (text !== null) defaults[name] = `CAST(${text} AS ${sql_type})`
  }
  const columns = rows.map(({ name, type }): CopyColumn => ({
    name,
    kind: type === 'json' || type === 'jsonb' ? 'json' : type === 'bytea' ? 'bytes' : 'plain',
    absent: Object.hasOwn(defaults, name) && knowsDefaults ? DEFAULT_MARKER : NULL_MARKER,
  }))
  const [only] = columns
  return { columns, defaults, isWhole: columns.length === 1 && only!.name === RECORD_COLUMN && only!.kind === 'json' }
}
