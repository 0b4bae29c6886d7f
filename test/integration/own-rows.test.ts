/** What is asked for one account reads its own rows, however many the others have. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { countDeadLetterBytes, listKept, listTrims } from '../../services/control-plane/store/dead-letter-upkeep.ts'
import type { Database, Queryable } from '../../services/control-plane/store/database.ts'
import { countUse } from '../../services/control-plane/store/quotas.ts'
import { listSmartModules } from '../../services/control-plane/store/smartmodules.ts'
import { definitionOf } from '../harness/definitions.ts'
import { openOwnDatabase } from '../harness/own-database.ts'

const ACCOUNTS = 1300
/** Pipelines of each, and SmartModules. */
const OWN = 3
/** Dead letters of each of the first pipelines. */
const LETTERS = 100
const FAILING = 300
const FEW = 100

let db: Database
let close: () => Promise<void>
beforeAll(async () => {
  ;({ db, close } = await openOwnDatabase('own_rows'))
  const rows = `generate_series(0, ${ACCOUNTS * OWN - 1}) n`
  const owner = `'acc_' || n / ${OWN}`
  await db.raw(`INSERT INTO accounts (id, name, type) SELECT 'acc_' || n, 'a', 'developer' FROM generate_series(0, ${ACCOUNTS - 1}) n`)
  await db.raw(
    `INSERT INTO pipelines (id, account_id, name, description, status, desired, revision, attempt, request, definition)
     SELECT 'pl_' || n, ${owner}, 'p' || n, '', 'stopped', 'stopped', 1, 1, '{}', ?::json FROM ${rows}`,
    [JSON.stringify(definitionOf('pl_0'))],
  )
  await db.raw(`INSERT INTO smartmodule_binaries (sha256, content) VALUES ('x', 'x')`)
  await db.raw(
    `INSERT INTO smartmodules (id, account_id, name, description, status) SELECT 'sm_' || n, ${owner}, 'm' || n, '', 'deployed' FROM ${rows}`,
  )
  await db.raw(
    `INSERT INTO smartmodule_versions (smartmodule_id, version, ordinal, sha256, kind, input_format, output_format, config, bytes)
     SELECT 'sm_' || n, '1.0.0', 1, 'x', 'batch', 'json', 'json', '{}', 1 FROM ${rows}`,
  )
  await db.raw(`INSERT INTO dead_letter_positions SELECT 'pl_' || n, 0, ${LETTERS} FROM ${rows}`)
  await db.raw(
    `INSERT INTO dead_letters (pipeline_id, letter_partition, letter_offset, partition, record_offset, step, module, version, revision,
       error_code, error_message, attempts, redrives, failed_at, headers)
     SELECT 'pl_' || pl, 0, n, 0, n, 1, 'm', '1.0.0', 1, 'x', 'y', 1, 0, now() - n * interval '1 minute', '[]'
     FROM generate_series(1, ${LETTERS}) n, generate_series(0, ${FAILING - 1}) pl`,
  )
  await db.raw('ANALYZE')
})
afterAll(() => close())

type Node = { 'Actual Rows': number; 'Actual Loops': number; 'Rows Removed by Filter'?: number; Plans?: Node[] }
/** The rows that the plan has read of tables. */
const readBy = ({ Plans = [], ...node }: Node): number =>
  Plans.length > 0
    ? Plans.reduce((sum, each) => sum + readBy(each), 0)
    : (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']

/** How many rows the queries of `ask` read. */
async function rowsReadBy(ask: (trx: Queryable) => Promise<unknown>): Promise<number> {
  const asked: { sql: string; bindings: never[] }[] = []
  return db.transaction(async (trx) => {
    trx.on('query', (query) => asked.push(query))
    await ask(trx)
    trx.removeAllListeners('query')
    expect(asked).not.toEqual([])
    let read = 0
    for (const { sql, bindings } of asked) {
      const { rows } = await trx.raw(`EXPLAIN (ANALYZE, FORMAT JSON) ${sql.replaceAll(/\$\d+/g, '?')}`, bindings)
      read += readBy(rows[0]['QUERY PLAN'][0].Plan)
    }
    return read
  })
}

const page = { page: 1, page_size: 100, sort: 'name' }
it.each([
  ['what it has is counted', FEW, (trx) => countUse(trx, 'acc_0')],
  ['the bytes of its dead letters are', OWN * LETTERS + FEW, (trx) => countDeadLetterBytes(trx, 'acc_0')],
  ['dead letters beyond its quotas are looked for', OWN * LETTERS + FEW, (trx) => listTrims(trx, 'acc_0', 1_000_000, 1)],
  ['the first dead letters that are kept are', FEW, (trx) => listKept(trx, 'acc_0')],
  ['its SmartModules are listed', FEW, (trx) => listSmartModules(trx, 'acc_0', page)],
] satisfies [string, number, (trx: Queryable) => Promise<unknown>][])('when %s, at most %i rows are read', async (_what, rowsMax, ask) => {
  expect(await rowsReadBy(ask)).toBeLessThan(rowsMax)
})
