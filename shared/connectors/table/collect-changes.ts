/** Collects the changes of one table as records, with the position behind them. */
import { ConfigRefused } from '../connector.ts'
import { createBlockBuilder, type BlockBuilder } from '../record-block.ts'
import { z } from 'zod'
import type { SourceRead } from '../source.ts'
import { createChangeHeaders, type ChangeHeaders } from './change-headers.ts'
import { rowToJson, type SourceColumn } from './column-json.ts'
import type { NamedTable } from './table-shape.ts'
import { lsnText, type Change, type Relation, type Tuple } from './pgoutput.ts'

/**
 * `s`: the slot; missing in positions from before slots had names of their own. `l`: LSN from which it is read. `k`: key after which the
 * existing rows are still to be read. `n`: changes of the current transaction already read.
 */
export const Position = z.object({
  s: z.string().optional(),
  l: z.string(),
  k: z.array(z.string()).nullable().optional(),
  n: z.number().default(0),
})
/** A validated position. */
export type Position = z.infer<typeof Position>

/** A block is handed over at this size. */
export const BLOCK_BYTES = 1 << 20

type Update = Change & { kind: 'update'; isFilled?: boolean }
/** Finds the row with these values of the key; undefined if there is none. */
type FindRow = (columns: SourceColumn[], values: string[]) => Promise<Tuple | undefined>

/** `named`: the table whose changes are followed. `from`: the committed position; changes of its transaction that are in it are skipped. */
export function createChangeCollector(named: NamedTable, key: readonly string[], from: Position, findRow: FindRow) {
  const table = `${named.schema}.${named.name}`
  let checked: Relation | undefined
  const builder = createBlockBuilder(BLOCK_BYTES)
  let position: Position = { ...from, k: null }
  let skip = from.n
  let isNew = false
  let lacking: { change: Update; headers: ChangeHeaders }[] = []
  let headers = createChangeHeaders(0n)

  function apply(change: Change): void {
    if (change.kind === 'begin') {
      skip = position.n
      headers = createChangeHeaders(change.committedAt)
      return
    }
    if (change.kind === 'commit') {
      isNew = true
      position = { ...from, l: lsnText(change.end), k: null, n: 0 }
      skip = 0
      return
    }
    // Postgres sends the transaction again from its start: skip the changes already committed.
    if (skip > 0) {
      skip--
      return
    }
    // Thrown before the position moves, so that a restart meets the truncation again.
    if (change.kind === 'truncate')
      throw new ConfigRefused(
        `the table ${table} was truncated: Postgres does not report which rows it removed, so a copy can't follow; recreate the pipeline`,
      )
    if (change.relation !== checked) assertSameTable(change.relation)
    assertKeyOfBefore(change)
    position = { ...position, n: position.n + 1 }
    isNew = true
    if (change.kind === 'update' && change.after.includes(undefined)) {
      // Of a large key that did not change, only the old row has the value.
      const isInBefore = (index: number) => change.isBeforeWhole || key.includes(change.relation.columns[index]!.name)
      change.after = change.after.map((value, index) => (value === undefined && isInBefore(index) ? change.before?.[index] : value))
      if (change.after.includes(undefined)) {
        lacking.push({ change, headers })
        return
      }
    }
    if (lacking.length > 0) lacking.push({ change: change as Update, headers })
    else addChange(builder, change, key, headers)
  }

  /** The publication goes with the table, not with its name; of a partitioned table, it is looked at now and then (`assertPublished`). */
  function assertSameTable(relation: Relation): void {
    if (named.isPartitioned) return
    if (relation.schema !== named.schema || relation.name !== named.name)
      throw new ConfigRefused(
        `the table ${table} was renamed to ${relation.schema}.${relation.name}, whose changes are not those of ${table}; recreate the pipeline`,
      )
    checked = relation
  }

  /** A deletion without its key would be lost. */
  function assertKeyOfBefore(change: Change): void {
    if ((change.kind !== 'update' && change.kind !== 'delete') || !change.before) return
    const { columns } = change.relation
    const { before } = change
    if (key.some((name) => typeof before[columns.findIndex((column) => column.name === name)] !== 'string'))
      throw new ConfigRefused(
        `the log does not say which row of the table ${table} was changed: its replica identity lacked the primary key; recreate the pipeline`,
      )
  }

  async function fill(change: Update): Promise<void> {
    const { columns } = change.relation
    const values = key.map((name) => change.after[columns.findIndex((column) => column.name === name)]!)
    const row = await findRow(columns, values)
    // If the row is deleted by now, its deletion follows, so the missing values do not matter. A column that is gone by now stays out.
    change.after = change.after.map((value, index) => (value === undefined ? (row ? row[index] : null) : value))
    change.isFilled = true
  }

  return {
    /** Throws ConfigRefused when the table was truncated or renamed, or the log lacks a row's key. */
    apply,
    bytes: (): number => builder.bytes,
    /** Whether a change waits for values that Postgres did not send; the stream should pause until `complete`. */
    isLacking: (): boolean => lacking.length > 0,
    /** Whether the position has moved since the last `take`. */
    isNew: (): boolean => isNew,
    /** Whether nothing is pending: no record, and no transaction that has only begun. */
    isEmpty: (): boolean => builder.count === 0 && position.n === 0,
    position: (): Position => position,
    /**
     * Looks up unchanged values that were not sent. If a later change of the row altered them, that change follows as a record of its own.
     */
    async complete(): Promise<void> {
      while (lacking.length > 0) {
        const { change, headers: own } = lacking[0]!
        if (change.kind === 'update' && change.after.includes(undefined) && !change.isFilled) await fill(change)
        addChange(builder, change, key, own)
        lacking.shift()
      }
      lacking = []
    },
    take(): SourceRead {
      isNew = false
      return { block: builder.take(), position: JSON.stringify(position) }
    },
  }
}

/** The row's key as JSON. */
export function keyJson(columns: readonly SourceColumn[], values: Tuple, key: readonly string[]): string {
  return rowToJson(
    columns,
    values.map((value, index) => (key.includes(columns[index]!.name) ? value : undefined)),
  )
}

function addChange(
  builder: BlockBuilder,
  change: Exclude<Change, { kind: 'begin' | 'commit' | 'truncate' }> | Change,
  key: readonly string[],
  headers: ChangeHeaders,
): void {
  if (change.kind !== 'insert' && change.kind !== 'update' && change.kind !== 'delete') return
  const { columns }: Relation = change.relation
  if (change.kind === 'delete') return builder.add(Buffer.from(keyJson(columns, change.before, key)), null, headers.delete)
  const own = keyJson(columns, change.after, key)
  if (change.kind === 'update' && change.before) {
    const before = keyJson(columns, change.before, key)
    // The row's key has changed: the old key no longer has a row.
    if (before !== own) builder.add(Buffer.from(before), null, headers.delete)
  }
  builder.add(Buffer.from(own), Buffer.from(rowToJson(columns, change.after)), headers[change.kind])
}
