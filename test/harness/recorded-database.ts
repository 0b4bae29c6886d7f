/** Stands in for Postgres where a test asks how it is queried: records the queries, and answers with the rows that the test gives. */
import { openDatabase, type Database } from '../../services/control-plane/store/database.ts'

type Asked = { sql: string; bindings?: unknown[] }
type Client = {
  acquireConnection(): Promise<object>
  releaseConnection(): Promise<void>
  query(connection: object, asked: Asked | string): Promise<object>
}

export function recordedDatabase(answer: (sql: string, bindings: unknown[]) => object[]): { db: Database; asked: string[] } {
  const db = openDatabase('postgres://tests@localhost:1/tests', 1)
  const asked: string[] = []
  const client = db.client as Client
  client.acquireConnection = () => Promise.resolve({})
  client.releaseConnection = () => Promise.resolve()
  client.query = async (_connection, query) => {
    const { sql, bindings = [] } = typeof query === 'string' ? { sql: query } : query
    asked.push(sql)
    const rows = answer(sql, bindings)
    return {
      ...(typeof query === 'string' ? {} : query),
      response: { rows, rowCount: rows.length, command: sql.slice(0, 6).toUpperCase() },
    }
  }
  return { db, asked }
}
