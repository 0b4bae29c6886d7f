/** Stands in for Postgres where a test asks how it is queried: records the queries, and answers with the rows that the test gives. */
import { openDatabase, type Database } from '../../services/control-plane/store/database.ts'

type Asked = { text: string; values: unknown[] }
type Connection = { query(asked: Asked, answered: (error: undefined, response: object) => void): void }
type Client = { acquireConnection(): Promise<Connection>; releaseConnection(): Promise<void> }

export function recordedDatabase(answer: (sql: string, bindings: unknown[]) => object[]): { db: Database; asked: string[] } {
  const db = openDatabase('postgres://tests@localhost:1/tests', 1)
  const asked: string[] = []
  const client = db.client as Client
  const connection: Connection = {
    query({ text, values }, answered) {
      asked.push(text)
      const rows = answer(text, values)
      answered(undefined, { rows, rowCount: rows.length, command: text.slice(0, 6).toUpperCase() })
    },
  }
  client.acquireConnection = () => Promise.resolve(connection)
  client.releaseConnection = () => Promise.resolve()
  return { db, asked }
}
