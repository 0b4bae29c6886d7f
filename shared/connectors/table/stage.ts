/**
 * Temporary tables of a connection: made once, emptied by every commit, made anew when the target's columns change. Making them for each
 * write would fill the catalogue of the database.
 */
import type { ClientBase } from 'pg'
import { quotedTable } from './columns.ts'

/** What was made on a connection, by name, and for which columns of the target. */
const made = new WeakMap<ClientBase, Map<string, string>>()

export type Column = { name: string; type: string }

/** The target's columns as they are now, in their order, types with their modifiers. */
export async function typesOf(client: ClientBase, table: string): Promise<Column[]> {
  const { rows } = await client.query<Column>(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
     WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [quotedTable(table)],
  )
  return rows
}

/** Runs the statements that make `name`, unless this connection has it so for the same columns. Not inside of a transaction. */
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
