/** The ways in which a stretch of encoded rows becomes rows of the table, each inside the transaction under way. */
import { pipeline } from 'node:stream/promises'
import { Readable } from 'node:stream'
import type { PoolClient } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import type { CopyColumn } from '../row-format.ts'
import { DEFAULT_MARKER, quoted, quotedTable } from './columns.ts'
import type { TableSinkConfig } from './connector.ts'

/** Throws what Postgres says. */
export type PutRows = (client: PoolClient, bytes: Uint8Array) => Promise<void>

export type WriteTarget = Pick<TableSinkConfig, 'table' | 'mode' | 'key'> & { columns: readonly CopyColumn[]; knowsDefaults: boolean }

/** COPY takes the bytes in pieces: one that is larger than the socket takes at once would be copied again and again. */
const COPY_PIECE_BYTES = 256 << 10

async function copy(client: PoolClient, text: string, bytes: Uint8Array): Promise<void> {
  const pieces = function* () {
    for (let at = 0; at < bytes.length; at += COPY_PIECE_BYTES)
      yield Buffer.from(bytes.buffer, bytes.byteOffset + at, Math.min(COPY_PIECE_BYTES, bytes.length - at))
  }
  await pipeline(Readable.from(pieces(), { objectMode: false }), client.query(copyFrom(text)))
}

export function createPut(target: WriteTarget): PutRows {
  if (target.mode === 'upsert') return createUpsert(target)
  return target.mode === 'merge-patch' ? createMergePatch(target) : createInsert(target)
}

const namesOf = ({ columns }: WriteTarget): string => columns.map(({ name }) => quoted(name)).join(', ')
const withDefaults = ({ knowsDefaults }: WriteTarget): string => (knowsDefaults ? ` (DEFAULT '${DEFAULT_MARKER}')` : '')

/** What a conflict on the key does to the row that is there. */
function updateOf({ columns, key = [] }: WriteTarget): string {
  const updates = columns.filter(({ name }) => !key.includes(name)).map(({ name }) => `${quoted(name)} = EXCLUDED.${quoted(name)}`)
  return updates.length > 0 ? `UPDATE SET ${updates.join(', ')}` : 'NOTHING'
}

function createInsert(target: WriteTarget): PutRows {
  const text = `COPY ${quotedTable(target.table)} (${namesOf(target)}) FROM STDIN${withDefaults(target)}`
  return (client, bytes) => copy(client, text, bytes)
}

/** The newest record of a key replaces its row; one without a value removes it. */
function createUpsert(target: WriteTarget): PutRows {
  const { columns, key = [] } = target
  const table = quotedTable(target.table)
  const names = namesOf(target)
  const keys = key.map(quoted).join(', ')
  const last = `(SELECT DISTINCT ON (${keys}) * FROM dps_stage ORDER BY ${keys}, dps_row DESC)`
  const isSameKey = key.map((name) => `t.${quoted(name)} = s.${quoted(name)}`).join(' AND ')
  // A row that is to be deleted is known by its key alone.
  const nullable = columns.map(({ name }) => `ALTER COLUMN ${quoted(name)} DROP NOT NULL`).join(', ')
  return async (client, bytes) => {
    await client.query('DROP TABLE IF EXISTS pg_temp.dps_stage')
    await client.query(
      `CREATE TEMP TABLE dps_stage (LIKE ${table} INCLUDING DEFAULTS, dps_deleted boolean NOT NULL, dps_row bigint GENERATED ALWAYS AS IDENTITY) ON COMMIT DROP`,
    )
    await client.query(`ALTER TABLE dps_stage ${nullable}`)
    await copy(client, `COPY dps_stage (${names}, dps_deleted) FROM STDIN${withDefaults(target)}`, bytes)
    await client.query(`DELETE FROM ${table} t USING ${last} s WHERE s.dps_deleted AND ${isSameKey}`)
    await client.query(
      `INSERT INTO ${table} (${names}) SELECT ${names} FROM ${last} s WHERE NOT s.dps_deleted ON CONFLICT (${keys}) DO ${updateOf(target)}`,
    )
  }
}

/**
 * A record changes the members that it has and leaves the others of its key's row as they are (RFC 7396, at the top level: a column is a
 * whole). Several records of a key are applied one after the other.
 */
function createMergePatch(target: WriteTarget): PutRows {
  const { key = [] } = target
  const table = quotedTable(target.table)
  const names = namesOf(target)
  const keys = key.map(quoted).join(', ')
  const isSameKey = key.map((name) => `t.${quoted(name)} = s.${quoted(name)}`).join(' AND ')
  const merge = `INSERT INTO ${table} (${names})
    SELECT ${key.length > 0 ? namesFrom(target, 'm') : names} FROM (
      SELECT jsonb_populate_record(t, s.record) AS merged FROM (
        SELECT p.*, x.record, row_number() OVER (PARTITION BY ${key.map((name) => `p.${quoted(name)}`).join(', ')} ORDER BY x.dps_row) AS dps_place
        FROM dps_stage x, LATERAL jsonb_populate_record(NULL::${table}, x.record) p
      ) s LEFT JOIN ${table} t ON ${isSameKey} WHERE s.dps_place = $1
    ) all_merged, LATERAL (SELECT (merged).*) m
    ON CONFLICT (${keys}) DO ${updateOf(target)}`
  const most = `SELECT coalesce(max(places), 0)::int AS most FROM (SELECT count(*) AS places FROM dps_stage x,
    LATERAL jsonb_populate_record(NULL::${table}, x.record) p GROUP BY ${key.map((name) => `p.${quoted(name)}`).join(', ')}) counted`
  return async (client, bytes) => {
    await client.query('DROP TABLE IF EXISTS pg_temp.dps_stage')
    await client.query('CREATE TEMP TABLE dps_stage (record jsonb NOT NULL, dps_row bigint GENERATED ALWAYS AS IDENTITY) ON COMMIT DROP')
    await copy(client, 'COPY dps_stage (record) FROM STDIN', bytes)
    const { rows } = await client.query<{ most: number }>(most)
    for (let place = 1; place <= rows[0]!.most; place++) await client.query(merge, [place])
  }
}

const namesFrom = ({ columns }: WriteTarget, alias: string): string => columns.map(({ name }) => `${alias}.${quoted(name)}`).join(', ')
