/**
 * Finds the rows that Postgres refuses, in a transaction that is rolled back. One query over all rows finds values that their columns can't
 * hold; a loop inside the database finds rows that break a constraint. Both take a few passes over the rows, however many are bad, and
 * create nothing per row, not even in the catalogue.
 */
import { escapeLiteral, type PoolClient } from 'pg'
import type { RefusedRecord, Rows } from '../sink.ts'
import { DEFAULT_MARKER, quoted } from './columns.ts'
import { ensureMade, typesOf, type Column } from './stage.ts'
import { copyInto, type PutRows, type WriteTarget } from './write-modes.ts'

/** First version with `pg_input_error_info`. */
const VERSION_WITH_INPUT_ERRORS = 160_000
/** Without it, rows per chunk: for each row that COPY reports, the rest of its chunk is tried again. */
const CHUNK_ROWS = 64

/** SQLSTATE classes: data exceptions, integrity constraints, a value that is too large for an index, what a trigger raises in PL/pgSQL. */
const ROW_FAULTS = new Set(['22', '23', '54', 'P0'])
/** Whether a row is to blame. */
export const isRowFault = ({ code }: { code?: string }): boolean => code !== undefined && ROW_FAULTS.has(code.slice(0, 2))

/** Finds the rows that the table refuses. */
export type FaultSearch = {
  find(client: PoolClient, pieces: readonly Rows[]): Promise<RefusedRecord[]>
  /** After a search that found no faults: writes the rows one by one in their order, in the current transaction. */
  putInOrder(client: PoolClient, pieces: readonly Rows[]): Promise<void>
}

type Fault = { row: number; code: string; message: string }

/** Copies the bytes of the given rows. */
function pick({ bytes, ends }: Rows, rows: readonly number[]): Uint8Array {
  return Buffer.concat(rows.map((row) => bytes.subarray(row === 0 ? 0 : ends[row - 1], ends[row])))
}

/** Tries the staged rows one by one, and returns those that break a constraint. */
const tryFunction = (rowStatement: string): string =>
  // A literal whose every character is quoted: names of columns could hold the tag of a dollar-quoted one, and end it.
  `CREATE OR REPLACE FUNCTION pg_temp.dps_try() RETURNS TABLE (dps_n int, dps_code text, dps_text text) LANGUAGE plpgsql AS ${escapeLiteral(`
#variable_conflict use_column
DECLARE r record;
BEGIN
  dps_n := -1;
  FOR r IN SELECT * FROM pg_temp.dps_stage ORDER BY dps_row LOOP
    dps_n := dps_n + 1;
    BEGIN
      ${rowStatement}
    EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded OR plpgsql_error THEN
      dps_code := SQLSTATE;
      dps_text := SQLERRM;
      RETURN NEXT;
    END;
  END LOOP;
END`)}`

/**
 * Finds unreadable rows where Postgres can't check values: COPY names the first line that it can't read, and the others are tried again.
 */
async function copyFaults(client: PoolClient, mode: PutRows, piece: Rows, rows: number[]): Promise<Fault[]> {
  const faults: Fault[] = []
  for (let from = 0; from < rows.length; from += CHUNK_ROWS) {
    let left = rows.slice(from, from + CHUNK_ROWS)
    while (left.length > 0) {
      await client.query('SAVEPOINT line')
      try {
        await client.query('DELETE FROM pg_temp.dps_stage')
        await copyInto(client, mode.stageCopy, pick(piece, left))
        await client.query('RELEASE SAVEPOINT line')
        break
      } catch (error) {
        const fault = error as { code?: string; message: string; where?: string }
        if (!isRowFault(fault)) throw error
        await client.query('ROLLBACK TO SAVEPOINT line')
        // "COPY dps_stage, line 17, column stars": the line within what was sent.
        const line = Number(/COPY [^\n]*, line (\d+)/.exec(fault.where ?? '')?.[1] ?? 0)
        const at = line > 0 && line <= left.length ? line - 1 : 0
        faults.push({ row: left[at]!, code: fault.code!, message: fault.message })
        left = left.filter((_, index) => index !== at)
      }
    }
  }
  return faults
}

/** Finds rows that break a constraint: they are tried one by one inside the database, each seeing the earlier ones that passed. */
async function constraintFaults(client: PoolClient, mode: PutRows, piece: Rows, rows: number[]): Promise<Fault[]> {
  if (rows.length === 0) return []
  await client.query('DELETE FROM pg_temp.dps_stage')
  await copyInto(client, mode.stageCopy, pick(piece, rows))
  await client.query('SAVEPOINT rows')
  try {
    const faults = await tryRows(client, rows)
    // Breaking a constraint that is checked at the end of a transaction is a row's fault too.
    await client.query('SET CONSTRAINTS ALL IMMEDIATE')
    await client.query('SET CONSTRAINTS ALL DEFERRED')
    return faults
  } catch (error) {
    if (!isRowFault(error as { code?: string })) throw error
    await client.query('ROLLBACK TO SAVEPOINT rows')
    await client.query('SET CONSTRAINTS ALL IMMEDIATE')
    const faults = await tryRows(client, rows)
    await client.query('SET CONSTRAINTS ALL DEFERRED')
    return faults
  }
}

async function tryRows(client: PoolClient, rows: number[]): Promise<Fault[]> {
  const { rows: found } = await client.query<{ dps_n: number; dps_code: string; dps_text: string }>('SELECT * FROM pg_temp.dps_try()')
  return found.map(({ dps_n, dps_code, dps_text }) => ({ row: rows[dps_n]!, code: dps_code, message: dps_text }))
}

/** A search for the target’s table. `serverVersion`: as `server_version_num` has it. */
export function createFaultSearch(target: WriteTarget, mode: PutRows, serverVersion: number): FaultSearch {
  const isPatch = target.mode === 'merge-patch'
  const names = isPatch ? ['record'] : target.columns.map(({ name }) => name)
  const textColumns = [...names, ...(target.mode === 'upsert' ? ['dps_deleted'] : [])].map(quoted)
  const textNames = textColumns.join(', ')

  const typeOf = (columns: readonly Column[], name: string): string =>
    isPatch ? 'jsonb' : (columns.find((column) => column.name === name)?.type ?? 'text')

  /** Finds values that a column's type can't hold, in one pass over the rows as text. */
  async function typeFaults(client: PoolClient, columns: readonly Column[], bytes: Uint8Array): Promise<Fault[]> {
    await client.query('DELETE FROM pg_temp.dps_text')
    await copyInto(client, `COPY pg_temp.dps_text (${textNames}) FROM STDIN (DEFAULT ${escapeLiteral(DEFAULT_MARKER)})`, bytes)
    const parts = names.map((name, index) => {
      const type = `$${index + 1}`
      const column = `p.${quoted(name)}`
      return `SELECT p.dps_place, ${escapeLiteral(name)} AS name, e.* FROM placed p, LATERAL pg_input_error_info(${column}, ${type}) e
        WHERE ${column} IS NOT NULL AND ${column} <> ${escapeLiteral(DEFAULT_MARKER)} AND NOT pg_input_is_valid(${column}, ${type})`
    })
    const { rows } = await client.query<{ dps_place: string; name: string; message: string; sql_error_code: string }>(
      `WITH placed AS MATERIALIZED (SELECT row_number() OVER (ORDER BY dps_row) AS dps_place, * FROM pg_temp.dps_text) ${parts.join(' UNION ALL ')}`,
      names.map((name) => typeOf(columns, name)),
    )
    return rows.map(({ dps_place, name, message, sql_error_code }) => ({
      row: Number(dps_place) - 1,
      code: sql_error_code,
      message: isPatch ? message : `${message} (column ${name})`,
    }))
  }

  async function searchPiece(client: PoolClient, columns: readonly Column[], piece: Rows): Promise<Fault[]> {
    const faults = new Map<number, Fault>()
    const add = (found: Fault[]) => found.forEach((fault) => faults.has(fault.row) || faults.set(fault.row, fault))
    const left = () => Array.from({ length: piece.count }, (_, row) => row).filter((row) => !faults.has(row))
    if (serverVersion >= VERSION_WITH_INPUT_ERRORS) {
      await client.query('SAVEPOINT types')
      try {
        add(await typeFaults(client, columns, piece.bytes))
        await client.query('RELEASE SAVEPOINT types')
      } catch (error) {
        // A third-party type, or bytes that are not text: found line by line below.
        if (!isRowFault(error as { code?: string })) throw error
        await client.query('ROLLBACK TO SAVEPOINT types')
      }
    }
    await client.query('SAVEPOINT stage')
    try {
      add(await constraintFaults(client, mode, piece, left()))
    } catch (error) {
      if (!isRowFault(error as { code?: string })) throw error
      await client.query('ROLLBACK TO SAVEPOINT stage')
      add(await copyFaults(client, mode, piece, left()))
      add(await constraintFaults(client, mode, piece, left()))
    }
    return [...faults.values()]
  }

  async function find(client: PoolClient, pieces: readonly Rows[]): Promise<RefusedRecord[]> {
    const columns = await typesOf(client, target.table)
    await mode.prepareStage(client)
    await ensureMade(client, 'dps_text', columns, [
      'DROP TABLE IF EXISTS pg_temp.dps_text',
      `CREATE TEMP TABLE dps_text (${textColumns.map((name) => `${name} text DEFAULT ${escapeLiteral(DEFAULT_MARKER)}`).join(', ')}, dps_row bigint GENERATED ALWAYS AS IDENTITY) ON COMMIT DELETE ROWS`,
    ])
    await ensureMade(client, 'dps_try', columns, [tryFunction(mode.rowStatement)])
    const refused: RefusedRecord[] = []
    await client.query('BEGIN')
    try {
      for (const piece of pieces)
        for (const { row, code, message } of await searchPiece(client, columns, piece))
          refused.push({
            offset: BigInt(piece.offsets[row]!),
            code: `postgres_${code}`,
            message: `the table refused the row: ${message}`,
          })
    } finally {
      await client.query('ROLLBACK')
    }
    return refused
  }

  return {
    find,
    async putInOrder(client, pieces) {
      for (const piece of pieces) {
        await client.query('DELETE FROM pg_temp.dps_stage')
        await copyInto(client, mode.stageCopy, piece.bytes)
        const [fault] = await tryRows(
          client,
          Array.from({ length: piece.count }, (_, row) => row),
        )
        if (fault) throw Object.assign(new Error(fault.message), { code: fault.code })
      }
    },
  }
}
