/** A table as a source sees it: columns with their types, the primary key, and rows in Postgres' text form. */
import type { AnswerSize } from '../next-count.ts'
import type pg from 'pg'
import { ConfigRefused } from '../connector.ts'
import type { SourceColumn } from './column-json.ts'
import { quoted, quotedTable } from './columns.ts'
import type { Tuple } from './pgoutput.ts'

/** `types`: SQL types by column name, as a cast needs them. */
export type TableShape = { columns: SourceColumn[]; key: string[]; types: Map<string, string> }

/** The table that a name means now. `isPartitioned`: its rows are in other tables, which the log names. */
export type NamedTable = { schema: string; name: string; isPartitioned: boolean }
/** `named`: what the log calls the table. `refusal`: why its changes can't be followed; undefined where they can. */
export type LoggedShape = TableShape & { named: NamedTable; refusal: string | undefined }

/**
 * Returns the table's columns and key. Throws ConfigRefused when there is no such table that the role may read. Postgres' own catalogues
 * are none: on a shared server they name what other accounts have.
 */
export async function readColumns(client: pg.Client, table: string): Promise<TableShape> {
  const { rows } = await client.query<{ name: string; type_id: number; type: string; key_place: number }>(
    `SELECT a.attname AS name, a.atttypid::int AS type_id, format_type(a.atttypid, a.atttypmod) AS type,
       coalesce(array_position(i.indkey::int2[], a.attnum), -1) AS key_place
     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
       LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
     WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped
       AND NOT starts_with(n.nspname, 'pg_') AND n.nspname <> 'information_schema' AND has_any_column_privilege(c.oid, 'SELECT')
     ORDER BY a.attnum`,
    [quotedTable(table)],
  )
  if (rows.length === 0) throw new ConfigRefused(`there is no table ${table}, or the connection’s role may not read it`)
  const key = rows.filter(({ key_place }) => key_place >= 0).toSorted((a, b) => a.key_place - b.key_place)
  return {
    columns: rows.map(({ name, type_id }) => ({ name, typeId: type_id })),
    key: key.map(({ name }) => name),
    types: new Map(rows.map(({ name, type }) => [name, type])),
  }
}

/** The table as the log of changes shows it: Postgres puts no generated column there. Throws what `readColumns` throws. */
export async function readLoggedColumns(client: pg.Client, table: string): Promise<LoggedShape> {
  const shape = await readColumns(client, table)
  const { rows } = await client.query<NamedTable & { identity: string; is_key: boolean; generated: string[] }>(
    `SELECT n.nspname AS schema, c.relname AS name, c.relkind = 'p' AS "isPartitioned", c.relreplident AS identity,
       coalesce((SELECT i.indisreplident FROM pg_index i WHERE i.indrelid = c.oid AND i.indisprimary), false) AS is_key,
       ARRAY(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attgenerated <> '') AS generated
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass($1)`,
    [quotedTable(table)],
  )
  const [found] = rows
  if (!found) throw new ConfigRefused(`there is no table ${table}, or the connection’s role may not read it`)
  const { identity, is_key, generated, ...named } = found
  const refusal =
    shape.key.length === 0
      ? 'has no primary key, needed to tell rows apart'
      : shape.key.some((name) => generated.includes(name))
        ? 'has a generated column in its primary key, which is not in the log of changes'
        : identity === 'd' || identity === 'f' || (identity === 'i' && is_key)
          ? undefined
          : 'has a replica identity without its primary key, so the log of changes would not say which rows are deleted: set it to DEFAULT or FULL'
  return { ...shape, columns: shape.columns.filter(({ name }) => !generated.includes(name)), named, refusal }
}

const AS_TEXT = { getTypeParser: () => (value: string) => value }

/** Rows of the first request: as many as may be, each of them, as large as a record. */
export const ROWS_FIRST = 16
/** Rows of a request, by the sizes of those before. */
export const ROWS: AnswerSize = { bytes: 8 << 20, countMax: 5000 }

/** Returns up to `limit` rows after `values` in the order of `by`, or equal to them with `=`. Without values it starts at the first row. */
export async function readTextRows(
  client: pg.Client,
  table: string,
  { columns, types }: TableShape,
  by: readonly string[],
  values: readonly string[],
  limit: number,
  comparison: '>' | '=' = '>',
): Promise<Tuple[]> {
  const names = by.map(quoted).join(', ')
  const places = by.map((name, index) => `$${index + 1}${types.has(name) ? `::text::${types.get(name)}` : ''}`).join(', ')
  const { rows } = await client.query<(string | null)[]>({
    text: `SELECT ${columns.map(({ name }) => quoted(name)).join(', ')} FROM ${quotedTable(table)}
      ${values.length > 0 ? `WHERE (${names}) ${comparison} (${places})` : ''} ORDER BY ${names} LIMIT ${limit}`,
    values: [...values],
    rowMode: 'array',
    types: AS_TEXT,
  })
  return rows
}

/** Of Postgres, for a query that names a column which is not there (SQLSTATE). */
const UNDEFINED_COLUMN = '42703'

/**
 * The row as it is now, in the order of `columns` as the log described them; undefined where there is none. Columns that the table has lost
 * since are undefined.
 */
export async function findRow(
  client: pg.Client,
  table: string,
  columns: readonly SourceColumn[],
  key: readonly string[],
  values: readonly string[],
): Promise<Tuple | undefined> {
  const read = async (kept: readonly SourceColumn[]): Promise<Tuple | undefined> => {
    const [row] = await readTextRows(client, table, { columns: [...kept], key: [...key], types: new Map() }, key, values, 1, '=')
    return row && columns.map((column) => (kept.includes(column) ? row[kept.indexOf(column)] : undefined))
  }
  try {
    return await read(columns)
  } catch (error) {
    if ((error as { code?: string }).code !== UNDEFINED_COLUMN) throw error
  }
  const now = await readColumns(client, table)
  const isThere = (name: string) => now.columns.some((column) => column.name === name)
  // Without its key the row can't be found.
  return key.every(isThere) ? read(columns.filter(({ name }) => isThere(name))) : columns.map(() => undefined)
}
