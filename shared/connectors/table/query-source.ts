/**
 * Reads a table by polling for rows after the last one, for users without the replication privilege. It sees rows that are new or whose
 * cursor column grew, but neither deleted rows nor a row that commits late with a smaller cursor.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { ConfigRefused, type ConnectorContext } from '../connector.ts'
import { nextCount } from '../next-count.ts'
import { createBlockBuilder } from '../record-block.ts'
import type { OpenSource } from '../source.ts'
import { rowToJson, SESSION_OPTIONS } from './column-json.ts'
import type { TableSourceConfig } from './connector.ts'
import { clientConfigOf, openTableDatabase, SOURCE_LIMITS } from './connection.ts'
import { readColumns, readTextRows, ROWS, ROWS_FIRST } from './table-shape.ts'

/** Opens the source that reads rows by a growing column. */
export async function openQuerySource(config: TableSourceConfig, context: ConnectorContext): Promise<OpenSource> {
  const server = clientConfigOf(config, context)
  return {
    async *read(split, position, _seen, signal) {
      if (split.index !== 0) return
      const { client, close } = await openTableDatabase({ ...server, options: SESSION_OPTIONS, ...SOURCE_LIMITS }, signal)
      try {
        const shape = await readColumns(client, config.table)
        const cursor = config.cursor!
        if (!shape.types.has(cursor))
          throw new ConfigRefused(`the table ${config.table} has no column ${cursor}, which the config names as cursor`)
        if (shape.key.length === 0)
          throw new ConfigRefused(`the table ${config.table} has no primary key, needed to tell rows with the same cursor apart`)
        // Rows with the same cursor are told apart by their key.
        const by = [cursor, ...shape.key.filter((name) => name !== cursor)]
        let behind = position === undefined ? [] : z.array(z.string()).parse(JSON.parse(position))
        const builder = createBlockBuilder()
        let asked = ROWS_FIRST
        while (!signal.aborted) {
          const rows = await readTextRows(client, config.table, shape, by, behind, asked)
          const placed = rows.filter((row) =>
            by.every((name) => typeof row[shape.columns.findIndex((column) => column.name === name)] === 'string'),
          )
          for (const row of placed) {
            const key = row.map((value, index) => (shape.key.includes(shape.columns[index]!.name) ? value : undefined))
            builder.add(Buffer.from(rowToJson(shape.columns, key)), Buffer.from(rowToJson(shape.columns, row)))
          }
          const isWhole = placed.length < asked
          asked = nextCount(asked, { count: placed.length, bytes: builder.bytes }, ROWS)
          const last = placed.at(-1)
          if (last) {
            behind = by.map((name) => last[shape.columns.findIndex((column) => column.name === name)]!)
            yield { block: builder.take(), position: JSON.stringify(behind) }
          }
          // Rows without a cursor are last, and are asked for again.
          if (isWhole) await sleep(config.poll_interval_ms, undefined, { signal }).catch(() => {})
        }
      } finally {
        await close()
      }
    },
    close: async () => {},
  }
}
