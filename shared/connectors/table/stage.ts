/**
 * Temporary tables of a connection: created once, emptied by every commit, recreated when the target's columns change. Creating them for
 * each write would bloat the database's catalogue.
 */
import type { ClientBase } from 'pg'
import { quotedTable } from './columns.ts'

/** What was created on a connection, by name, with the target's columns and the statements at that time. */
const made = new WeakMap<ClientBase, Map<string, string>>()

/** A column and the name of its type. `identity`: `a` for GENERATED ALWAYS AS IDENTITY, `d` for BY DEFAULT, else empty. */
export type Column = { name: string; type: string; identity: string }

/** Returns the target's current columns in their order; types include their modifiers. */
export async function typesOf(client: ClientBase, table: string): Promise<Column[]> {
  const { rows } = await client.query<Column>(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type, attidentity AS identity FROM pg_attribute
     WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [quotedTable(table)],
  )
  return rows
}

/**
 * Runs the statements that create `name`, unless they have run on this connection for the same columns. Must not be called inside a
 * transaction.
 */
export async function ensureMade(
  client: ClientBase,
  name: string,
  columns: readonly Column[],
  statements: readonly string[],
): Promise<void> {
  const own = made.get(client) ?? new Map<string, string>()
  made.set(client, own)
  const shape = JSON.stringify([columns, statements])
  if (own.get(name) === shape) return
  for (const statement of statements) await client.query(statement)
  own.set(name, shape)
}
