/** Several tasks of a pipeline that creates its table do so at once: each of them goes on with the table that is there then. */
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTable } from '../../shared/connectors/table/columns.ts'
import { service, unique } from '../harness/client.ts'

const AT_ONCE = 8
const TABLES = 60
const clients = Array.from({ length: AT_ONCE }, () => new pg.Client({ connectionString: service().warehouseUrl }))
beforeAll(async () => {
  await Promise.all(clients.map((client) => client.connect()))
})
afterAll(async () => {
  await Promise.all(clients.map((client) => client.end()))
})

it('a table that others create at the same moment is no failure', async () => {
  const name = unique('at_once').replaceAll('-', '_').toLowerCase()
  const tables = Array.from({ length: TABLES }, (_, index) => `${name}_${index}`)
  const refused: string[] = []
  for (const table of tables) {
    const results = await Promise.allSettled(clients.map((client) => createTable(client, table, { id: 'string' }, ['id'])))
    refused.push(...results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : [])))
  }
  expect(refused).toEqual([])
  const { rows } = await clients[0]!.query('SELECT count(*)::int AS count FROM pg_tables WHERE tablename = ANY ($1)', [tables])
  expect(rows).toEqual([{ count: TABLES }])
  await clients[0]!.query(`DROP TABLE ${tables.join(', ')}`)
})
