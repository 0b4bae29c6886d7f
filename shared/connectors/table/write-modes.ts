/** How encoded rows become rows of the table in each mode, inside the current transaction. */
import { pipeline } from 'node:stream/promises'
import { Readable } from 'node:stream'
import { escapeLiteral, type PoolClient } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { CopyColumn } from '../row-format.ts'
import { DEFAULT_MARKER, identityDefault, quoted, quotedTable, type TableColumns } from './columns.ts'
import type { TableSinkConfig } from './connector.ts'
import { ensureMade, typesOf } from './stage.ts'

/** `prepare` runs before the transaction, `put` inside it, and `prepareStage` before a search for faults. All throw Postgres' errors. */
export type PutRows = {
  prepare(client: PoolClient): Promise<void>
  prepareStage(client: PoolClient): Promise<void>
  put(client: PoolClient, bytes: Uint8Array): Promise<void>
  /** Statement that writes row `r` of the stage, for the search for rows that Postgres refuses. */
  rowStatement: string
  /** COPY statement that fills the stage. */
  stageCopy: string
}

/** The table, and how rows are put into it. `knowsDefaults`: its COPY has the option DEFAULT. */
export type WriteTarget = Pick<TableSinkConfig, 'table' | 'mode' | 'key'> &
  Pick<TableColumns, 'defaults'> & { columns: readonly CopyColumn[]; knowsDefaults: boolean }

/** Bytes per piece given to COPY: a piece larger than the socket takes at once would be copied again and again. */
const COPY_PIECE_BYTES = 256 << 10

/** What the driver keeps until the server is ready for the next query: the end of the rows. */
type Copying = ReturnType<typeof copyFrom> & {
  cb_ReadyForQuery: (() => void) | null
  handleReadyForQuery(): void
  handleError(error: Error): void
}

/** COPY … FROM STDIN. Where a server is ready before it has the rows, the driver throws in the socket's callback: here the COPY fails. */
function openCopy(text: string): ReturnType<typeof copyFrom> {
  const copy = copyFrom(text) as Copying
  const ready = copy.handleReadyForQuery.bind(copy)
  copy.handleReadyForQuery = () => {
    if (copy.cb_ReadyForQuery) ready()
    else copy.handleError(new Error('the server ended the COPY before it had the rows'))
  }
  return copy
}

/** Runs COPY … FROM STDIN with the bytes. */
export async function copyInto(client: PoolClient, text: string, bytes: Uint8Array): Promise<void> {
  const pieces = function* () {
    for (let at = 0; at < bytes.length; at += COPY_PIECE_BYTES)
      yield Buffer.from(bytes.buffer, bytes.byteOffset + at, Math.min(COPY_PIECE_BYTES, bytes.length - at))
  }
  await pipeline(Readable.from(pieces(), { objectMode: false }), client.query(openCopy(text)))
}

/** How rows are put into the target, by its mode. */
export function createPut(target: WriteTarget): PutRows {
  if (target.mode === 'upsert') return createUpsert(target)
  return target.mode === 'merge-patch' ? createMergePatch(target) : createInsert(target)
}

const namesOf = ({ columns }: WriteTarget): string => columns.map(({ name }) => quoted(name)).join(', ')
const withDefaults = ({ knowsDefaults }: WriteTarget): string => (knowsDefaults ? ` (DEFAULT '${DEFAULT_MARKER}')` : '')

/** What a conflict on the key does to the existing row. */
function updateOf({ columns, key = [] }: WriteTarget): string {
  const updates = columns.filter(({ name }) => !key.includes(name)).map(({ name }) => `${quoted(name)} = EXCLUDED.${quoted(name)}`)
  return updates.length > 0 ? `UPDATE SET ${updates.join(', ')}` : 'NOTHING'
}

/** The stage of modes whose rows have the table's columns, and the statement that fills it. */
function stageOf(target: WriteTarget): Pick<PutRows, 'stageCopy' | 'prepare' | 'prepareStage'> {
  const { table } = target
  const deleted = target.mode === 'upsert' ? ', dps_deleted' : ''
  const prepare = async (client: PoolClient) => {
    const all = await typesOf(client, table)
    // A row to be deleted has only its key, and columns that Postgres generates are not written at all. LIKE copies no identity.
    const altered = all.map(({ name }) => `ALTER COLUMN ${quoted(name)} DROP NOT NULL`)
    for (const { name, identity } of all)
      if (identity === 'd') altered.push(`ALTER COLUMN ${quoted(name)} SET DEFAULT ${identityDefault(table, name)}`)
    await ensureMade(client, 'dps_stage', all, [
      'DROP TABLE IF EXISTS pg_temp.dps_stage',
      `CREATE TEMP TABLE dps_stage (LIKE ${quotedTable(table)} INCLUDING DEFAULTS, dps_deleted boolean NOT NULL DEFAULT false,
        dps_row bigint GENERATED ALWAYS AS IDENTITY) ON COMMIT DELETE ROWS`,
      `ALTER TABLE pg_temp.dps_stage ${altered.join(', ')}`,
    ])
  }
  const stageCopy = `COPY pg_temp.dps_stage (${namesOf(target)}${deleted}) FROM STDIN${withDefaults(target)}`
  return { stageCopy, prepare, prepareStage: prepare }
}

const valuesOf = ({ columns }: WriteTarget): string => columns.map(({ name }) => `r.${quoted(name)}`).join(', ')

function createInsert(target: WriteTarget): PutRows {
  const text = `COPY ${quotedTable(target.table)} (${namesOf(target)}) FROM STDIN${withDefaults(target)}`
  return {
    ...stageOf(target),
    prepare: async () => {},
    put: (client, bytes) => copyInto(client, text, bytes),
    rowStatement: `INSERT INTO ${quotedTable(target.table)} (${namesOf(target)}) VALUES (${valuesOf(target)});`,
  }
}

/** The newest record of a key replaces its row; one without a value deletes it. */
function createUpsert(target: WriteTarget): PutRows {
  const { key = [] } = target
  const table = quotedTable(target.table)
  const names = namesOf(target)
  const keys = key.map(quoted).join(', ')
  // Keys with a null are not equal to one another, as in the table's unique index: each of their records is a row.
  const apart = `CASE WHEN ${key.map((name) => `${quoted(name)} IS NULL`).join(' OR ')} THEN dps_row END`
  const last = `(SELECT DISTINCT ON (${keys}, ${apart}) * FROM pg_temp.dps_stage ORDER BY ${keys}, ${apart}, dps_row DESC)`
  const isSameKey = (row: string) => key.map((name) => `t.${quoted(name)} = ${row}.${quoted(name)}`).join(' AND ')
  const stage = stageOf(target)
  return {
    ...stage,
    async put(client, bytes) {
      // A delivery may have several pieces: empty the stage before each.
      await client.query('DELETE FROM pg_temp.dps_stage')
      await copyInto(client, stage.stageCopy, bytes)
      await client.query(`DELETE FROM ${table} t USING ${last} s WHERE s.dps_deleted AND ${isSameKey('s')}`)
      await client.query(
        `INSERT INTO ${table} (${names}) SELECT ${names} FROM ${last} s WHERE NOT s.dps_deleted ON CONFLICT (${keys}) DO ${updateOf(target)}`,
      )
    },
    rowStatement: `IF r.dps_deleted THEN DELETE FROM ${table} t WHERE ${isSameKey('r')};
      ELSE INSERT INTO ${table} (${names}) VALUES (${valuesOf(target)}) ON CONFLICT (${keys}) DO ${updateOf(target)}; END IF;`,
  }
}

/**
 * A record changes the columns whose members it has and leaves the other columns of its key's row unchanged (RFC 7396, at the top level
 * only: a column is replaced as a whole). Several records of a key are applied one after the other.
 */
function createMergePatch(target: WriteTarget): PutRows {
  const { key = [] } = target
  const table = quotedTable(target.table)
  const names = namesOf(target)
  const keys = key.map(quoted).join(', ')
  const isSameKey = key.map((name) => `t.${quoted(name)} = s.${quoted(name)}`).join(' AND ')
  const keyOf = key.map((name) => `p.${quoted(name)}`).join(', ')
  // Without a row of the key, a column without a member gets its default.
  const values = target.columns.map(({ name }) => {
    const value = `m.${quoted(name)}`
    if (!Object.hasOwn(target.defaults, name)) return value
    return `CASE WHEN all_merged.is_new AND NOT all_merged.dps_record ? ${escapeLiteral(name)} THEN ${target.defaults[name]} ELSE ${value} END`
  })
  const merged = (rows: string) => `INSERT INTO ${table} (${names})
    SELECT ${values.join(', ')} FROM (
      SELECT jsonb_populate_record(t.*, s.dps_record) AS merged, s.dps_record, t.${quoted(key[0]!)} IS NULL AS is_new
        FROM (${rows}) s LEFT JOIN ${table} t ON ${isSameKey}
    ) all_merged, LATERAL (SELECT (merged).*) m
    ON CONFLICT (${keys}) DO ${updateOf(target)}`
  const staged = `(SELECT ${withBytes(target, 'record')} AS record, dps_row FROM pg_temp.dps_stage) x`
  const merge = merged(
    `SELECT * FROM (SELECT p.*, x.record AS dps_record, row_number() OVER (PARTITION BY ${keyOf} ORDER BY x.dps_row) AS dps_place
      FROM ${staged}, LATERAL jsonb_populate_record(NULL::${table}, x.record) p) placed WHERE dps_place = $1`,
  )
  const most = `SELECT coalesce(max(places), 0)::int AS most FROM (SELECT count(*) AS places FROM ${staged},
    LATERAL jsonb_populate_record(NULL::${table}, x.record) p GROUP BY ${keyOf}) counted`
  const stageCopy = 'COPY pg_temp.dps_stage (record) FROM STDIN'
  const prepare = (client: PoolClient) =>
    ensureMade(
      client,
      'dps_stage',
      [],
      [
        'DROP TABLE IF EXISTS pg_temp.dps_stage',
        'CREATE TEMP TABLE dps_stage (record jsonb NOT NULL, dps_row bigint GENERATED ALWAYS AS IDENTITY) ON COMMIT DELETE ROWS',
      ],
    )
  return {
    stageCopy,
    prepare,
    prepareStage: prepare,
    async put(client, bytes) {
      await client.query('DELETE FROM pg_temp.dps_stage')
      await copyInto(client, stageCopy, bytes)
      const { rows } = await client.query<{ most: number }>(most)
      for (let place = 1; place <= rows[0]!.most; place++) await client.query(merge, [place])
    },
    rowStatement: `${merged(
      `SELECT p.*, x.record AS dps_record FROM (SELECT ${withBytes(target, 'r.record')} AS record) x, LATERAL jsonb_populate_record(NULL::${table}, x.record) p`,
    )};`,
  }
}

/** SQL of the document with the base64 of columns of bytes as Postgres reads bytes. */
function withBytes({ columns }: WriteTarget, record: string): string {
  const parts = columns
    .filter(({ kind }) => kind === 'bytes')
    .map(({ name }) => {
      const member = escapeLiteral(name)
      // Postgres' own form of bytes is taken as it is: base64 has no backslash.
      return ` || CASE WHEN jsonb_typeof(${record} -> ${member}) = 'string' AND left(${record} ->> ${member}, 2) <> '\\x'
        THEN jsonb_build_object(${member}, '\\x' || encode(decode(${record} ->> ${member}, 'base64'), 'hex')) ELSE '{}' END`
    })
  return parts.length === 0 ? record : `CASE WHEN jsonb_typeof(${record}) = 'object' THEN ${record}${parts.join('')} ELSE ${record} END`
}
